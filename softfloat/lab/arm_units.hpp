// The dot products of bf16 that ARM processors have: asked by tests.
#pragma once

#include <cstdint>

namespace ulp::arm {

/// Whether the processor has FEAT_BF16. False on other processors.
bool has_bfdot();

/// BFDOT, four lanes: d[i] = c[i] + a[2 i] b[2 i] + a[2 i + 1] b[2 i + 1]. Words of bf16 and fp32. Without FEAT_BF16
/// broken preconditions.
void bfdot(const std::uint16_t* a, const std::uint16_t* b, const std::uint32_t* c, std::uint32_t* d);
/// BFMMLA: d = c + a b, a and c by rows, b by columns, 2 x 4 by 4 x 2.
void bfmmla(const std::uint16_t* a, const std::uint16_t* b, const std::uint32_t* c, std::uint32_t* d);

}  // namespace ulp::arm
