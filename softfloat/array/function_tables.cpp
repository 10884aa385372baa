#include "softfloat/array/function_tables.hpp"

#include <map>
#include <mutex>
#include <tuple>

#include "softfloat/array/stages.hpp"
#include "softfloat/functions/functions.hpp"

namespace ulp::array {
namespace {

/// Everything that the results depend on.
using Key = std::tuple<int, int, int, int, bool, bool, bool, int, int, int, bool, Function, Rounding, Tininess, bool,
                       bool, int, int>;

Key key_of(const FloatFormat& f, Function function, const Context& c) {
    return {f.exponent_bits,
            f.fraction_bits,
            f.bias,
            static_cast<int>(f.specials),
            f.has_sign,
            f.has_subnormals,
            f.even_codes,
            f.padding_bits,
            f.unused_exponents,
            f.saturation.mode,
            f.largest_for_infinity,
            function,
            c.rounding,
            c.tininess,
            c.flush_inputs,
            c.flush_outputs,
            c.saturate.mode,
            c.rounding == Rounding::stochastic ? c.random_bits : 0};
}

/// Every word of the storage type has its entry, also where it has more bits than the format.
std::size_t entries_of(const FloatFormat& format) { return std::size_t{1} << (8 * bytes_of(format)); }

FunctionTable compute_results(const FloatFormat& format, Function function, const Context& context) {
    FunctionTable table(entries_of(format));
    const BitsFunction evaluate = scalar_function(function);
    for (std::size_t bits = 0; bits < table.size(); ++bits) {
        Context scalar = scalar_context(context, 0);
        table[bits] = static_cast<std::uint16_t>(evaluate(format, bits, scalar));
    }
    return table;
}

ChanceTable compute_chances(const FloatFormat& format, Function function, const Context& context) {
    ChanceTable table(entries_of(format));
    const ChanceFunction evaluate = chance_function(function);
    for (std::size_t bits = 0; bits < table.size(); ++bits) {
        const Chance chance = evaluate(format, bits, context);
        table[bits] = {static_cast<std::uint16_t>(chance.down), static_cast<std::uint16_t>(chance.down ^ chance.up),
                       static_cast<std::uint32_t>(chance.fraction << (32 - context.random_bits))};
    }
    return table;
}

/// The table of that kind, computed at the first call.
template <class Table>
std::shared_ptr<const Table> kept_table(Table (*compute)(const FloatFormat&, Function, const Context&),
                                        const FloatFormat& format, Function function, const Context& context) {
    static std::mutex mutex;
    static std::map<Key, std::shared_ptr<const Table>> tables;
    const std::lock_guard lock(mutex);
    auto& table = tables[key_of(format, function, context)];
    if (table == nullptr) table = std::make_shared<const Table>(compute(format, function, context));
    return table;
}

}  // namespace

BitsFunction scalar_function(Function function) {
#define ULPLAB_FUNCTION(name, Definition) name##_bits,
    static constexpr BitsFunction table[] = {ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)};
#undef ULPLAB_FUNCTION
    return table[static_cast<std::size_t>(function)];
}

ChanceFunction chance_function(Function function) {
#define ULPLAB_FUNCTION(name, Definition) evaluate_chance<functions::Definition>,
    static constexpr ChanceFunction table[] = {ULPLAB_FUNCTIONS(ULPLAB_FUNCTION)};
#undef ULPLAB_FUNCTION
    return table[static_cast<std::size_t>(function)];
}

std::shared_ptr<const FunctionTable> function_table(const FloatFormat& format, Function function,
                                                    const Context& context) {
    return kept_table(compute_results, format, function, context);
}

std::shared_ptr<const ChanceTable> chance_table(const FloatFormat& format, Function function, const Context& context) {
    return kept_table(compute_chances, format, function, context);
}

}  // namespace ulp::array
