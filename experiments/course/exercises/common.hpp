// What the exercises' files share: words as numbers, and random questions.
#pragma once

#include <algorithm>
#include <bit>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/tensor/random.hpp"
#include "experiments/course/exercise.hpp"
#include "softfloat/arithmetic.hpp"
#include "softfloat/round.hpp"

namespace ulp::course {

inline float single(Word word) { return std::bit_cast<float>(word); }
inline Word bits(float value) { return std::bit_cast<Word>(value); }

/// A single rounded to a half and back, as words.
inline Word half_of(Word value, Context context = {}) {
    return static_cast<Word>(convert_bits(formats::fp16, formats::fp32, value, context));
}
inline Word widened(Word half) {
    Context exact;
    return static_cast<Word>(convert_bits(formats::fp32, formats::fp16, half, exact));
}
/// A single on the grid of halves, rounded to nearest even.
inline float on_half_grid(float value) { return single(widened(half_of(bits(value)))); }

inline bool is_nan_half(Word half) { return is_nan(formats::fp16, half); }
inline bool is_subnormal_half(Word half) { return (half & 0x7C00) == 0 && (half & 0x3FF) != 0; }
/// A subnormal half becomes a zero of its sign.
inline Word flushed_half(Word half) { return is_subnormal_half(half) ? half & 0x8000 : half; }

/// A half rounded up whose fraction overflowed, as one gets it who increments the ten bits alone; `cut` is the half
/// toward zero.
inline Word without_carry(Word rounded, Word cut) {
    const bool carried = rounded != cut && (cut & 0x3FF) == 0x3FF && (rounded & 0x7FFF) != 0x7C00;
    return carried ? cut & 0xFC00 : rounded;
}

/// Random numbers of an exercise: their own stream, so that a new exercise changes no other.
inline Random random_of(std::uint64_t seed, std::string_view exercise, std::string_view group) {
    return Random(seed, hash_of(std::string(exercise) + "/" + std::string(group)));
}
/// A half with any sign and fraction and an exponent field in [low, high].
inline Word random_half(Random& random, int low, int high) {
    return static_cast<Word>(random.below(2) << 15) | static_cast<Word>(random.between(low, high)) << 10 |
           static_cast<Word>(random.below(1024));
}
/// A single with any sign and fraction and magnitude in [2^low, 2^(high + 1)).
inline Word random_single(Random& random, int low, int high) {
    return static_cast<Word>(random.below(2) << 31) | static_cast<Word>(random.between(low, high) + 127) << 23 |
           static_cast<Word>(random.below(1 << 23));
}

/// What a group lets pass (Group).
struct Leniency {
    int tolerance = 0;
    std::vector<std::string_view> forgives{};
};

/// Groups of an exercise, an idea each. Of the questions offered those are kept to which every mistake that the idea
/// does not catch has the right answer.
class Ideas {
  public:
    Ideas(std::string_view exercise, std::uint64_t seed) : exercise_(exercise_by_name(exercise)), seed_(seed) {}

    void add(Group& group, const Words& question) const {
        const Words right = exercise_.solve(question, "");
        for (const Mistake& mistake : exercise_.mistakes) {
            if (contains(group.catches, mistake.id) || contains(group.forgives, mistake.id)) continue;
            const Words answer = exercise_.solve(question, mistake.id);
            if (!is_right(exercise_, question, right, answer, group.tolerance)) return;
        }
        group.questions.push_back(question);
    }
    /// `count` questions from a function of a random stream, fewer where most of what it makes is not kept.
    template <class Make>
    Group group(const std::string& title, int points, std::vector<std::string_view> catches, std::size_t count,
                Make make, Leniency leniency = {}) const {
        Random random = random_of(seed_, exercise_.name, title);
        Group group{title, points, std::move(catches), {}, leniency.tolerance, std::move(leniency.forgives)};
        for (std::size_t tries = 0; group.questions.size() < count && tries < 40 * count; ++tries) {
            add(group, make(random));
        }
        return group;
    }

  private:
    const Exercise& exercise_;
    std::uint64_t seed_;
};

}  // namespace ulp::course
