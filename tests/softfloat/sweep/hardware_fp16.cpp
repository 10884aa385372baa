// The processor's own fp16 arithmetic: the only source compiled for AVX512-FP16, called where the processor has it.
#include "tests/softfloat/sweep/pairs.hpp"

namespace ulp::sweep {

#ifdef ULPLAB_HAS_FP16_COMPILER
namespace {
__extension__ typedef _Float16 Half;

template <class Function>
void fill(std::uint16_t a, std::uint16_t* out, Function function) {
    const Half x = __builtin_bit_cast(Half, a);
    for (std::uint32_t b = 0; b < row_length; ++b) {
        const Half y = __builtin_bit_cast(Half, static_cast<std::uint16_t>(b));
        out[b] = __builtin_bit_cast(std::uint16_t, static_cast<Half>(function(x, y)));
    }
}
}  // namespace

void hardware_fp16_row(Operation operation, std::uint16_t a, std::uint16_t* results) {
    if (operation == Operation::add) fill(a, results, [](Half x, Half y) { return x + y; });
    if (operation == Operation::multiply) fill(a, results, [](Half x, Half y) { return x * y; });
    if (operation == Operation::divide) fill(a, results, [](Half x, Half y) { return x / y; });
}
#else
void hardware_fp16_row(Operation, std::uint16_t, std::uint16_t*) {}
#endif

}  // namespace ulp::sweep
