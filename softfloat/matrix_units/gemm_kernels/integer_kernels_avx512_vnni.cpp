// The integer kernels for AVX-512 with AVX512-VNNI, which sums products of small integers.
#include "softfloat/matrix_units/gemm_kernels/make_integer_kernels.hpp"
#include "softfloat/vector/vec_avx512.hpp"

namespace ulp::gemm_kernels {
namespace {

/// In assembly, where the intrinsics make g++ 12 copy sums from register to register.
struct Avx512Vnni : vec::Avx512 {
    static Int add_word_products(Int sum, Int a, Int b) {
        asm("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
        return sum;
    }
    static Int add_byte_products(Int sum, Int a, Int b) {
        asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(a), "v"(b));
        return sum;
    }
};

}  // namespace

constinit const IntegerKernels IntegerKernels::avx512_vnni = make_integer_kernels<Avx512Vnni>();
}  // namespace ulp::gemm_kernels
