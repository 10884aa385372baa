// Stochastic rounding: registers of Philox words for registers of fp32 words. See kernels_round.hpp.
#pragma once

#include "softfloat/array/kernels/kernels_round.hpp"

namespace ulp::array {
namespace {

/// Each round of Philox waits for the multiplication of the one before: several chains fill the time.
constexpr int chains = 6;
/// Blocks and registers of words of a call.
template <class Vec>
inline constexpr int group_blocks = chains* Vec::lanes64;
template <class Vec>
inline constexpr int group_registers = 4 * group_blocks<Vec> / Vec::lanes;

constexpr std::uint64_t philox_factors[2] = {0xD2511F53, 0xCD9E8D57};

/// Four words of each lane of 64 bits, in the lower half; what is above does not matter, for products are of lower
/// halves.
template <class Vec>
struct PhiloxWords {
    typename Vec::Int64 c0, c1, c2, c3;
};
template <class Vec>
void philox_round(PhiloxWords<Vec>& c, std::uint64_t key0, std::uint64_t key1) {
    const auto p0 = Vec::mul_lower(c.c0, Vec::set64(philox_factors[0]));
    const auto p1 = Vec::mul_lower(c.c2, Vec::set64(philox_factors[1]));
    c.c0 = Vec::xor3(Vec::upper(p1), c.c1, Vec::set64(key0));
    c.c1 = p1;
    c.c2 = Vec::xor3(Vec::upper(p0), c.c3, Vec::set64(key1));
    c.c3 = p0;
}

/// What all blocks of a stream share.
constexpr int philox_rounds = 10;
struct PhiloxStream {
    std::uint64_t words[2];
    std::uint64_t keys[philox_rounds][2];
};
inline PhiloxStream philox_stream(const RoundingPlan& plan) {
    PhiloxStream stream{{plan.stream[0], plan.stream[1]}, {}};
    std::uint32_t key0 = plan.key[0];
    std::uint32_t key1 = plan.key[1];
    for (auto& key : stream.keys) {
        key[0] = key0;
        key[1] = key1;
        key0 += 0x9E3779B9;
        key1 += 0xBB67AE85;
    }
    return stream;
}

/// The words of `group_blocks` Philox blocks from `block` on, in order (softfloat/support/philox.hpp is the plain
/// definition). All numbers of the blocks have one upper half. With that, half of the first two rounds is the same for
/// all blocks.
template <class Vec>
void philox_words(const PhiloxStream& stream, std::uint64_t block, typename Vec::Int* words) {
    const std::uint64_t low = 0xFFFFFFFF;
    const std::uint64_t p1 = stream.words[0] * philox_factors[1];
    const std::uint64_t p0 = ((p1 >> 32 ^ block >> 32 ^ stream.keys[0][0]) & low) * philox_factors[0];
    PhiloxWords<Vec> c[chains];
    for (int chain = 0; chain < chains; ++chain) {
        const auto number = Vec::block_numbers(block + static_cast<std::uint64_t>(chain * Vec::lanes64));
        const auto first = Vec::mul_lower(number, Vec::set64(philox_factors[0]));
        const auto c2 = Vec::xor3(Vec::upper(first), Vec::set64(stream.words[1]), Vec::set64(stream.keys[0][1]));
        const auto second = Vec::mul_lower(c2, Vec::set64(philox_factors[1]));
        c[chain] = {Vec::xor3(Vec::upper(second), Vec::set64(p1), Vec::set64(stream.keys[1][0])), second,
                    Vec::xor3(first, Vec::set64(p0 >> 32), Vec::set64(stream.keys[1][1])), Vec::set64(p0)};
    }
    for (int round = 2; round < philox_rounds; ++round) {
        for (auto& each : c) philox_round<Vec>(each, stream.keys[round][0], stream.keys[round][1]);
    }
    for (int chain = 0; chain < chains; ++chain) {
        const auto& [c0, c1, c2, c3] = c[chain];
        Vec::in_order(c0, c1, c2, c3, words + chain * group_registers<Vec> / chains);
    }
}

template <class Vec, KernelRange range, template <class, KernelRange> class To>
[[gnu::always_inline]] inline void round_group(const RoundingPlan& plan, const PhiloxStream& stream,
                                               std::uint64_t block, const unsigned char* from, unsigned char* to) {
    using Sink = To<Vec, range>;
    constexpr std::size_t step = Vec::lanes;
    typename Vec::Int random[group_registers<Vec>];
    philox_words<Vec>(stream, block, random);
    const auto kept = Vec::set(plan.kept_bits);
    for (std::size_t i = 0; i < group_registers<Vec>; ++i) {
        fetch_ahead<Vec>(from + 4 * step * i);
        fetch_ahead<Vec>(to + Sink::size * step * i);
        const auto x = Vec::load(from + 4 * step * i);
        const auto bits = Vec::bit_and(random[i], kept);
        const auto rounded = round_word<Vec, Rounding::stochastic, range, Sink::is_code>(plan, x, bits);
        Sink::put(plan, to + Sink::size * step * i, rounded);
    }
}

template <class Vec, KernelRange range, template <class, KernelRange> class To>
void round_stochastic(const RoundingPlan& shared_plan, const void* in, void* out, std::size_t count) {
    constexpr std::size_t size = To<Vec, range>::size;
    constexpr std::size_t group = 4 * group_blocks<Vec>;
    const RoundingPlan plan = shared_plan;
    const PhiloxStream stream = philox_stream(plan);
    const auto* from = static_cast<const unsigned char*>(in);
    auto* to = static_cast<unsigned char*>(out);
    std::uint64_t block = plan.block;
    std::size_t skip = plan.skip;  // positions of the first group that lie before the array
    while (count != 0) {
        std::size_t now = count < group - skip ? count : group - skip;
        const std::uint64_t of_upper_half = (std::uint64_t{1} << 32) - (block & 0xFFFFFFFF);  // blocks with this one
        if (of_upper_half < group_blocks<Vec> && now > 4 * of_upper_half - skip) now = 4 * of_upper_half - skip;
        if (now == group) {
            round_group<Vec, range, To>(plan, stream, block, from, to);
        } else {
            unsigned char buffer[4 * group] = {};
            copy_bytes(buffer + 4 * skip, from, 4 * now);
            round_group<Vec, range, To>(plan, stream, block, buffer, buffer);
            copy_bytes(to, buffer + size * skip, size * now);
        }
        from += 4 * now;
        to += size * now;
        count -= now;
        block += (skip + now) / 4;
        skip = 0;
    }
}

}  // namespace
}  // namespace ulp::array
