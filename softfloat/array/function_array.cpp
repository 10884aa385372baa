#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>

#include "softfloat/array/environment.hpp"
#include "softfloat/array/function_tables.hpp"
#include "softfloat/array/kernels/function_plan.hpp"
#include "softfloat/array/stages.hpp"
#include "softfloat/array/words.hpp"
#include "softfloat/functions/cr.hpp"
#include "softfloat/functions/functions.hpp"
#include "softfloat/vector/dispatch.hpp"

namespace ulp::array {
namespace {

void require_sensible_function(const FloatFormat& format, const Context& context) {
    require_sensible(context);
    require_supported(format);
}

/// One load, one look-up and one store an element: faster than gathering with vector instructions where the table lies
/// in the second-level cache (measured), and the same everywhere.
/// At the beginning of a cache line: where its few instructions lie doubles its time.
template <class Word>
[[gnu::noinline, gnu::aligned(64)]] void look_up(const FunctionTable& table, const void* in, void* out,
                                                 std::size_t count) {
    const auto* from = static_cast<const unsigned char*>(in);
    auto* to = static_cast<unsigned char*>(out);
    const std::uint16_t* const results = table.data();
    for (std::size_t i = 0; i < count; ++i) {
        Word word;
        std::memcpy(&word, from + sizeof(Word) * i, sizeof(Word));
        const auto result = static_cast<Word>(results[word]);
        std::memcpy(to + sizeof(Word) * i, &result, sizeof(Word));
    }
}

/// The same where a random number chooses between two results.
template <class Word>
[[gnu::noinline, gnu::aligned(64)]] void draw(const ChanceTable& table, const void* in, void* out, std::size_t count,
                                              const Context& context, const KernelTable& kernels) {
    const auto* from = static_cast<const unsigned char*>(in);
    auto* to = static_cast<unsigned char*>(out);
    const ChanceEntry* const entries = table.data();
    std::array<std::uint32_t, chunk_size> random;
    for (std::size_t begin = 0; begin < count; begin += chunk_size) {
        const std::size_t length = std::min(chunk_size, count - begin);
        make_random_words(context, begin, length, random.data(), kernels);
        for (std::size_t i = 0; i < length; ++i, from += sizeof(Word), to += sizeof(Word)) {
            Word word;
            std::memcpy(&word, from, sizeof(Word));
            const ChanceEntry& entry = entries[word];
            const std::uint32_t carries = entry.fraction + random[i] < random[i] ? 1 : 0;
            const auto result = static_cast<Word>(entry.down ^ (entry.change & -carries));
            std::memcpy(to, &result, sizeof(Word));
        }
    }
}

using FloatFunction = float (*)(float);
FloatFunction fp32_function(Function function) {
#define ULPLAB_FUNCTION(name, Definition) cr::name,
    static constexpr FloatFunction table[] = {ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)};
#undef ULPLAB_FUNCTION
    return table[static_cast<std::size_t>(function)];
}

bool is_plain(const Context& context) {
    return context.rounding == Rounding::nearest_even && !context.flush_inputs && !context.flush_outputs &&
           !context.saturate;
}

/// The elements of a chunk of at most chunk_size.
using Chunk = std::array<std::uint32_t, chunk_size>;

/// The scalar function of storage words of 32 bits, in place, at these places of a chunk that begins at `begin`.
void evaluate_each(const FloatFormat& format, Function function, const Context& context, std::size_t begin,
                   Chunk& chunk, std::span<const std::uint16_t> places) {
    if (format == formats::fp32 && is_plain(context)) {
        const FloatFunction evaluate = fp32_function(function);
        for (const std::size_t i : places) {
            chunk[i] = std::bit_cast<std::uint32_t>(evaluate(std::bit_cast<float>(chunk[i])));
        }
        return;
    }
    const BitsFunction evaluate = scalar_function(function);
    for (const std::size_t i : places) {
        Context scalar = scalar_context(context, begin + i);
        chunk[i] = static_cast<std::uint32_t>(evaluate(format, chunk[i], scalar));
    }
}

const ulp::functions::Ends& ends_of(Function function) {
#define ULPLAB_FUNCTION(name, Definition) ulp::functions::Definition::ends(),
    static constexpr ulp::functions::Ends table[] = {ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)};
#undef ULPLAB_FUNCTION
    return table[static_cast<std::size_t>(function)];
}

double number_of(std::uint64_t word) { return std::bit_cast<float>(static_cast<std::uint32_t>(word)); }

/// The results beyond the function's ends: those of the ends by the scalar function.
void add_ends(FunctionPlan& plan, const FloatFormat& format, Function function, const Context& context) {
    const auto end = [&](float operand) -> FunctionEnd {
        Context scalar = context;
        const double result =
            number_of(scalar_function(function)(format, std::bit_cast<std::uint32_t>(operand), scalar));
        return {operand, result, result, 0};
    };
    plan.low = end(ends_of(function).low);
    plan.high = end(ends_of(function).high);
    plan.beside = ends_of(function).beside;
    // The results of infinities are exact: the same only where rounding to nearest gives them too, or without a chance.
    const bool infinities_too = context.rounding == Rounding::nearest_even && !context.saturate;
    plan.end_of_ends = infinities_too ? std::numeric_limits<double>::infinity() : 0x1.FFFFFEp127;
}

/// The same with stochastic rounding. Where the chance at an end is not that of the largest operands, it is at twice
/// the end: there results lie nearer to what they tend to than 32 random bits tell.
void add_random_ends(FunctionPlan& plan, const FloatFormat& format, Function function, const Context& context) {
    const auto chance_at = [&](double operand) {
        const auto word = std::bit_cast<std::uint32_t>(static_cast<float>(operand));
        return chance_function(function)(format, word, context);
    };
    const double largest = number_of(format.max_finite_magnitude() << format.padding_bits);
    const auto end = [&](double operand, double sign) -> FunctionEnd {
        const Chance chance = chance_at(sign * largest);
        const bool at_once = chance_at(operand) == chance;
        return {at_once ? operand : 2 * operand, number_of(chance.down), number_of(chance.up),
                chance.fraction << (32 - context.random_bits)};
    };
    const auto& ends = ends_of(function);
    const double infinity = std::numeric_limits<double>::infinity();
    if (ends.low > -infinity) plan.low = end(ends.low, -1);
    if (ends.high < infinity) plan.high = end(ends.high, 1);
    const bool infinities_too = plan.low.fraction == 0 && plan.high.fraction == 0 && !context.saturate;
    plan.end_of_ends = infinities_too ? infinity : largest;
    if (context.random_bits <= 6) plan.beside = ends.beside;  // 2^-30 of the operand is below 2^-6 of a last place
}

/// The constants of the kernel where choose_path() names it.
FunctionPlan plan_of(const FloatFormat& format, Function function, const Context& context) {
    FunctionPlan plan = *function_plan(format, context.rounding);
    const bool by_chance = context.rounding == Rounding::stochastic;
    (by_chance ? add_random_ends : add_ends)(plan, format, function, context);
    if (context.flush_outputs) plan.to_subnormal_grid = 0;
    return plan;
}

/// The same in fp32 with default options, made once: a plan takes longer than a short array.
const FunctionPlan& plain_plan_of(Function function) {
    static const std::array<FunctionPlan, functions> plans = [] {
        std::array<FunctionPlan, functions> all;
        for (int i = 0; i < functions; ++i) {
            all[static_cast<std::size_t>(i)] = plan_of(formats::fp32, static_cast<Function>(i), {});
        }
        return all;
    }();
    return plans[static_cast<std::size_t>(function)];
}

/// By a kernel, chunk after chunk; what the kernel leaves undecided by the scalar function.
void evaluate_by_kernel(const FloatFormat& format, Function function, FunctionPlan plan, const void* in, void* out,
                        std::size_t count, const Context& context, Simd simd) {
    const FunctionKernel kernel = kernels_of<FunctionKernels>(simd).kernel[static_cast<std::size_t>(function)];
    const auto* from = static_cast<const unsigned char*>(in);
    auto* to = static_cast<unsigned char*>(out);
    Chunk chunk;
    Chunk random;
    std::array<std::uint16_t, chunk_size> undecided;
    for (std::size_t begin = 0; begin < count; begin += chunk_size) {
        const std::size_t length = std::min(chunk_size, count - begin);
        const void* operands = from + 4 * begin;
        if (context.flush_inputs) {
            std::memcpy(chunk.data(), operands, 4 * length);
            for (std::uint32_t& word : std::span(chunk).first(length))
                word = (word & 0x7F800000) == 0 ? word & 0x80000000 : word;
            operands = chunk.data();
        }
        if (context.rounding == Rounding::stochastic) {
            make_random_words(context, begin, length, random.data(), kernels_of<KernelTable>(simd));
            plan.random = random.data();
        }
        const std::size_t left = kernel(plan, operands, chunk.data(), length, undecided.data());
        evaluate_each(format, function, context, begin, chunk, std::span(undecided).first(left));
        std::memcpy(to + 4 * begin, chunk.data(), 4 * length);
    }
}

}  // namespace

void evaluate_words(const FloatFormat& format, Function function, const void* in, void* out, std::size_t count,
                    const Context& context, Simd simd) {
    const Path path = choose_path(function, format, context, simd);
    const FloatEnvironment environment(Rounding::nearest_even);
    const std::size_t bytes = bytes_of(format);
    if (path.kernel == Kernel::table_of_results && context.rounding == Rounding::stochastic) {
        const auto table = chance_table(format, function, context);
        const auto draw_words = bytes == 1 ? draw<std::uint8_t> : draw<std::uint16_t>;
        draw_words(*table, in, out, count, context, kernels_of<KernelTable>(simd));
    } else if (path.kernel == Kernel::table_of_results) {
        const auto table = function_table(format, function, context);
        bytes == 1 ? look_up<std::uint8_t>(*table, in, out, count) : look_up<std::uint16_t>(*table, in, out, count);
    } else if (path.kernel == Kernel::quick_phase) {
        if (format == formats::fp32 && is_plain(context)) {
            evaluate_by_kernel(format, function, plain_plan_of(function), in, out, count, context, simd);
        } else {
            evaluate_by_kernel(format, function, plan_of(format, function, context), in, out, count, context, simd);
        }
    } else {
        const BitsFunction evaluate = scalar_function(function);
        for (std::size_t i = 0; i < count; ++i) {
            Context scalar = scalar_context(context, i);
            store_word(out, bytes, i, evaluate(format, load_word(in, bytes, i), scalar));
        }
    }
}

void pow_words(const FloatFormat& format, const void* x, const void* y, void* out, std::size_t count,
               const Context& context) {
    require_sensible_function(format, context);
    const FloatEnvironment environment(Rounding::nearest_even);
    const std::size_t bytes = bytes_of(format);
    for (std::size_t i = 0; i < count; ++i) {
        Context scalar = scalar_context(context, i);
        store_word(out, bytes, i, pow_bits(format, load_word(x, bytes, i), load_word(y, bytes, i), scalar));
    }
}

}  // namespace ulp::array
