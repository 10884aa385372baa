// The fractions of the last place that kernels_truncated.hpp adds, a register after the other. See kernels_round.hpp
// for how this file is compiled.
#pragma once

#include "softfloat/array/kernels/kernels_stochastic.hpp"

namespace ulp::array {
namespace {

/// Fractions in units of 2^-32, one for each element: of random bits.
template <class Vec>
class RandomFractions {
  public:
    using Blocks = GroupBlocks<Vec>;
    static constexpr std::size_t group = Blocks::group;
    explicit RandomFractions(const RoundingPlan64& plan) : blocks_(plan, plan.block), kept_(Vec::set(plan.kept_bits)) {
        if (plan.skip == 0) return;
        left_over_ = 4 - plan.skip;
        blocks_.next(words_ + 1);
        copy_bytes(first() + 4 * group, reinterpret_cast<const unsigned char*>(words_ + 1) + 4 * plan.skip,
                   4 * left_over_);
        blocks_ = Blocks(plan, plan.block + 1);
    }
    /// Continues with the next group.
    void advance() {
        if (left_over_ != 0) copy_bytes(first(), first() + 4 * group, 4 * left_over_);
        blocks_.next(words_ + 1);
    }
    /// A register of the group.
    [[nodiscard]] typename Vec::Int at(std::size_t i) {
        return Vec::bit_and(Vec::load(first() + sizeof(typename Vec::Int) * i), kept_);
    }

  private:
    /// Words that the last block had left over stand before those of the group.
    unsigned char* first() { return reinterpret_cast<unsigned char*>(words_ + 1) - 4 * left_over_; }
    Blocks blocks_;
    typename Vec::Int kept_;
    std::size_t left_over_ = 0;
    typename Vec::Int words_[1 + group / Vec::lanes];
};
/// As words in memory: RandomKernel.
template <class Vec>
void random_words(const RoundingPlan64& plan, std::uint32_t* words, std::size_t count) {
    RandomFractions<Vec> fractions(plan);
    auto* to = reinterpret_cast<unsigned char*>(words);
    while (count != 0) {
        fractions.advance();
        for (std::size_t i = 0; i < RandomFractions<Vec>::group / Vec::lanes && count != 0; ++i) {
            const auto fraction = fractions.at(i);
            if (count < Vec::lanes) return copy_bytes(to, &fraction, 4 * count);
            Vec::store(to, fraction);
            to += 4 * Vec::lanes;
            count -= Vec::lanes;
        }
    }
}
/// The same, always a half.
template <class Vec>
struct HalfFractions {
    static constexpr std::size_t group = 4 * Vec::lanes;
    explicit HalfFractions(const RoundingPlan64&) {}
    void advance() {}
    [[nodiscard]] typename Vec::Int at(std::size_t) { return Vec::set(sign_bit<Vec>); }
};

}  // namespace
}  // namespace ulp::array
