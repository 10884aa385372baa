// The matrix units of x86 processors, run for real: what the rows x86:vdpbf16ps and x86:tdpbf16ps are compared with.
#pragma once

#include <cstdint>

#include "softfloat/lab/discovery.hpp"

namespace ulp::x86 {

/// Whether this processor has AVX512-BF16.
bool has_vdpbf16ps();
/// Whether it has AMX with bf16 (int8), and the operating system lets this process use it.
bool has_tdpbf16ps();
bool has_tdpbssd();

/// 16 dot products of 2: d[i] = a[2i] b[2i] + a[2i+1] b[2i+1] + c[i], in storage words of bf16 and fp32.
void vdpbf16ps(const std::uint16_t* a, const std::uint16_t* b, const std::uint32_t* c, std::uint32_t* d);

/// A tile: d = a * b + c. a is 16 x 32 by rows, b is 32 x 16 by columns (16 columns of 32), c and d 16 x 16 by rows.
void tdpbf16ps(const std::uint16_t* a, const std::uint16_t* b, const std::uint32_t* c, std::uint32_t* d);

/// A tile of signed bytes with int32 sums, modulo 2^32: a is 16 x 64 by rows, b is 64 x 16 by columns.
void tdpbssd(const std::int8_t* a, const std::int8_t* b, const std::int32_t* c, std::int32_t* d);

/// The units as black boxes of one dot product, for discovery.
DotUnit vdpbf16ps_unit();
DotUnit tdpbf16ps_unit();

}  // namespace ulp::x86
