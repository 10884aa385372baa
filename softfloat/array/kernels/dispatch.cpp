#include "softfloat/array/kernels/dispatch.hpp"

#include <stdexcept>
#include <string>

#include "softfloat/array/words.hpp"

namespace ulp::array {

const KernelTable& kernels_of(Simd simd) {
    if (simd > supported_simd().back()) {
        throw std::invalid_argument("this processor has no vector instructions '" + std::string(name_of(simd)) +
                                    "'; supported_simd() lists those it has");
    }
#if defined(__x86_64__)
    if (simd >= Simd::avx512) return avx512_kernels;
    if (simd == Simd::avx2) return avx2_kernels;
#else
    (void)simd;
#endif
    return portable_kernels;
}

void require_same_size(std::string_view function, std::size_t from, std::size_t to) {
    if (from == to) return;
    throw std::invalid_argument(std::string(function) + ": arrays of " + std::to_string(from) + " and " +
                                std::to_string(to) + " elements; give arrays of the same size");
}

void require_sensible(const ArrayContext& context) {
    if (context.rounding != Rounding::stochastic) return;
    if (context.random_bits >= 1 && context.random_bits <= 32) return;
    throw std::invalid_argument("stochastic rounding with " + std::to_string(context.random_bits) +
                                " random bits; choose 1 to 32");
}

}  // namespace ulp::array
