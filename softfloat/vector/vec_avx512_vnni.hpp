// Vectors of AVX-512 with its sums of products of small integers (AVX512-VNNI). One of the vector kits.
#pragma once

#include "softfloat/vector/vec_avx512.hpp"

namespace ulp::vec {
namespace {

/// In assembly, where the intrinsics make g++ 12 copy sums from register to register.
struct Avx512Vnni : Avx512 {
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
}  // namespace ulp::vec
