#include "softfloat/array/steps.hpp"

#include <algorithm>
#include <bit>
#include <list>
#include <mutex>

#include "softfloat/array/stages.hpp"
#include "softfloat/array/words.hpp"
#include "softfloat/round.hpp"

namespace ulp::array {
namespace {

/// What one element is made of, for each format and context: kept while they are among the last 32.
template <class Value>
struct Kept {
    FloatFormat format;
    Context context;
    std::shared_ptr<const Value> value;
};
template <class Value>
std::shared_ptr<const Value> kept(const FloatFormat& format, const Context& context, const auto& make) {
    static std::mutex mutex;
    static std::list<Kept<Value>> all;
    Context how = context;
    how.first = how.stream = how.seed = how.flags = 0;
    static thread_local Kept<Value> last;
    if (last.value && last.format == format && last.context == how) return last.value;
    const std::lock_guard lock(mutex);
    auto found =
        std::ranges::find_if(all, [&](const auto& each) { return each.format == format && each.context == how; });
    if (found == all.end()) {
        if (all.size() == 32) all.pop_back();
        found = all.insert(all.begin(), {format, how, std::make_shared<const Value>(make(how))});
    }
    last = *found;
    return last.value;
}

/// The fp32 words between which the result changes at most once: the format's numbers, and where what is flushed or no
/// number begins.
std::vector<std::uint32_t> words_between_steps(const FloatFormat& format) {
    const float infinity = std::bit_cast<float>(0x7F800000U);
    std::vector<std::uint32_t> words = {0, ~0U};
    const auto add = [&](float x) {
        const auto word = std::bit_cast<std::uint32_t>(x);
        for (const std::uint32_t beside : {word - 1, word, word + 1}) words.push_back(beside);
    };
    for (const float x : {0.0F, 0x1p-126F, 0x1.FFFFFEp127F, infinity}) add(x), add(-x);
    for (std::uint64_t code = 0; code >> format.storage_bits() == 0; ++code) {
        Context toward_zero{.rounding = Rounding::toward_zero};
        const std::uint64_t word = convert_bits(formats::fp32, format, code, toward_zero);
        if (!is_nan(formats::fp32, word)) words.push_back(static_cast<std::uint32_t>(word));
    }
    std::ranges::sort(words);
    words.erase(std::unique(words.begin(), words.end()), words.end());
    return words;
}

}  // namespace

Steps::Steps(const FloatFormat& format, const Context& context)
    : one_byte_(bytes_of(format) == 1), numbers_(std::size_t{1} << format.storage_bits()) {
    fill(format, context, words_between_steps(format));
    make_buckets();
}

void Steps::make_buckets() {
    // A step at the first word of a bucket lies before it.
    const auto is_crowded = [&](std::size_t begin, std::size_t end, int shift) {
        for (std::size_t i = begin; i + 1 < end; ++i) {
            if ((at_[i] - 1) >> shift == at_[i + 1] >> shift) return true;
        }
        return false;
    };
    const auto add = [&](std::size_t begin, std::size_t end, std::uint32_t first, std::uint64_t words, int shift) {
        std::size_t i = begin;
        for (std::uint64_t bucket = 0; bucket < words >> shift; ++bucket) {
            while (i < end && at_[i] - first <= bucket << shift) ++i;
            const bool inside = i < end && (at_[i] - first) >> shift == bucket;
            // The last word of all, a NaN, reaches the end of a bucket without a step.
            buckets_.push_back({inside ? at_[i] : ~0U, {codes_[i], codes_[inside ? i + 1 : i]}});
        }
    };
    for (shift_ = 22; shift_ > 12 && is_crowded(0, at_.size(), shift_); --shift_) {
    }
    if (!is_crowded(0, at_.size(), shift_)) return add(0, at_.size(), 0, std::uint64_t{1} << 32, shift_);
    shift_ = 0;
    for (std::uint32_t binade = 0, begin = 0, end = 0; binade < 512; ++binade, begin = end) {
        while (end < at_.size() && at_[end] >> 23 == binade) ++end;
        int shift = 22;
        while (shift > 7 && is_crowded(begin, end, shift)) --shift;
        const bool crowded = is_crowded(begin, end, shift);
        if (crowded) shift = 22;
        const auto first_bucket = static_cast<std::uint32_t>(buckets_.size()) - (binade << 23 >> shift);
        binades_.push_back({first_bucket, static_cast<std::uint32_t>(shift) | (crowded ? Binade::is_crowded : 0)});
        add(begin, end, binade << 23, std::uint64_t{1} << 23, shift);
    }
}

void Steps::fill(const FloatFormat& format, const Context& context, const std::vector<std::uint32_t>& words) {
    const auto code_at = [&](std::uint32_t word) {
        Context scalar = context;
        return convert_bits(format, formats::fp32, word, scalar);
    };
    const auto add = [&](std::uint64_t code) {
        Context exact;
        const std::uint64_t word = convert_bits(formats::fp32, format, code, exact);
        numbers_[code] = std::bit_cast<float>(static_cast<std::uint32_t>(word));
        codes_.push_back(static_cast<std::uint16_t>(code));
    };
    std::uint64_t code = code_at(words.front());
    add(code);
    for (std::size_t i = 1; i < words.size(); ++i) {
        const std::uint64_t next = code_at(words[i]);
        if (next == code) continue;
        std::uint32_t before = words[i - 1], after = words[i];
        // Most steps lie in the middle of their neighbours.
        const float middle_number = std::bit_cast<float>(before) / 2 + std::bit_cast<float>(after) / 2;
        const auto middle_word = std::bit_cast<std::uint32_t>(middle_number);
        for (std::uint32_t guess = middle_word - 1; guess != middle_word + 2; ++guess) {
            if (guess > before && guess < after) (code_at(guess) == code ? before : after) = guess;
        }
        while (after - before > 1) {
            const std::uint32_t middle = before + (after - before) / 2;
            (code_at(middle) == code ? before : after) = middle;
        }
        at_.push_back(after);
        add(next);
        code = next;
    }
}

template <class Result, class To>
void Steps::look_up(const Result& result, const float* from, To* to, std::size_t count) const {
    const auto put = [&result, to, buckets = buckets_.data()](std::size_t i, std::uint32_t word, std::uint32_t number) {
        const Bucket& bucket = buckets[number];
        to[i] = static_cast<To>(result(bucket.results[word >= bucket.at ? 1 : 0]));
    };
    const int shift = shift_;
    for (std::size_t i = 0; shift != 0 && i < count; ++i) {
        const auto word = std::bit_cast<std::uint32_t>(from[i]);
        put(i, word, word >> shift);
    }
    for (std::size_t i = 0; shift == 0 && i < count; ++i) {
        const auto word = std::bit_cast<std::uint32_t>(from[i]);
        const Binade binade = binades_[word >> 23];
        if ((binade.shift & Binade::is_crowded) != 0) [[unlikely]] {
            const auto step = std::ranges::upper_bound(at_, word) - at_.begin();
            to[i] = static_cast<To>(result(codes_[static_cast<std::size_t>(step)]));
        } else {
            put(i, word, binade.first_bucket + (word >> binade.shift));
        }
    }
}

void Steps::encode(const float* from, void* to, std::size_t count) const {
    const auto same = [](std::uint16_t code) { return code; };
    one_byte_ ? look_up(same, from, static_cast<std::uint8_t*>(to), count)
              : look_up(same, from, static_cast<std::uint16_t*>(to), count);
}

void Steps::round(const float* from, float* to, std::size_t count) const {
    look_up([numbers = numbers_.data()](std::uint16_t code) { return numbers[code]; }, from, to, count);
}

bool has_steps(const FloatFormat& format, const Context& context) {
    return format.storage_bits() <= 16 && format.padding_bits == 0 && !is_stochastic(context.rounding);
}

std::shared_ptr<const Steps> steps_to(const FloatFormat& format, const Context& context) {
    return kept<Steps>(format, context, [&](const Context& how) { return Steps(format, how); });
}

void decode_by_table(const FloatFormat& format, const Context& context, const void* in, float* to, std::size_t count) {
    const std::size_t bytes = bytes_of(format);
    const auto table = kept<std::vector<float>>(format, context, [&](const Context& how) {
        std::vector<float> numbers(std::size_t{1} << (8 * bytes));
        for (std::size_t word = 0; word < numbers.size(); ++word) {
            Context scalar = how;
            const std::uint64_t number = convert_bits(formats::fp32, format, word, scalar);
            numbers[word] = std::bit_cast<float>(static_cast<std::uint32_t>(number));
        }
        return numbers;
    });
    for (std::size_t i = 0; i < count; ++i) to[i] = (*table)[load_word(in, bytes, i)];
}

}  // namespace ulp::array
