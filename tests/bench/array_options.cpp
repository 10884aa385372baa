#include "array_options.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <vector>

#include "softfloat/array/array.hpp"
#include "softfloat/array/functions.hpp"
#include "softfloat/array/stages.hpp"
#include "softfloat/names.hpp"

namespace ulp::bench {
namespace {

constexpr std::size_t count = std::size_t{1} << 16;
constexpr int turns = 9;
constexpr double limit = 4;

struct Option {
    const char* name;
    Context context;
};

constexpr std::size_t nearest_away = 1;  // its place
const std::vector<Option>& options() {
    static const std::vector<Option> all{
        {"default", {}},
        {"nearest_away", {.rounding = Rounding::nearest_away}},
        {"toward_zero", {.rounding = Rounding::toward_zero}},
        {"down", {.rounding = Rounding::down}},
        {"up", {.rounding = Rounding::up}},
        {"odd", {.rounding = Rounding::odd}},
        {"flush_inputs", {.flush_inputs = true}},
        {"flush_outputs", {.flush_outputs = true}},
        {"flush_outputs, before", {.tininess = Tininess::before_rounding, .flush_outputs = true}},
        {"flush_outputs, up", {.rounding = Rounding::up, .flush_outputs = true}},
        {"saturate", {.saturate = true}},
        {"stochastic 1", {.rounding = Rounding::stochastic, .random_bits = 1}},
        {"stochastic 16", {.rounding = Rounding::stochastic, .random_bits = 16}},
        {"stochastic 32", {.rounding = Rounding::stochastic, .random_bits = 32}},
        {"stochastic 16, flush_inputs", {.rounding = Rounding::stochastic, .flush_inputs = true, .random_bits = 16}},
        {"stochastic 16, flush_outputs", {.rounding = Rounding::stochastic, .flush_outputs = true, .random_bits = 16}},
    };
    return all;
}

/// Words of a format: values of both signs over the binades around 1 that it has, some subnormal.
std::vector<unsigned char> words_of(const FloatFormat& format, std::uint32_t state) {
    std::vector<float> values(count);
    for (float& x : values) {
        state = state * 1664525 + 1013904223;
        const std::uint32_t word = (state & 0x807FFFFF) | (119 + (state >> 24) % 16) << 23;
        std::memcpy(&x, &word, sizeof x);
    }
    std::vector<unsigned char> words(count * array::bytes_of(format));
    array::convert_words(format, formats::fp32, values.data(), words.data(), count, {.saturate = true}, simd_choice());
    return words;
}

using Call = std::function<void(const Context&)>;

double seconds_of(const Call& call, const Context& context) {
    const auto now = [] {
        timespec time{};
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    };
    const double begin = now();
    call(context);
    return now() - begin;
}

/// Nanoseconds an element for each option. What takes a hundred times as long as needed is measured once.
std::vector<double> measure(const Call& call) {
    std::vector<double> least(options().size(), 1e9);
    for (int turn = 0; turn < turns; ++turn) {
        for (std::size_t i = 0; i < least.size(); ++i) {
            if (turn > 1 && least[i] > 20e-9 * count) continue;
            least[i] = std::min(least[i], seconds_of(call, options()[i].context));
        }
    }
    for (double& time : least) time *= 1e9 / count;
    return least;
}

/// The largest ratio, and how many are above the limit.
struct Worst {
    double ratio = 0;
    std::string where;
    int above = 0;
    void add(double now, const std::string& name) {
        if (now > limit) ++above;
        if (now <= ratio) return;
        ratio = now;
        where = name;
    }
    [[nodiscard]] std::string text() const {
        std::array<char, 32> number{};
        std::snprintf(number.data(), number.size(), "%.1f (", ratio);
        return number.data() + where + "), above " + std::to_string(static_cast<int>(limit)) + ": " +
               std::to_string(above) + " of the table";
    }
};

struct Table {
    struct Line {
        std::string text;
        double time;  // default
    };
    std::vector<Line> lines;
    Worst with_random, without_random;
    double random_numbers = 1e9;  // minimum nanoseconds per element, on top of the same kernel with constant ones
    double fastest = 1e9;         // default
    void add(const std::string& name, const Call& call, bool shares_kernel = false) {
        const auto times = measure(call);
        std::array<char, 64> text{};
        std::snprintf(text.data(), text.size(), " %.2f |", times[0]);
        std::string line = "| " + name + " |" + text.data();
        for (std::size_t i = 1; i < times.size(); ++i) {
            const double ratio = times[i] / times[0];
            std::snprintf(text.data(), text.size(), ratio > limit ? " **%.1f** |" : " %.1f |", ratio);
            line += text.data();
            const bool random = options()[i].context.rounding == Rounding::stochastic;
            (random ? with_random : without_random).add(ratio, name + ", " + options()[i].name);
            if (random && shares_kernel) random_numbers = std::min(random_numbers, times[i] - times[nearest_away]);
        }
        fastest = std::min(fastest, times[0]);
        lines.push_back({line, times[0]});
    }
    /// The lines, each with the ratio that the random numbers and the default's own work have together.
    [[nodiscard]] std::string text() const {
        std::string all;
        for (const Line& line : lines) {
            std::array<char, 32> floor{};
            std::snprintf(floor.data(), floor.size(), " %.1f |\n", 1 + random_numbers / line.time);
            all += line.text + floor.data();
        }
        return all;
    }
    /// The claim, computed.
    [[nodiscard]] std::string summary() const {
        std::array<char, 64> times{};
        std::snprintf(times.data(), times.size(), "%.2f ns an element, %.1f times", random_numbers,
                      random_numbers / fastest);
        return "Largest ratio without random numbers: " + without_random.text() +
               ". Of stochastic rounding: " + with_random.text() +
               ". Its random numbers by themselves (least time on top of nearest_away by the same kernel, "
               "`truncated`): " +
               times.data() + " the fastest default.";
    }
};

void add_rounding(Table& table, const NamedFormat& row) {
    const FloatFormat format = row.format;
    const std::string name(row.name);
    const auto floats = words_of(formats::fp32, 1);
    const auto doubles = words_of(formats::fp64, 1);
    std::vector<float> to(count);
    std::vector<double> wide(count);
    std::vector<unsigned char> codes(8 * count);
    const std::span from(reinterpret_cast<const float*>(floats.data()), count);
    const std::span from_wide(reinterpret_cast<const double*>(doubles.data()), count);
    table.add("round fp32 to " + name, [&](const Context& c) { round_array(format, from, std::span(to), c); });
    table.add("round fp64 to " + name, [&](const Context& c) { round_array(format, from_wide, std::span(wide), c); });
    const auto convert = [&](const FloatFormat& source, const unsigned char* words) {
        return [&, words, source](const Context& c) {
            array::convert_words(format, source, words, codes.data(), count, c, simd_choice());
        };
    };
    table.add("convert fp32 to " + name, convert(formats::fp32, floats.data()));
    table.add("convert fp64 to " + name, convert(formats::fp64, doubles.data()));
}

void add_arithmetic(Table& table, const NamedFormat& row) {
    constexpr std::array names{"add", "subtract", "multiply", "divide", "sqrt", "fma"};
    const auto a = words_of(row.format, 1);
    const auto b = words_of(row.format, 2);
    const auto c = words_of(row.format, 3);
    std::vector<unsigned char> out(a.size());
    for (int i = 0; i < array::operations; ++i) {
        const auto operation = static_cast<array::Operation>(i);
        const array::Operands operands{a.data(), operation == array::op_sqrt ? nullptr : b.data(),
                                       operation == array::op_fma ? c.data() : nullptr};
        table.add(
            std::string(names[static_cast<std::size_t>(i)]) + " " + std::string(row.name),
            [&](const Context& context) {
                array::operate_words(row.format, operation, operands, out.data(), count, context, simd_choice());
            },
            choose_path(operation, row.format, options()[nearest_away].context).kernel == array::Kernel::truncated);
    }
}

void add_functions(Table& table, const NamedFormat& row) {
    const auto x = words_of(row.format, 1);
    std::vector<unsigned char> out(x.size());
    const auto add = [&](const char* name, array::Function function) {
        table.add(std::string(name) + " " + std::string(row.name), [&, function](const Context& context) {
            array::evaluate_words(row.format, function, x.data(), out.data(), count, context, simd_choice());
        });
    };
    add("exp", array::Function::exp);
    add("tanh", array::Function::tanh);
    add("gelu", array::Function::gelu);
}

}  // namespace

std::string option_table() {
    Table table;
    for (const NamedFormat& row : named_formats()) {
        if (row.format == formats::fp64 || !row.format.has_sign) continue;  // scalar loops with every option
        add_rounding(table, row);
        add_arithmetic(table, row);
        add_functions(table, row);
    }
    std::string head = "| ratio to the default |";
    std::string rule = "|---|";
    for (const Option& option : options()) {
        head += std::string(" ") + (&option == options().data() ? "default, ns" : option.name) + " |";
        rule += "---:|";
    }
    const std::string text =
        "## Options\n\nHow many times longer an element takes than with the default, with " +
        std::string(name_of(simd_choice())) + ", on 64K elements; in bold where above " +
        std::to_string(static_cast<int>(limit)) + ". " + table.summary() +
        " Last column: the ratio if a word were drawn for each element beside the default's own work; "
        "stochastic rounding, which also adds and compares, is seldom below it.\n\n";
    return text + head + " a word and the default |\n" + rule + "---:|\n" + table.text();
}

}  // namespace ulp::bench
