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

/// fp32 words in the order of their numbers, NaNs at both ends.
constexpr std::uint32_t place_of(std::uint32_t word) { return word ^ (word >> 31 != 0 ? ~0U : 0x80000000U); }
constexpr std::uint32_t word_at_place(std::uint32_t place) { return place ^ (place >> 31 != 0 ? 0x80000000U : ~0U); }
std::uint32_t place_of_number(float x) { return place_of(std::bit_cast<std::uint32_t>(x)); }

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

/// The places between which the result changes at most once: the format's numbers, and where what is flushed or no
/// number begins.
std::vector<std::uint32_t> places_of(const FloatFormat& format) {
    const float infinity = std::bit_cast<float>(0x7F800000U);
    std::vector<std::uint32_t> places = {0, ~0U};
    const auto add = [&](float x) {
        const std::uint32_t place = place_of_number(x);
        for (const std::uint32_t beside : {place - 1, place, place + 1}) places.push_back(beside);
    };
    for (const float x : {0.0F, 0x1p-126F, 0x1.FFFFFEp127F, infinity}) add(x), add(-x);
    for (std::uint64_t code = 0; code >> format.storage_bits() == 0; ++code) {
        Context toward_zero{.rounding = Rounding::toward_zero};
        const std::uint64_t word = convert_bits(formats::fp32, format, code, toward_zero);
        if (!is_nan(formats::fp32, word)) places.push_back(place_of(static_cast<std::uint32_t>(word)));
    }
    std::ranges::sort(places);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    return places;
}

}  // namespace

Steps::Steps(const FloatFormat& format, const Context& context) : one_byte_(bytes_of(format) == 1) {
    fill(format, context, places_of(format));
    // Buckets as large as leaves two steps in each; at most 2^18.
    const auto most_in_bucket = [&](int shift) {
        std::size_t most = 0;
        for (std::size_t i = 0, j = 0; i < at_.size(); i = j) {
            while (j < at_.size() && at_[j] >> shift == at_[i] >> shift) ++j;
            most = std::max(most, j - i);
        }
        return static_cast<int>(most);
    };
    for (shift_ = 22; shift_ > 14 && (steps_ = most_in_bucket(shift_)) > 2; --shift_) {
    }
    steps_ = most_in_bucket(shift_);
    first_.resize(std::size_t{1} << (32 - shift_));
    for (std::size_t bucket = 0, i = 0; bucket < first_.size(); ++bucket) {
        while (i < at_.size() && at_[i] >> shift_ < bucket) ++i;
        first_[bucket] = static_cast<std::uint32_t>(i);
    }
    // A look-up compares with up to steps_ steps behind the last one.
    const auto more = static_cast<std::size_t>(std::max(steps_, 2));
    at_.insert(at_.end(), more, ~0U);
    const auto extend = [&](auto& results) {
        if (!results.empty()) results.insert(results.end(), more, results.back());
    };
    extend(bytes_), extend(words_), extend(numbers_);
}

void Steps::fill(const FloatFormat& format, const Context& context, const std::vector<std::uint32_t>& places) {
    const auto code_at = [&](std::uint32_t place) {
        Context scalar = context;
        return convert_bits(format, formats::fp32, word_at_place(place), scalar);
    };
    const auto add = [&](std::uint64_t code) {
        Context exact;
        const std::uint64_t word = convert_bits(formats::fp32, format, code, exact);
        numbers_.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(word)));
        if (one_byte_) bytes_.push_back(static_cast<std::uint8_t>(code));
        if (!one_byte_) words_.push_back(static_cast<std::uint16_t>(code));
    };
    std::uint64_t code = code_at(places.front());
    add(code);
    for (std::size_t i = 1; i < places.size(); ++i) {
        const std::uint64_t next = code_at(places[i]);
        if (next == code) continue;
        std::uint32_t before = places[i - 1], after = places[i];
        while (after - before > 1) {
            const std::uint32_t middle = before + (after - before) / 2;
            (code_at(middle) == code ? before : after) = middle;
        }
        at_.push_back(after);
        add(next);
        code = next;
    }
}

template <class To>
void Steps::look_up(const std::vector<To>& results, const float* from, To* to, std::size_t count) const {
    const std::uint32_t* const first = first_.data();
    const std::uint32_t* const at = at_.data();
    const To* const result = results.data();
    const int shift = shift_, steps = steps_;
    const auto place_at = [&](std::size_t i) { return place_of_number(from[i]); };
    if (steps <= 2) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t place = place_at(i);
            std::uint32_t step = first[place >> shift];
            step += place >= at[step] ? 1 : 0;
            step += place >= at[step] ? 1 : 0;
            to[i] = result[step];
        }
        return;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t place = place_at(i);
        const std::uint32_t* const begin = at + first[place >> shift];
        int length = steps;
        std::uint32_t passed = 0;
        while (length > 0) {  // in the same number of turns for every element
            const int half = (length + 1) / 2;
            passed +=
                place >= begin[passed + static_cast<std::uint32_t>(half) - 1] ? static_cast<std::uint32_t>(half) : 0;
            length -= half;
        }
        to[i] = result[first[place >> shift] + passed];
    }
}

void Steps::encode(const float* from, void* to, std::size_t count) const {
    one_byte_ ? look_up(bytes_, from, static_cast<std::uint8_t*>(to), count)
              : look_up(words_, from, static_cast<std::uint16_t*>(to), count);
}

void Steps::round(const float* from, float* to, std::size_t count) const { look_up(numbers_, from, to, count); }

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
