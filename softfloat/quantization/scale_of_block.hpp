// The scale of one block by the rule of a row.
#pragma once

#include "softfloat/quantization/quantize.hpp"

namespace ulp {

/// A block's scale: dec in its format, and what its numbers are multiplied by. Both are zero, or dec is NaN, where the
/// elements are zeros.
struct BlockScale {
    float decode = 1;
    float encode = 1;
};

/// Whether a block's scale is the power of two below its statistic, moved (or the one above, where the row rounds up).
bool scales_by_exponent(const Quantization& how);

/// The scales of an operand's blocks.
class ScaleOfBlock {
  public:
    /// Throws std::invalid_argument where the row has a factor S and a step without one.
    ScaleOfBlock(const Quantization& how, const QuantizedUse& use, float largest_of_operand);

    /// For a block with this statistic: zero, infinity or NaN is what the row says of it. `candidate` multiplies the
    /// first step's dec.
    [[nodiscard]] BlockScale operator()(float statistic, float candidate = 1) const;
    /// 1 / S, times the rule's factor: multiplies all that the blocks mean.
    [[nodiscard]] float tensor_scale() const { return tensor_scale_; }
    /// Element times this is the number that it stands for.
    [[nodiscard]] float full_decode(const BlockScale& scale) const { return scale.decode * tensor_scale_; }

  private:
    // Blocks may be small: their scales are worth inlining.
    [[nodiscard, gnu::always_inline]] inline BlockScale by_rule(float statistic, float candidate) const;
    [[nodiscard, gnu::always_inline]] inline BlockScale of_exponent(float statistic) const;
    [[nodiscard, gnu::always_inline]] inline BlockScale from_decode(float decode) const;
    [[nodiscard, gnu::always_inline]] inline float rounded(double value) const;

    const Quantization* how_;
    float old_encode_;
    float largest_element_;  // M, less the margin
    float smallest_scale_;
    float largest_scale_;
    float factor_ = 1;  // S
    float tensor_scale_ = 1;
    bool by_exponent_;
};

/// The largest magnitude of count numbers. Infinities and NaNs count unless the row skips them; a NaN is the largest.
float largest_magnitude(const Quantization& how, const float* numbers, std::int64_t count);

/// The largest finite number of a format, M, in fp32.
float largest_number(const FloatFormat& format);

}  // namespace ulp
