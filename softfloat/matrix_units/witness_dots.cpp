#include "softfloat/matrix_units/witness_dots.hpp"

#include <algorithm>

#include "softfloat/matrix_units/block_dot.hpp"
#include "softfloat/support/philox.hpp"

namespace ulp {

namespace {

constexpr int witness_count = 20000;

/// Numbers by chance, the same every time.
class WitnessRandom {
  public:
    std::uint64_t word() {
        const philox::Block block = philox::generate({counter_++, 0, 0, 0}, {0x77697473, 0});
        return std::uint64_t{block[0]} << 32 | block[1];
    }
    /// 0 to count - 1.
    std::uint64_t below(std::uint64_t count) { return word() % count; }

  private:
    std::uint32_t counter_ = 0;
};

/// A zero, a subnormal, a number near an end of the normal range or with any exponent, an infinity, a NaN.
std::uint64_t witness_code(const FloatFormat& format, WitnessRandom& random) {
    const std::uint64_t least_normal = std::uint64_t{1} << format.fraction_bits;
    const std::uint64_t greatest = format.max_finite_magnitude();
    const std::uint64_t fraction = random.below(2) == 0 ? random.below(least_normal) : random.below(2);
    const std::uint64_t exponents = (greatest >> format.fraction_bits) + 1;
    const bool is_negative = format.has_sign && random.below(2) == 1;
    switch (random.below(12)) {
        case 0: return pack(format, is_negative, 0);
        case 1:
        case 2: return pack(format, is_negative, fraction);
        case 3:
        case 4: return pack(format, is_negative, std::min(greatest, least_normal * (1 + random.below(3)) + fraction));
        case 5: return pack(format, is_negative, greatest - fraction);
        case 6: return format.has_infinity() ? pack(format, is_negative, format.infinity_magnitude()) : 0;
        case 7: return format.has_nan() ? nan_bits(format) : 0;
        default:
            return pack(format, is_negative, std::min(greatest, least_normal * random.below(exponents) + fraction));
    }
}

/// A number with that exponent, or the nearest exponent that the format has.
std::uint64_t code_near(const FloatFormat& format, int exponent, WitnessRandom& random) {
    const int biased = exponent + format.bias;
    const std::uint64_t least_normal = std::uint64_t{1} << format.fraction_bits;
    const std::uint64_t fraction = random.below(2) == 0 ? random.below(least_normal) : random.below(2);
    const std::uint64_t magnitude = biased > 0 ? static_cast<std::uint64_t>(biased) * least_normal + fraction
                                               : least_normal >> std::min(1 - biased, format.fraction_bits);
    return pack(format, format.has_sign && random.below(2) == 1, std::min(magnitude, format.max_finite_magnitude()));
}

RecordedDot zeros_of(int instruction_k) {
    const auto k = static_cast<std::size_t>(instruction_k);
    return {std::vector<std::uint64_t>(k), std::vector<std::uint64_t>(k), 0, 0};
}

/// About half the accumulator's least number, and the smallest product, which breaks a tie.
RecordedDot near_tie(const TensorCoreModel& model, WitnessRandom& random) {
    RecordedDot dot = zeros_of(model.instruction_k);
    const int half_of_least = model.accumulator.emin() - model.accumulator.fraction_bits - 1;
    const int of_a = half_of_least / 2;
    constexpr int below_all = -1000;
    dot.a[0] = code_near(model.a_format, of_a, random);
    dot.b[0] = code_near(model.b_format, half_of_least - of_a, random);
    dot.a[1] = code_near(model.a_format, below_all, random);
    dot.b[1] = code_near(model.b_format, below_all, random);
    return dot;
}

/// Any numbers, or products whose exponents are near each other and near c's or the accumulator's least.
RecordedDot witness(const TensorCoreModel& model, WitnessRandom& random) {
    if (random.below(16) == 0 && model.instruction_k > 1) return near_tie(model, random);
    RecordedDot dot = zeros_of(model.instruction_k);
    const bool near = random.below(2) == 1;
    const auto offset = [&](std::uint64_t range) { return static_cast<int>(random.below(2 * range + 1) - range); };
    const int center = random.below(4) == 0 ? offset(20) : model.accumulator.emin() + offset(40);
    for (std::uint64_t lane = random.below(5); lane > 0; --lane) {
        const std::size_t i = random.below(dot.a.size());
        const int exponent = center + offset(20);
        const int of_a = exponent / 2 + offset(4);
        dot.a[i] = near ? code_near(model.a_format, of_a, random) : witness_code(model.a_format, random);
        dot.b[i] = near ? code_near(model.b_format, exponent - of_a, random) : witness_code(model.b_format, random);
    }
    if (random.below(4) != 0) {
        const bool c_near = near && random.below(2) == 1;
        dot.c = c_near ? code_near(model.accumulator, center + offset(20), random)
                       : witness_code(model.accumulator, random);
    }
    return dot;
}

RecordedDot witness(const IntegerModel& model, WitnessRandom& random) {
    RecordedDot dot = zeros_of(model.instruction_k);
    const std::uint64_t mask = (std::uint64_t{1} << model.bits) - 1;
    for (std::size_t i = 0; i < dot.a.size(); ++i) {
        dot.a[i] = random.word() & mask;
        dot.b[i] = random.word() & mask;
    }
    constexpr std::uint64_t ends[] = {0, 0x7FFFFFFF, 0x80000000};
    dot.c = ends[random.below(3)];
    return dot;
}

}  // namespace

std::vector<RecordedDot> witness_dots(const UnitModel& model) {
    WitnessRandom random;
    const DotHypothesis own = hypothesis_of(model);
    std::vector<RecordedDot> dots;
    for (int i = 0; i < witness_count; ++i) {
        if (const auto* floating = std::get_if<TensorCoreModel>(&model)) dots.push_back(witness(*floating, random));
        if (const auto* integer = std::get_if<IntegerModel>(&model)) dots.push_back(witness(*integer, random));
        dots.back().d = own(dots.back());
    }
    return dots;
}

}  // namespace ulp
