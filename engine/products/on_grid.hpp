// A quick look whether numbers lie on a format's grid, before a slow one that says where they do not; and what to say
// of words that are no codes.
#pragma once

#include <cstdint>
#include <string>

#include "engine/products/matmul.hpp"

namespace ulp {

/// False where all numbers are the format's (or NaN): vectorised, on all threads. True where one may not be.
bool maybe_off_grid(const MatrixView& matrix, const FloatFormat& format);
/// Of fp64 numbers nothing is known without the slow look.
constexpr bool maybe_off_grid(const BasicMatrixView<const double>&, const FloatFormat&) { return true; }

/// Whether a word has bits above the format's storage bits, as two codes of E2M1 packed into a byte have.
constexpr bool is_beyond_codes(const FloatFormat& format, std::uint64_t word) {
    return format.storage_bits() < 64 && word >> format.storage_bits() != 0;
}
/// "0x73 is not a code of e2m1, whose codes are 0x0 to 0xF", and what to do.
std::string beyond_codes_text(const FloatFormat& format, std::uint64_t word);

}  // namespace ulp
