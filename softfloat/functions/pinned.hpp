// The functions on fp32 as the trainer uses them: one definition, the same bits on every processor, compiler and GPU.
// Each is the correctly rounded function (to nearest even), so nothing about how it is computed can show.
#pragma once

#include "softfloat/functions/catalog.hpp"

namespace ulp::pinned {

constexpr float exp(float x) { return evaluate_pinned<functions::Exp>(x); }
constexpr float log(float x) { return evaluate_pinned<functions::Log>(x); }
constexpr float tanh(float x) { return evaluate_pinned<functions::Tanh>(x); }

static_assert(exp(0.0F) == 1.0F && exp(1.0F) == 0x1.5BF0A8p1F && log(2.0F) == 0x1.62E43p-1F);
static_assert(tanh(0.5F) == 0x1.D9353Ep-2F && tanh(100.0F) == 1.0F);

}  // namespace ulp::pinned
