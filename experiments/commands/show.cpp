// `ulplab show VALUE`: a number in every format, with its bits, neighbours, ulp and error.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "experiments/commands/command.hpp"
#include "experiments/framework/values.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/format_names.hpp"
#include "softfloat/neighbours.hpp"
#include "softfloat/text.hpp"

namespace ulp {
namespace {

struct Options {
    std::string value;
    std::vector<std::string> formats;  // float formats, and at most one of console and json
    std::string rounding = "nearest_even";
};

const std::map<std::string, Rounding> roundings = {{"nearest_even", Rounding::nearest_even},
                                                   {"nearest_away", Rounding::nearest_away},
                                                   {"toward_zero", Rounding::toward_zero},
                                                   {"down", Rounding::down},
                                                   {"up", Rounding::up},
                                                   {"odd", Rounding::odd}};

double to_fp64(const FloatFormat& format, std::uint64_t bits) {
    Context exact;
    return std::bit_cast<double>(convert_bits(formats::fp64, format, bits, exact));
}

/// What is shown of a number in one format.
struct Shown {
    std::string name;
    FloatFormat format;
    std::uint64_t bits, below, above;
    double ulp;    // distance to the next number away from zero, or toward zero at the format's end
    double error;  // against the value rounded to fp64
};

Shown look_at(const NamedFormat& row, const std::string& text, Rounding rounding) {
    const FloatFormat& format = row.format;
    Context context{.rounding = rounding};
    const std::uint64_t bits = parse_bits(format, text, context);
    const std::uint64_t below = next_down_bits(format, bits, context);
    const std::uint64_t above = next_up_bits(format, bits, context);
    const double value = to_fp64(format, bits);
    const double outer = to_fp64(format, std::signbit(value) ? below : above);
    const double inner = to_fp64(format, std::signbit(value) ? above : below);
    const double ulp = std::fabs(std::isfinite(outer) && outer != value ? outer - value : value - inner);
    Context nearest;
    const double given = std::bit_cast<double>(parse_bits(formats::fp64, text, nearest));
    return {std::string(row.name), format, bits, below, above, ulp, value - given};
}

void print(const Shown& s) {
    fmt::print("{:<10}{}  {}  {}\n", s.name, bits_text(s.format, s.bits), to_bit_string(s.format, s.bits),
               to_hex_float(s.format, s.bits));
    fmt::print("          value {}\n", to_exact_decimal(s.format, s.bits));
    fmt::print("          below {}  above {}\n", to_decimal(s.format, s.below), to_decimal(s.format, s.above));
    if (!std::isfinite(s.ulp)) return;
    fmt::print("          ulp {}", decimal_text(s.ulp));
    if (!(s.format == formats::fp64)) fmt::print("  error {:.6g} ({:.3g} ulp)", s.error, s.error / s.ulp);
    fmt::print("\n");
}

nlohmann::ordered_json to_json(const Shown& s) {
    nlohmann::ordered_json object = {{"format", s.name},
                                     {"bits", bits_text(s.format, s.bits)},
                                     {"fields", to_bit_string(s.format, s.bits)},
                                     {"hex", to_hex_float(s.format, s.bits)},
                                     {"value", to_exact_decimal(s.format, s.bits)},
                                     {"shortest", to_decimal(s.format, s.bits)},
                                     {"below", to_decimal(s.format, s.below)},
                                     {"above", to_decimal(s.format, s.above)}};
    if (std::isfinite(s.ulp)) object["ulp"] = s.ulp;
    if (std::isfinite(s.error) && !(s.format == formats::fp64)) object["error"] = s.error;
    return object;
}

/// The rows of the formats asked for; all of them if none was.
std::vector<NamedFormat> chosen_formats(const Options& options) {
    std::vector<NamedFormat> rows;
    for (const std::string& name : options.formats) {
        if (name == "console" || name == "json") continue;
        format_by_name(name);  // throws for one that does not exist
        for (const NamedFormat& row : named_formats()) {
            if (row.name == name) rows.push_back(row);
        }
    }
    if (rows.empty()) rows.assign(named_formats().begin(), named_formats().end());
    return rows;
}

ExitCode show(const Options& options) {
    const Rounding rounding = roundings.at(options.rounding);
    const bool json = std::find(options.formats.begin(), options.formats.end(), "json") != options.formats.end();
    auto list = nlohmann::ordered_json::array();
    for (const NamedFormat& row : chosen_formats(options)) {
        const Shown shown = look_at(row, options.value, rounding);
        if (json) {
            list.push_back(to_json(shown));
        } else {
            print(shown);
        }
    }
    if (json) fmt::print("{}\n", list.dump(2));
    return ExitCode::good;
}

Action declare(CLI::App& app) {
    const auto options = std::make_shared<Options>();
    app.add_option("VALUE", options->value, "a number: 0.1, -1e-8, 0x1.8p-25, inf, nan")->required();
    app.add_option("--format", options->formats, "only this format (fp16, bf16 ...; may be repeated); json: as JSON")
        ->expected(1)
        ->take_all();
    std::vector<std::string> names;
    for (const auto& [name, rounding] : roundings) names.push_back(name);
    app.add_option("--rounding", options->rounding, "how to round")->check(CLI::IsMember(names))->capture_default_str();
    return [options] { return show(*options); };
}

}  // namespace

Command show_command() {
    return {"show", "the bits of a number in every format, its neighbours, ulp and error", declare};
}

}  // namespace ulp
