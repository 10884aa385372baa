#include "experiments/course/exercise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <optional>

#include "softfloat/errors.hpp"
#include "softfloat/round.hpp"
#include "softfloat/text.hpp"

namespace ulp::course {
namespace {

const FloatFormat& format_of(char letter) { return letter == 'h' ? formats::fp16 : formats::fp32; }

/// The place of a number on the line of all numbers of its format.
std::int64_t position(const FloatFormat& format, Word word) {
    const auto magnitude = static_cast<std::int64_t>(magnitude_of(format, word));
    return sign_of(format, word) ? -magnitude : magnitude;
}

std::optional<Word> parse_word(char letter, std::string_view text) {
    const bool hex = letter != 'i';
    const bool negative = !hex && text.starts_with('-');
    if (negative) text.remove_prefix(1);
    if (hex && text.size() != (letter == 'h' ? 4U : 8U)) return std::nullopt;
    Word word = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), word, hex ? 16 : 10);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return negative ? 0 - word : word;
}

Words parse_words(Notation notation, std::string_view text, int line) {
    Words words;
    const auto refuse = [line](const std::string& why) {
        throw DataError(fmt::format("public tests, line {}: {}", line, why));
    };
    while (true) {
        text.remove_prefix(std::min(text.find_first_not_of(" \t\r"), text.size()));
        if (text.empty()) break;
        std::string_view token = text.substr(0, text.find_first_of(" \t\r"));
        text.remove_prefix(token.size());
        Word count = 1;
        const auto star = token.find('*');
        if (star != std::string_view::npos) {
            const auto parsed = parse_word('i', token.substr(star + 1));
            if (!parsed || *parsed == 0 || *parsed > 1000000) refuse(fmt::format("'{}' repeats nothing", token));
            count = *parsed;
            token = token.substr(0, star);
        }
        const auto word = parse_word(letter_at(notation, words.size()), token);
        if (!word) refuse(fmt::format("'{}' is not what the notation {} wants", token, notation));
        words.insert(words.end(), count, *word);
    }
    return words;
}

}  // namespace

char letter_at(Notation notation, std::size_t index) {
    const std::size_t open = notation.find('(');
    if (open == Notation::npos) return notation[std::min(index, notation.size() - 1)];
    if (index < open) return notation[index];
    const Notation repeated = notation.substr(open + 1, notation.size() - open - 2);
    return repeated[(index - open) % repeated.size()];
}

int Exercise::points() const {
    int sum = 0;
    for (const Group& group : hidden(1)) sum += group.points;
    return sum;
}

const Exercise& exercise_by_name(std::string_view name) {
    std::vector<std::string_view> names;
    for (const Exercise& exercise : exercises()) {
        if (exercise.name == name) return exercise;
        names.push_back(exercise.name);
    }
    throw UsageError(fmt::format("there is no exercise \"{}\"; choose from {}", name, fmt::join(names, ", ")));
}

bool same_word(char letter, Word a, Word b) {
    if (a == b) return true;
    return letter != 'i' && is_nan(format_of(letter), a) && is_nan(format_of(letter), b);
}

bool same_answer(const Exercise& exercise, const Words& a, const Words& b) {
    if (a.size() != b.size()) return false;
    for (std::size_t i = 0; i < a.size(); ++i) {
        if (!same_word(letter_at(exercise.answer, i), a[i], b[i])) return false;
    }
    return true;
}

namespace {

bool is_near(char letter, Word a, Word b, int tolerance) {
    if (same_word(letter, a, b)) return true;
    if (tolerance == 0 || letter == 'i' || (letter == 'h' && a >> 16 != 0)) return false;
    const FloatFormat& format = format_of(letter);
    if (is_nan(format, a) || is_nan(format, b)) return false;
    return std::abs(position(format, a) - position(format, b)) <= tolerance;
}

}  // namespace

bool is_right(const Exercise& exercise, const Words& question, const Words& expected, const Words& answer,
              int tolerance) {
    if (answer.size() != expected.size()) return false;
    bool near = true;
    for (std::size_t i = 0; i < answer.size() && near; ++i) {
        near = is_near(letter_at(exercise.answer, i), answer[i], expected[i], tolerance);
    }
    return near || std::any_of(exercise.also_right.begin(), exercise.also_right.end(), [&](std::string_view way) {
               return same_answer(exercise, answer, exercise.solve(question, way));
           });
}

std::string word_text(char letter, Word word) {
    if (letter == 'i') return std::to_string(static_cast<std::int32_t>(word));
    const FloatFormat& format = format_of(letter);
    if (letter == 'h' && word >> 16 != 0) return fmt::format("{:08X} (more than 16 bits)", word);
    return fmt::format("{} ({})", to_hex_bits(format, word),
                       letter == 'h' ? to_exact_decimal(format, word) : to_decimal(format, word));
}

std::string words_text(Notation notation, const Words& words, std::size_t most) {
    std::string text;
    std::size_t shown = 0;
    for (std::size_t i = 0; i < words.size(); ++shown) {
        if (shown == most) return text + fmt::format(" ... ({} words)", words.size());
        const char letter = letter_at(notation, i);
        std::size_t end = i + 1;
        while (end < words.size() && words[end] == words[i] && letter_at(notation, end) == letter) ++end;
        if (end - i < 3) end = i + 1;
        text += (i == 0 ? "" : " ") + word_text(letter, words[i]);
        if (end - i > 1) text += fmt::format(" x {}", end - i);
        i = end;
    }
    return text;
}

std::string ulps_text(char letter, Word answer, Word expected) {
    if (letter == 'i' || (letter == 'h' && answer >> 16 != 0)) return "";
    const FloatFormat& format = format_of(letter);
    for (const Word word : {answer, expected}) {
        if (is_nan(format, word) || is_infinity(format, word)) return "";
    }
    const std::int64_t distance = position(format, answer) - position(format, expected);
    return std::abs(distance) > 1000000 ? "" : fmt::format("{:+} ulp", distance);
}

namespace {

std::string parsable(Notation notation, const Words& words) {
    std::string text;
    for (std::size_t i = 0; i < words.size();) {
        const char letter = letter_at(notation, i);
        std::size_t end = i + 1;
        while (end < words.size() && words[end] == words[i] && letter_at(notation, end) == letter) ++end;
        text += text.empty() ? "" : " ";
        text += letter == 'i' ? std::to_string(static_cast<std::int32_t>(words[i]))
                              : fmt::format("{:0{}X}", words[i], letter == 'h' ? 4 : 8);
        if (end - i > 1) text += fmt::format("*{}", end - i);
        i = end;
    }
    return text;
}

}  // namespace

std::string public_test_line(const Exercise& exercise, const Words& question, const Words& expected) {
    return parsable(exercise.question, question) + " -> " + parsable(exercise.answer, expected);
}

std::vector<PublicTest> parse_public_tests(const Exercise& exercise, std::string_view text) {
    std::vector<PublicTest> tests;
    for (int line = 1; !text.empty(); ++line) {
        std::string_view row = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(row.size() + 1, text.size()));
        row = row.substr(0, row.find('#'));
        if (row.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        const auto arrow = row.find("->");
        if (arrow == std::string_view::npos) throw DataError(fmt::format("public tests, line {}: no ->", line));
        tests.push_back({parse_words(exercise.question, row.substr(0, arrow), line),
                         parse_words(exercise.answer, row.substr(arrow + 2), line), line});
    }
    return tests;
}

}  // namespace ulp::course
