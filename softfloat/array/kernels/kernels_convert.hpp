// Storage words to fp32, and fp32 from and to fp64. See kernels_round.hpp.
#pragma once

#include "softfloat/array/kernels/kernels_round.hpp"

namespace ulp::array {
namespace {

/// The fp32 word of a storage word, with the one quiet NaN.
///
///     fp16, normal:      0 eeeee ffffffffff  ->  0 000eeeee ffffffffff 0000000000000, plus the difference of the
///     biases fp16, subnormal:   0 00000 ffffffffff  ->  the integer f times 2^-24
template <class Vec, KernelRange range>
typename Vec::Int decode_word(const RoundingPlan& plan, typename Vec::Int code) {
    const auto cut = Vec::set(plan.cut);
    if constexpr (range == wide) return Vec::canonical_nan(Vec::shift_left(code, cut));
    const auto magnitude = Vec::bit_and(code, Vec::set(plan.code_magnitude_mask));
    const auto normal = Vec::add(Vec::shift_left(magnitude, cut), Vec::set(plan.code_rebias));
    const auto smallest = Vec::as_float(Vec::set(plan.smallest));
    const auto subnormal = Vec::as_int(Vec::mul(Vec::to_float(magnitude), smallest));
    auto word = Vec::select(Vec::greater(Vec::set(plan.code_hidden), magnitude), subnormal, normal);
    const auto nan = Vec::set(0x7FC00000);
    if constexpr (range == no_negative_zero) {
        const auto shifted = Vec::shift_left(Vec::bit_xor(code, magnitude), Vec::set(plan.code_sign_shift));
        return Vec::select(Vec::equal(code, Vec::set(plan.code_nan)), nan, Vec::bit_or(word, shifted));
    }
    const auto infinite = Vec::equal(magnitude, Vec::set(plan.code_infinity));
    const auto special = Vec::select(infinite, Vec::set(plan.infinity_word), nan);
    word = Vec::select(Vec::greater(magnitude, Vec::set(plan.code_top)), special, word);
    const auto sign = Vec::shift_left(Vec::bit_xor(code, magnitude), Vec::set(plan.code_sign_shift));
    return Vec::canonical_nan(Vec::bit_or(word, sign));
}

/// Elements of Map::from_size bytes through Map::apply to elements of Map::to_size bytes.
template <class Vec, class Map>
void map_array(const RoundingPlan& shared_plan, const void* in, void* out, std::size_t count) {
    const RoundingPlan plan = shared_plan;
    const auto* from = static_cast<const unsigned char*>(in);
    auto* to = static_cast<unsigned char*>(out);
    constexpr std::size_t step = Vec::lanes;
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

template <class Vec, KernelRange range>
struct Decode16 {
    static constexpr std::size_t from_size = 2;
    static constexpr std::size_t to_size = 4;
    static void apply(const RoundingPlan& plan, const void* in, void* out) {
        Vec::store(out, decode_word<Vec, range>(plan, Vec::load16(in)));
    }
};
template <class Vec, KernelRange range>
struct Decode8 {
    static constexpr std::size_t from_size = 1;
    static constexpr std::size_t to_size = 4;
    static void apply(const RoundingPlan& plan, const void* in, void* out) {
        Vec::store(out, decode_word<Vec, range>(plan, Vec::load8(in)));
    }
};
/// An operand's word, zero where its magnitude is below plan.operand_below.
template <class Vec>
typename Vec::Int flush_operand(const RoundingPlan& plan, typename Vec::Int x) {
    const auto magnitude = Vec::bit_and(x, Vec::set(~sign_bit<Vec>));
    const auto tiny = Vec::greater(Vec::set(plan.operand_below), magnitude);
    return Vec::select(tiny, Vec::bit_and(x, Vec::set(plan.operand_sign)), x);
}
template <class Vec>
struct FlushOperand {
    static constexpr std::size_t from_size = 4;
    static constexpr std::size_t to_size = 4;
    static void apply(const RoundingPlan& plan, const void* in, void* out) {
        Vec::store(out, flush_operand<Vec>(plan, Vec::load(in)));
    }
};
/// Storage words of `size` bytes of fp16, bf16, fp32 or tf32: those below `smallest`, the word of
/// the smallest normal number, become zeros. Whether one is `smallest` itself, of either sign.
template <class Vec, std::size_t size>
class FlushedWords {
    using Int = typename Vec::Int;

  public:
    static constexpr std::size_t step = sizeof(Int);  // bytes at once
    explicit FlushedWords(std::uint32_t smallest) : smallest_(Vec::set(size == 2 ? smallest * 0x10001 : smallest)) {}
    void flush(const void* from, void* to) {
        const auto x = Vec::load(from);
        const auto above = difference(Vec::and_not(x, signs_), smallest_);  // negative where x becomes a zero
        at_edge_ = Vec::bit_or(at_edge_, Vec::and_not(difference(above, ones_), above));
        Vec::store(to, Vec::and_not(x, Vec::and_not(spread(above), signs_)));
    }
    [[nodiscard]] bool any_at_edge() const {
        return Vec::any(Vec::greater_unsigned(Vec::bit_and(at_edge_, signs_), Vec::set(0)));
    }

  private:
    static Int difference(Int a, Int b) { return size == 2 ? Vec::sub_words(a, b) : Vec::sub(a, b); }
    /// All bits of a word its sign bit.
    Int spread(Int x) const {
        if constexpr (size == 4) return Vec::all_sign(x);
        const auto negative = Vec::bit_and(Vec::template shift_right<15>(x), ones_);
        return Vec::sub(Vec::template shift_left<16>(negative), negative);
    }
    Int smallest_;
    Int signs_ = Vec::set(size == 2 ? 0x80008000 : sign_bit<Vec>);
    Int ones_ = Vec::set(size == 2 ? 0x00010001 : 1);
    Int at_edge_ = Vec::set(0);  // the sign of a word: one was `smallest`
};
template <class Vec, std::size_t size>
bool flush_words(std::uint32_t smallest, const void* in, void* out, std::size_t count) {
    const auto* from = static_cast<const unsigned char*>(in);
    auto* to = static_cast<unsigned char*>(out);
    FlushedWords<Vec, size> words(smallest);
    constexpr std::size_t step = FlushedWords<Vec, size>::step;
    std::size_t bytes = size * count;
    for (; bytes >= step; bytes -= step, from += step, to += step) words.flush(from, to);
    if (bytes != 0) {
        unsigned char rest[step] = {};
        copy_bytes(rest, from, bytes);
        words.flush(rest, rest);
        copy_bytes(to, rest, bytes);
    }
    return words.any_at_edge();
}
/// An fp32 word on fp16's grid, to nearest even without options: the processor's conversion there and back.
template <class Vec>
struct ThroughHalf {
    static constexpr std::size_t from_size = 4;
    static constexpr std::size_t to_size = 4;
    static void apply(const RoundingPlan&, const void* in, void* out) {
        fetch_ahead<Vec>(static_cast<const unsigned char*>(in));
        const auto rounded = Vec::round_to_fp16(Vec::as_float(Vec::load(in)));
        Vec::store(out, Vec::canonical_nan(Vec::as_int(rounded)));
    }
};
template <class Vec>
struct Widen {
    static constexpr std::size_t from_size = 4;
    static constexpr std::size_t to_size = 8;
    static void apply(const RoundingPlan&, const void* in, void* out) {
        auto* bytes = static_cast<unsigned char*>(out);
        const auto x = Vec::canonical_nan(Vec::load(in));
        Vec::store(bytes, Vec::widen_low(x));
        Vec::store(bytes + 4 * Vec::lanes, Vec::widen_high(x));
    }
};
template <class Vec>
struct NarrowOdd {
    static constexpr std::size_t from_size = 8;
    static constexpr std::size_t to_size = 4;
    static void apply(const RoundingPlan&, const void* in, void* out) {
        const auto* bytes = static_cast<const unsigned char*>(in);
        const auto high = Vec::load_double(bytes + 4 * Vec::lanes);
        Vec::store(out, Vec::canonical_nan(Vec::narrow_odd(Vec::load_double(bytes), high)));
    }
};

}  // namespace
}  // namespace ulp::array
