// Storage words to fp32, and fp32 from and to fp64. See kernels_round.hpp.
#pragma once

#include "softfloat/array/kernels/kernels_round.hpp"

namespace ulp::array {
namespace {

/// The fp32 word of a storage word, with the one quiet NaN.
///
///     fp16, normal:      0 eeeee ffffffffff  ->  0 000eeeee ffffffffff 0000000000000, plus the difference of the
///     biases fp16, subnormal:   0 00000 ffffffffff  ->  the integer f times 2^-24
template <class Lanes, Shape shape>
typename Lanes::Word decode_word(const RoundingPlan& plan, typename Lanes::Word code) {
    const auto cut = Lanes::set(plan.cut);
    if constexpr (shape == wide) return Lanes::canonical_nan(Lanes::shift_left(code, cut));
    const auto magnitude = Lanes::both(code, Lanes::set(plan.code_magnitude_mask));
    const auto normal = Lanes::add(Lanes::shift_left(magnitude, cut), Lanes::set(plan.code_rebias));
    const auto smallest = Lanes::single_of(Lanes::set(plan.smallest));
    const auto subnormal = Lanes::word_of(Lanes::Single::multiply(Lanes::from_integer(magnitude), smallest));
    auto word = Lanes::select(Lanes::greater_signed(Lanes::set(plan.code_hidden), magnitude), subnormal, normal);
    const auto nan = Lanes::set(0x7FC00000);
    if constexpr (shape == no_negative_zero) {
        const auto shifted = Lanes::shift_left(Lanes::differ(code, magnitude), Lanes::set(plan.code_sign_shift));
        return Lanes::select(Lanes::equal(code, Lanes::set(plan.code_nan)), nan, Lanes::either(word, shifted));
    }
    const auto infinite = Lanes::equal(magnitude, Lanes::set(plan.code_infinity));
    const auto special = Lanes::select(infinite, Lanes::set(plan.infinity_word), nan);
    word = Lanes::select(Lanes::greater_signed(magnitude, Lanes::set(plan.code_top)), special, word);
    const auto sign = Lanes::shift_left(Lanes::differ(code, magnitude), Lanes::set(plan.code_sign_shift));
    return Lanes::canonical_nan(Lanes::either(word, sign));
}

/// Elements of Map::from_size bytes through Map::apply to elements of Map::to_size bytes.
template <class Lanes, class Map>
void map_array(const RoundingPlan& shared_plan, const void* in, void* out, std::size_t count) {
    const RoundingPlan plan = shared_plan;
    const auto* from = static_cast<const unsigned char*>(in);
    auto* to = static_cast<unsigned char*>(out);
    constexpr std::size_t step = Lanes::width;
    for (; count >= step; count -= step, from += Map::from_size * step, to += Map::to_size * step) {
        Map::apply(plan, from, to);
    }
    if (count == 0) return;
    unsigned char source[Map::from_size * step] = {};
    unsigned char target[Map::to_size * step];
    copy_bytes(source, from, Map::from_size * count);
    Map::apply(plan, source, target);
    copy_bytes(to, target, Map::to_size * count);
}

template <class Lanes, Shape shape>
struct Decode16 {
    static constexpr std::size_t from_size = 2;
    static constexpr std::size_t to_size = 4;
    static void apply(const RoundingPlan& plan, const void* in, void* out) {
        Lanes::store(out, decode_word<Lanes, shape>(plan, Lanes::load16(in)));
    }
};
template <class Lanes, Shape shape>
struct Decode8 {
    static constexpr std::size_t from_size = 1;
    static constexpr std::size_t to_size = 4;
    static void apply(const RoundingPlan& plan, const void* in, void* out) {
        Lanes::store(out, decode_word<Lanes, shape>(plan, Lanes::load8(in)));
    }
};
template <class Lanes>
struct Narrow {
    static constexpr std::size_t from_size = 8;
    static constexpr std::size_t to_size = 4;
    static void apply(const RoundingPlan&, const void* in, void* out) { Lanes::store(out, Lanes::load_narrow_odd(in)); }
};
template <class Lanes>
struct Widen {
    static constexpr std::size_t from_size = 4;
    static constexpr std::size_t to_size = 8;
    static void apply(const RoundingPlan&, const void* in, void* out) {
        Lanes::store_widened(out, Lanes::canonical_nan(Lanes::load(in)));
    }
};

}  // namespace
}  // namespace ulp::array
