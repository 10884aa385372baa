// Rounding of fp32 numbers to any format of at most 16 bits by looking up: tables of values, formats without a sign,
// with one digit, of P3109. A deterministic rounding is a step function of the fp32 words; its steps are found by the
// scalar function, once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "softfloat/array/context.hpp"
#include "softfloat/format.hpp"

namespace ulp::array {

class Steps {
  public:
    Steps(const FloatFormat& format, const Context& context);
    /// The storage words of `count` numbers: of one or two bytes, as the format's.
    void encode(const float* from, void* to, std::size_t count) const;
    /// The rounded numbers; `from` and `to` may be the same.
    void round(const float* from, float* to, std::size_t count) const;

  private:
    void fill(const FloatFormat& format, const Context& context, const std::vector<std::uint32_t>& words);
    void make_buckets();
    /// to[i] = result(code of from[i]).
    template <class Result, class To>
    void look_up(const Result& result, const float* from, To* to, std::size_t count) const;

    /// A range of words with at most one step.
    struct Bucket {
        std::uint32_t at = ~0U;    // the word from which on the other result holds
        std::uint16_t results[2];  // before and from it on
    };
    /// Words with the same sign and exponent.
    struct Binade {
        static constexpr std::uint32_t is_crowded = 32;  // more than one step in a bucket: they are searched
        std::uint32_t first_bucket;                      // where word >> shift would be 0
        std::uint32_t shift;                             // of a word, that gives its bucket; or with is_crowded
    };
    bool one_byte_;
    int shift_ = 0;  // the same for all words, where that takes few buckets; else 0
    std::vector<Binade> binades_;
    std::vector<Bucket> buckets_;
    std::vector<std::uint32_t> at_;     // the word from which on a step's result holds
    std::vector<std::uint16_t> codes_;  // results by step, the first before all steps
    std::vector<float> numbers_;        // by code
};

/// Whether there are steps: a format of at most 16 bits without padding and a deterministic rounding.
bool has_steps(const FloatFormat& format, const Context& context);
/// Made at the first call and kept.
std::shared_ptr<const Steps> steps_to(const FloatFormat& format, const Context& context);

/// to[i] = the fp32 number of a storage word of at most 16 bits.
void decode_by_table(const FloatFormat& format, const Context& context, const void* in, float* to, std::size_t count);

}  // namespace ulp::array
