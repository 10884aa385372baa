// One lane: the operations that the kernels are written in, for any processor. See lanes_avx512.hpp for the wide ones.
#pragma once

#include <cstdint>
#include <cstring>

namespace ulp::array {
namespace {

struct Portable {
    using Word = std::uint32_t;
    using Mask = bool;
    static constexpr int width = 1;

    static Word load(const void* p) {
        Word x;
        std::memcpy(&x, p, sizeof x);
        return x;
    }
    static void store(void* p, Word x) { std::memcpy(p, &x, sizeof x); }
    static void store16(void* p, Word x) {
        const auto low = static_cast<std::uint16_t>(x);
        std::memcpy(p, &low, sizeof low);
    }
    static void store8(void* p, Word x) {
        const auto low = static_cast<std::uint8_t>(x);
        std::memcpy(p, &low, sizeof low);
    }
    static Word load16(const void* p) {
        std::uint16_t x;
        std::memcpy(&x, p, sizeof x);
        return x;
    }
    static Word load8(const void* p) {
        std::uint8_t x;
        std::memcpy(&x, p, sizeof x);
        return x;
    }
    static Word set(std::uint32_t x) { return x; }

    static Word both(Word a, Word b) { return a & b; }
    static Word either(Word a, Word b) { return a | b; }
    static Word differ(Word a, Word b) { return a ^ b; }
    static Word without(Word a, Word b) { return a & ~b; }
    static Word add(Word a, Word b) { return a + b; }
    static Word subtract(Word a, Word b) { return a - b; }
    /// A distance of 32 or more, or below 0, gives 0.
    static Word shift_left(Word a, Word distance) { return distance < 32 ? a << distance : 0; }
    static Word shift_right(Word a, Word distance) { return distance < 32 ? a >> distance : 0; }
    static Word all_sign(Word a) { return static_cast<Word>(static_cast<std::int32_t>(a) >> 31); }
    static Word max_signed(Word a, Word b) {
        return static_cast<std::int32_t>(a) > static_cast<std::int32_t>(b) ? a : b;
    }

    static Mask greater_signed(Word a, Word b) { return static_cast<std::int32_t>(a) > static_cast<std::int32_t>(b); }
    static Mask greater_unsigned(Word a, Word b) { return a > b; }
    static Mask equal(Word a, Word b) { return a == b; }
    static Word select(Mask mask, Word yes, Word no) { return mask ? yes : no; }
    static Word where(Mask mask, Word yes) { return mask ? yes : 0; }
    static bool any(Mask mask) { return mask; }

    struct Product {
        Word high;
        Word low;
    };
    static Product multiply(Word a, std::uint32_t b) {
        const std::uint64_t product = std::uint64_t{a} * b;
        return {static_cast<Word>(product >> 32), static_cast<Word>(product)};
    }
    /// The number of the Philox block that each lane computes, for words that come out of `in_order` in order.
    static Word block_offsets() { return 0; }
    static void in_order(Word&, Word&, Word&, Word&) {}
};

}  // namespace
}  // namespace ulp::array
