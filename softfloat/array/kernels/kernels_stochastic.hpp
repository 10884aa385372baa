// Stochastic rounding: registers of Philox words for registers of fp32 words. See kernels_round.hpp.
#pragma once

#include "softfloat/array/kernels/kernels_round.hpp"

namespace ulp::array {
namespace {

constexpr std::uint64_t philox_factors[2] = {0xD2511F53, 0xCD9E8D57};

/// Four words of each lane of 64 bits, in the lower half; what is above does not matter, for products are of lower
/// halves.
template <class Wide>
struct PhiloxWords {
    typename Wide::Int c0, c1, c2, c3;
};
template <class Wide>
void philox_round(PhiloxWords<Wide>& c, std::uint64_t key0, std::uint64_t key1) {
    const auto p0 = Wide::mul_lower(c.c0, Wide::set(philox_factors[0]));
    const auto p1 = Wide::mul_lower(c.c2, Wide::set(philox_factors[1]));
    c.c0 = Wide::xor3(Wide::upper(p1), c.c1, Wide::set(key0));
    c.c1 = p1;
    c.c2 = Wide::xor3(Wide::upper(p0), c.c3, Wide::set(key1));
    c.c3 = p0;
}

/// The words in order.
template <class Vec>
void last_philox_round(const PhiloxWords<typename Vec::Wide>& c, std::uint64_t key0, std::uint64_t key1,
                       typename Vec::Int* words) {
    using Wide = typename Vec::Wide;
    const auto p0 = Wide::mul_lower(c.c0, Wide::set(philox_factors[0]));
    const auto p1 = Wide::mul_lower(c.c2, Wide::set(philox_factors[1]));
    Wide::in_order(Wide::word_pair(p1, c.c1, Wide::set(key0)), Wide::word_pair(p0, c.c3, Wide::set(key1)), words);
}

/// Consecutive Philox blocks, as many at once as `registers` of 64-bit lanes hold (softfloat/support/philox.hpp is the
/// plain definition). All numbers of the blocks have one upper half. With that, half of the first two rounds is the
/// same for all blocks, and the product of a number is that of the one before plus the factor.
template <class Vec, int registers>
class PhiloxBlocks {
  public:
    using Wide = typename Vec::Wide;
    static constexpr std::size_t group = std::size_t{4} * registers * Wide::lanes;

    /// From block `first` on.
    template <class Plan>
    PhiloxBlocks(const Plan& plan, std::uint64_t first) {
        std::uint32_t key0 = plan.key[0];
        std::uint32_t key1 = plan.key[1];
        for (auto& key : keys_) {
            key[0] = key0;
            key[1] = key1;
            key0 += 0x9E3779B9;
            key1 += 0xBB67AE85;
        }
        const auto low = [](std::uint64_t x) { return x & 0xFFFFFFFF; };
        const std::uint64_t p1 = plan.stream[0] * philox_factors[1];
        const std::uint64_t p0 = low(p1 >> 32 ^ first >> 32 ^ keys_[0][0]) * philox_factors[0];
        keys_[0][1] ^= plan.stream[1];
        keys_[1][0] ^= low(p1);
        keys_[1][1] ^= p0 >> 32;
        keys_[2][1] ^= low(p0);
        products_ = Wide::mul_lower(Wide::block_numbers(low(first)), Wide::set(philox_factors[0]));
    }
    /// The words of the next blocks, in order.
    void next(typename Vec::Int* words) {
        PhiloxWords<Wide> c[registers];
        for (auto& each : c) {
            const auto c2 = Wide::bit_xor(Wide::upper(products_), Wide::set(keys_[0][1]));
            const auto p1 = Wide::mul_lower(c2, Wide::set(philox_factors[1]));
            each = {Wide::bit_xor(Wide::upper(p1), Wide::set(keys_[1][0])), p1,
                    Wide::bit_xor(products_, Wide::set(keys_[1][1])), Wide::set(0)};
            products_ = Wide::add(products_, Wide::set(Wide::lanes * philox_factors[0]));
        }
        for (int round = 2; round < last; ++round) {
            for (auto& each : c) philox_round<Wide>(each, keys_[round][0], keys_[round][1]);
        }
        for (int chain = 0; chain < registers; ++chain) {
            last_philox_round<Vec>(c[chain], keys_[last][0], keys_[last][1], words + 2 * chain);
        }
    }

  private:
    static constexpr int rounds = 10;
    static constexpr int last = rounds - 1;
    std::uint64_t keys_[rounds][2];  // those of the first rounds with what else is the same for all blocks
    typename Wide::Int products_;    // of the numbers of the next register's blocks
};

/// Each round of Philox waits for the multiplication of the one before: several chains fill the time, as many as 32 or
/// 16 registers hold.
template <class Kit>
using GroupBlocks = PhiloxBlocks<Kit, (Kit::lanes >= 16 ? 6 : 4)>;

/// One register's elements from the random words, the upper bits of each lane.
template <class Vec, KernelRange range, template <class, KernelRange> class To>
struct AnyWords {
    PlanOf<Vec> plan;
    void round(typename Vec::Int random, const unsigned char* from, unsigned char* to) const {
        using Sink = To<Vec, range>;
        fetch_ahead<Vec>(from);
        fetch_ahead<Vec>(to);
        Sink::put(plan, to, round_word<Vec, Rounding::stochastic, range, Sink::is_code>(plan, Vec::load(from), random));
    }
};

/// The same on the grid of a narrow format, quickly where all words are normal numbers of it and do not overflow: as
/// many bits are dropped of each then.
template <class Vec>
class NormalWords {
    using Int = typename Vec::Int;

  public:
    /// Registers full of such words are rare in formats with few exponents.
    static bool pay(const PlanOf<Vec>& plan) { return plan.largest - plan.code_smallest_normal > 20 * hidden_bit<Vec>; }
    explicit NormalWords(const PlanOf<Vec>& plan) : plan_(plan) {}
    [[gnu::always_inline]] void round(Int random, const unsigned char* from, unsigned char* to) const {
        const auto x = Vec::load(from);
        const auto twice = Vec::add(x, x);  // the sign falls off
        if (__builtin_expect(Vec::any(Vec::greater_unsigned(Vec::sub(twice, first_), span_)), 0)) {
            return round_any(plan_, random, from, to);
        }
        fetch_ahead<Vec>(from);
        fetch_ahead<Vec>(to);
        Vec::store(to, Vec::and_not(Vec::add(x, Vec::shift_right(random, unused_)), dropped_));
    }

  private:
    [[gnu::noinline]] static void round_any(const PlanOf<Vec>& plan, Int random, const unsigned char* from,
                                            unsigned char* to) {
        AnyWords<Vec, narrow, ToContainer>{plan}.round(random, from, to);
    }
    const PlanOf<Vec>& plan_;
    Int first_ = Vec::set(2 * plan_.code_smallest_normal);
    Int span_ = Vec::set(2 * (plan_.largest - plan_.code_smallest_normal));
    Int unused_ = Vec::set(word_bits<Vec> - plan_.cut);  // bits of a random number
    Int dropped_ = Vec::set((typename Vec::Word{1} << plan_.cut) - 1);
};

template <class Vec, std::size_t size, class Words>
[[gnu::always_inline]] inline void round_group(const Words& rounding, typename Vec::Kit::Int kept,
                                               GroupBlocks<typename Vec::Kit>& blocks, const unsigned char* from,
                                               unsigned char* to) {
    using Kit = typename Vec::Kit;
    constexpr std::size_t in_step = sizeof(typename Vec::Word) * Vec::lanes;
    constexpr std::size_t out_step = size * Vec::lanes;
    constexpr std::size_t registers = GroupBlocks<Kit>::group / Kit::lanes;
    typename Kit::Int words[registers];
    blocks.next(words);
    for (std::size_t i = 0; i < registers; ++i) {
        const auto random = Kit::bit_and(words[i], kept);
        if constexpr (word_bits<Vec> == 32) {
            rounding.round(random, from + in_step * i, to + out_step * i);
        } else {
            const std::size_t at = 2 * i;
            rounding.round(Vec::template from_words<0>(random), from + in_step * at, to + out_step * at);
            rounding.round(Vec::template from_words<1>(random), from + in_step * (at + 1), to + out_step * (at + 1));
        }
    }
}

/// `size`: bytes of an element of `out`.
template <class Vec, std::size_t size, class Words>
void round_groups(const PlanOf<Vec>& plan, Words rounding, const void* in, void* out, std::size_t count) {
    constexpr std::size_t bytes = sizeof(typename Vec::Word);
    using Blocks = GroupBlocks<typename Vec::Kit>;
    constexpr std::size_t group = Blocks::group;
    const auto kept = Vec::Kit::set(plan.kept_bits);
    const auto* from = static_cast<const unsigned char*>(in);
    auto* to = static_cast<unsigned char*>(out);
    std::uint64_t block = plan.block;
    Blocks blocks(plan, block);
    std::size_t skip = plan.skip;  // positions of the first group that lie before the array
    while (count != 0) {
        std::size_t now = count < group - skip ? count : group - skip;
        const std::uint64_t of_upper_half = (std::uint64_t{1} << 32) - (block & 0xFFFFFFFF);  // blocks with this one
        if (of_upper_half < group / 4 && now > 4 * of_upper_half - skip) now = 4 * of_upper_half - skip;
        if (now == group) {
            round_group<Vec, size>(rounding, kept, blocks, from, to);
        } else {
            unsigned char buffer[bytes * group] = {};
            copy_bytes(buffer + bytes * skip, from, bytes * now);
            round_group<Vec, size>(rounding, kept, blocks, buffer, buffer);
            copy_bytes(to, buffer + size * skip, size * now);
        }
        from += bytes * now;
        to += size * now;
        count -= now;
        block += (skip + now) / 4;
        skip = 0;
        if ((block & 0xFFFFFFFF) == 0) blocks = Blocks(plan, block);
    }
}

template <class Vec, KernelRange range, template <class, KernelRange> class To>
void round_stochastic(const PlanOf<Vec>& plan, const void* in, void* out, std::size_t count) {
    using Sink = To<Vec, range>;
    if constexpr (range == narrow && !Sink::is_code && word_bits<Vec> == 32) {
        if (NormalWords<Vec>::pay(plan))
            return round_groups<Vec, Sink::size>(plan, NormalWords<Vec>(plan), in, out, count);
    }
    round_groups<Vec, Sink::size>(plan, AnyWords<Vec, range, To>{plan}, in, out, count);
}

}  // namespace
}  // namespace ulp::array
