// Stochastic rounding: four registers of Philox words for four registers of fp32 words. See kernels_round.hpp.
#pragma once

#include "softfloat/array/kernels_round.hpp"

namespace ulp::array {
namespace {

template <class Lanes>
struct FourWords {
    typename Lanes::Word word[4];
};

/// The words of `width` Philox blocks from `block` on, in order (softfloat/philox.hpp is the plain definition).
template <class Lanes>
FourWords<Lanes> philox_words(const RoundingPlan& plan, std::uint64_t block) {
    const auto low = Lanes::set(static_cast<std::uint32_t>(block));
    auto c0 = Lanes::add(low, Lanes::block_offsets());
    const auto carry = Lanes::where(Lanes::greater_unsigned(low, c0), Lanes::set(1));
    auto c1 = Lanes::add(Lanes::set(static_cast<std::uint32_t>(block >> 32)), carry);
    auto c2 = Lanes::set(plan.stream[0]);
    auto c3 = Lanes::set(plan.stream[1]);
    std::uint32_t key0 = plan.key[0];
    std::uint32_t key1 = plan.key[1];
    for (int i = 0; i < 10; ++i) {
        const auto p0 = Lanes::multiply(c0, 0xD2511F53);
        const auto p1 = Lanes::multiply(c2, 0xCD9E8D57);
        c0 = Lanes::differ(Lanes::differ(p1.high, c1), Lanes::set(key0));
        c1 = p1.low;
        c2 = Lanes::differ(Lanes::differ(p0.high, c3), Lanes::set(key1));
        c3 = p0.low;
        key0 += 0x9E3779B9;
        key1 += 0xBB67AE85;
    }
    Lanes::in_order(c0, c1, c2, c3);
    const auto kept = Lanes::set(plan.kept_bits);
    return {{Lanes::both(c0, kept), Lanes::both(c1, kept), Lanes::both(c2, kept), Lanes::both(c3, kept)}};
}

template <class Lanes, Shape shape, template <class, Shape> class To>
void round_group(const RoundingPlan& plan, std::uint64_t block, const unsigned char* from, unsigned char* to) {
    using Sink = To<Lanes, shape>;
    constexpr std::size_t step = Lanes::width;
    const auto random = philox_words<Lanes>(plan, block);
    for (std::size_t i = 0; i < 4; ++i) {
        const auto x = Lanes::load(from + 4 * step * i);
        const auto rounded = round_word<Lanes, Rounding::stochastic, shape, Sink::is_code>(plan, x, random.word[i]);
        Sink::put(plan, to + Sink::size * step * i, rounded);
    }
}

template <class Lanes, Shape shape, template <class, Shape> class To>
void round_stochastic(const RoundingPlan& shared_plan, const void* in, void* out, std::size_t count) {
    constexpr std::size_t size = To<Lanes, shape>::size;
    constexpr std::size_t group = 4 * Lanes::width;
    const RoundingPlan plan = shared_plan;
    const auto* from = static_cast<const unsigned char*>(in);
    auto* to = static_cast<unsigned char*>(out);
    std::uint64_t block = plan.block;
    std::size_t skip = plan.skip;  // positions of the first group that lie before the array
    while (count != 0) {
        const std::size_t now = count < group - skip ? count : group - skip;
        if (now == group) {
            round_group<Lanes, shape, To>(plan, block, from, to);
        } else {
            unsigned char buffer[4 * group] = {};
            copy_bytes(buffer + 4 * skip, from, 4 * now);
            round_group<Lanes, shape, To>(plan, block, buffer, buffer);
            copy_bytes(to, buffer + size * skip, size * now);
        }
        from += 4 * now;
        to += size * now;
        count -= now;
        block += Lanes::width;
        skip = 0;
    }
}

}  // namespace
}  // namespace ulp::array
