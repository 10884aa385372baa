#include "experiments/course/exercise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>

#include "softfloat/errors.hpp"
#include "softfloat/round.hpp"
#include "softfloat/text.hpp"

namespace ulp::course {
namespace {

/// Null for integers.
const FloatFormat* format_of(char letter) {
    switch (letter) {
        case 'h': return &formats::fp16;
        case 's': return &formats::fp32;
        case 'q': return &formats::e4m3;
        case 'f': return &formats::e2m1;
        case 'x': return &formats::e8m0;
        default: return nullptr;
    }
}
/// Hexadecimal digits of a code.
std::size_t digits_of(char letter) { return letter == 's' ? 8 : letter == 'h' ? 4 : 2; }
bool is_too_wide(char letter, Word word) {
    const FloatFormat* format = format_of(letter);
    return format != nullptr && format->storage_bits() < 32 && word >> format->storage_bits() != 0;
}
bool is_number(char letter, Word word) { return format_of(letter) != nullptr && !is_too_wide(letter, word); }

/// The place of a number on the line of all numbers of its format.
std::int64_t position(const FloatFormat& format, Word word) {
    const auto magnitude = static_cast<std::int64_t>(magnitude_of(format, word));
    return sign_of(format, word) ? -magnitude : magnitude;
}

std::optional<Word> parse_word(char letter, std::string_view text) {
    const bool hex = letter != 'i';
    const bool negative = !hex && text.starts_with('-');
    if (negative) text.remove_prefix(1);
    if (hex && text.size() != digits_of(letter)) return std::nullopt;
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
    static std::mutex guard;
    static std::map<std::string_view, int> known;  // no seed changes them, and the tests take long to make
    const std::lock_guard lock(guard);
    const auto [at, fresh] = known.try_emplace(name, 0);
    for (const Group& group : fresh ? hidden(1) : std::vector<Group>()) at->second += group.points;
    return at->second;
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
    return is_number(letter, a) && is_number(letter, b) && is_nan(*format_of(letter), a) &&
           is_nan(*format_of(letter), b);
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
    if (tolerance == 0 || !is_number(letter, a)) return false;
    const FloatFormat& format = *format_of(letter);
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
    if (is_too_wide(letter, word)) return fmt::format("{:08X} (more than {} bits)", word, 4 * digits_of(letter));
    return letter == 's' ? to_decimal(formats::fp32, word) : to_exact_decimal(*format_of(letter), word);
}

namespace {

/// Reads a layout along the words; the question's fields are known when those of an answer are read.
class LayoutReader {
  public:
    LayoutReader(std::size_t size, const std::vector<Field>& arguments, const Words& question)
        : size_(size), arguments_(arguments), question_(question) {}

    void read(std::string_view layout, const std::string& part = "", std::size_t round = 0) {
        while (!(layout = layout.substr(std::min(layout.find_first_not_of(' '), layout.size()))).empty()) {
            const std::size_t open = layout.find_first_of(" (");
            if (open == std::string_view::npos || layout[open] == ' ') {
                add(layout.substr(0, open), part, round);
                layout.remove_prefix(std::min(open, layout.size()));
                continue;
            }
            const std::string noun(layout.substr(0, open));
            const std::string_view body = layout.substr(open + 1, layout.find(')') - open - 1);
            for (std::size_t i = 1, before = size_ + 1; at_ < size_ && at_ != before; ++i) {
                before = at_;
                read(body, noun, i);
            }
            return;
        }
    }
    std::vector<Field> fields;

  private:
    void add(std::string_view token, const std::string& part, std::size_t round) {
        Field field{.name = {}, .first = at_, .part = part, .round = round};
        field.fixed = token.ends_with('!');
        if (field.fixed) token.remove_suffix(1);
        const std::size_t bracket = token.find_first_of("[{");
        field.name = token.substr(0, bracket);
        if (bracket != std::string_view::npos) {
            const std::string length(token.substr(bracket + 1, token.size() - bracket - 2));
            field.list = true;
            field.count = count_of(length);
            if (token[bracket] == '[' && std::isdigit(static_cast<unsigned char>(length[0])) == 0)
                field.length = length;
        }
        field.count = std::min(field.count, size_ - at_);
        at_ += field.count;
        fields.push_back(std::move(field));
    }
    std::size_t count_of(const std::string& length) const {
        if (length == "*") return size_ - at_;
        for (const std::vector<Field>* known : {&fields, &arguments_}) {
            for (const Field& field : *known) {
                if (field.name == length && field.first < question_.size()) return question_[field.first];
            }
        }
        return static_cast<std::size_t>(std::strtoul(length.c_str(), nullptr, 10));
    }

    std::size_t size_;
    const std::vector<Field>& arguments_;
    const Words& question_;
    std::size_t at_ = 0;
};

std::string list_text(Notation notation, const Words& words, const Field& field) {
    constexpr std::size_t most = 16;
    std::string text = "[";
    const std::size_t last = field.first + field.count;
    for (std::size_t i = field.first, shown = 0; i < last; ++shown) {
        if (shown == most) return text + fmt::format(", ... {} numbers]", field.count);
        std::size_t end = i + 1;
        while (end < last && words[end] == words[i]) ++end;
        if (end - i < 4) end = i + 1;
        text += (shown == 0 ? "" : ", ") + word_text(letter_at(notation, i), words[i]);
        if (end - i > 1) text += fmt::format(" x {}", end - i);
        i = end;
    }
    return text + "]";
}

}  // namespace

std::vector<Field> fields_of(std::string_view layout, std::size_t size, std::string_view arguments,
                             const Words& question) {
    const std::vector<Field> none;
    LayoutReader asked(question.size(), none, question);
    asked.read(arguments);
    LayoutReader reader(size, asked.fields, question);
    reader.read(layout);
    return reader.fields;
}

std::string question_text(const Exercise& exercise, const Words& question) {
    std::string text;
    const Field* before = nullptr;
    const auto fields = fields_of(exercise.arguments, question.size(), exercise.arguments, question);
    for (const Field& field : fields) {
        const bool begins = field.round != 0 && (before == nullptr || before->round != field.round);
        if (before != nullptr) text += begins ? "; " : ", ";
        if (begins) text += fmt::format("{} {}: ", field.part, field.round);
        text += field.name + " = ";
        text += field.list         ? list_text(exercise.question, question, field)
                : field.count == 0 ? "nothing"
                                   : word_text(letter_at(exercise.question, field.first), question[field.first]);
        before = &field;
    }
    return text;
}

std::string result_name(const Exercise& exercise, const Words& question, std::size_t answered, std::size_t index) {
    for (const Field& field : fields_of(exercise.results, answered, exercise.arguments, question)) {
        if (index < field.first || index >= field.first + field.count) continue;
        const std::string part = field.round == 0 ? "" : fmt::format("{} {}: ", field.part, field.round);
        return part + field.name + (field.list ? fmt::format("[{}]", index - field.first) : "");
    }
    return fmt::format("word {}", index + 1);
}

std::size_t effort_of(const Exercise& exercise, const Words& question) {
    std::size_t effort = 0;
    for (std::size_t i = 0; i < question.size(); ++i) {
        const char letter = letter_at(exercise.question, i);
        const Word word = question[i];
        effort += 4;
        if (!is_number(letter, word)) {
            effort += word == ~Word{0} ? 0 : static_cast<std::size_t>(std::bit_width(word));
            continue;
        }
        const auto number = decode<std::uint64_t>(*format_of(letter), word);
        effort += number.kind == Kind::zero || !number.sign ? 0 : 1;
        if (number.kind != Kind::finite) continue;
        const int zeros = std::countr_zero(number.significand);
        const auto exponent = static_cast<unsigned>(std::abs(number.exponent + zeros));
        effort += 2 * static_cast<std::size_t>(static_cast<int>(std::bit_width(number.significand)) - zeros) +
                  static_cast<std::size_t>(std::bit_width(exponent));
    }
    return effort;
}

std::string ulps_text(char letter, Word answer, Word expected) {
    if ((letter != 'h' && letter != 's') || is_too_wide(letter, answer)) return "";
    const FloatFormat& format = *format_of(letter);
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
                              : fmt::format("{:0{}X}", words[i], digits_of(letter));
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
