#include <bit>
#include <cstring>

#include "softfloat/array/environment.hpp"
#include "softfloat/array/function_tables.hpp"
#include "softfloat/array/stages.hpp"
#include "softfloat/array/words.hpp"
#include "softfloat/functions/cr.hpp"
#include "softfloat/functions/functions.hpp"

namespace ulp::array {
namespace {

using BinaryFunction = std::uint64_t (*)(const FloatFormat&, std::uint64_t, std::uint64_t, Context&);

void require_sensible_function(const FloatFormat& format, const Context& context) {
    require_sensible(context);
    require_supported(format);
}

/// One load, one look-up and one store an element: faster than gathering with vector instructions where the table lies
/// in the second-level cache (measured), and the same everywhere.
template <class Word>
void look_up(const FunctionTable& table, const void* in, void* out, std::size_t count) {
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

using PinnedFunction = float (*)(float);
PinnedFunction pinned_function(Function function) {
    static constexpr PinnedFunction table[] = {cr::exp,   cr::exp2, cr::expm1,    cr::log,   cr::log2,
                                               cr::log1p, cr::sin,  cr::cos,      cr::tanh,  cr::sigmoid,
                                               cr::erf,   cr::gelu, cr::softplus, cr::rsqrt, cr::cbrt};
    static_assert(std::size(table) == functions);
    return table[static_cast<std::size_t>(function)];
}

bool is_plain(const Context& context) {
    return context.rounding == Rounding::nearest_even && !context.flush_inputs && !context.flush_outputs &&
           !context.saturate;
}

void evaluate_binary(const FloatFormat& format, BinaryFunction function, const void* x, const void* y, void* out,
                     std::size_t count, const Context& context) {
    require_sensible_function(format, context);
    const FloatEnvironment environment(Rounding::nearest_even);
    const std::size_t bytes = bytes_of(format);
    for (std::size_t i = 0; i < count; ++i) {
        Context scalar = scalar_context(context, i);
        store_word(out, bytes, i, function(format, load_word(x, bytes, i), load_word(y, bytes, i), scalar));
    }
}

}  // namespace

void evaluate_words(const FloatFormat& format, Function function, const void* in, void* out, std::size_t count,
                    const Context& context) {
    require_sensible_function(format, context);
    const FloatEnvironment environment(Rounding::nearest_even);
    const std::size_t bytes = bytes_of(format);
    if (bytes <= 2 && context.rounding != Rounding::stochastic) {
        const auto table = function_table(format, function, context);
        bytes == 1 ? look_up<std::uint8_t>(*table, in, out, count) : look_up<std::uint16_t>(*table, in, out, count);
    } else if (format == formats::fp32 && is_plain(context)) {
        const PinnedFunction evaluate = pinned_function(function);
        for (std::size_t i = 0; i < count; ++i) {
            const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(load_word(in, 4, i)));
            store_word(out, 4, i, std::bit_cast<std::uint32_t>(evaluate(x)));
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
    evaluate_binary(format, pow_bits, x, y, out, count, context);
}
void hypot_words(const FloatFormat& format, const void* x, const void* y, void* out, std::size_t count,
                 const Context& context) {
    evaluate_binary(format, hypot_bits, x, y, out, count, context);
}

}  // namespace ulp::array
