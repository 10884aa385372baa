// What the program knows of an exercise: its questions, the right answers, and the answers that known mistakes give.
//
// One file an exercise, exercises/<name>.cpp, that defines `Exercise <name>_exercise()`; its name in the list of
// CMakeLists.txt; and what students see in docs/exercises/<name>/. docs/exercises/README.md tells how to add one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ulp::course {

// What a compiler made of a student's file, looked at before it is assembled: the exercises are about numbers worked
// out by hand, so types that a compiler rounds by itself, instructions beyond the processor's baseline and assembler
// are refused. Words in the source decide nothing: macros and headers may spell them as they like.

/// Which arithmetic an exercise allows.
enum class Arithmetic { plain, integers };

/// Why this assembler text (g++ -S, clang++ -S; complete for x86-64, library calls for every processor) is refused, a
/// sentence that continues "it"; nothing where it is not.
std::optional<std::string> refused_in_assembly(std::string_view assembly, Arithmetic allowed = Arithmetic::plain);

/// Questions and answers are lists of 32-bit words: bits of numbers, or integers. What a word means is in the
/// exercise's notation.
using Word = std::uint32_t;
using Words = std::vector<Word>;

/// A notation has a letter a word: 'h' the bits of a half (fp16), 's' of a single (fp32), 'q', 'f' and 'x' the codes of
/// E4M3, E2M1 and E8M0, 'i' an integer (of 32 bits, signed). The letters in its parentheses, at the end, repeat;
/// without any the last letter does.
using Notation = std::string_view;
char letter_at(Notation notation, std::size_t index);

/// A way to be wrong that graders look for. `says` completes the sentence "It looks as if the program ...".
struct Mistake {
    std::string_view id;
    std::string_view says;
};

/// The questions about one idea, which earn its points together: all right, or none. Mistakes that the idea does not
/// catch give the right answers to all of them, so that a misconception costs its own ideas and no other. Numbers may
/// lie `tolerance` units in the last place beside the right one where the exercise leaves the order of operations open.
struct Group {
    std::string name;
    int points = 0;
    std::vector<std::string_view> catches{};
    std::vector<Words> questions{};
    int tolerance = 0;
    /// Mistakes that change answers here and are charged by another group: where that has found one, its answers count.
    std::vector<std::string_view> forgives{};
};

inline bool contains(const std::vector<std::string_view>& ids, std::string_view id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

struct Exercise {
    std::string_view name;
    std::string_view title;
    Notation question;
    Notation answer;
    std::vector<Mistake> mistakes;
    /// The right answer, or with a mistake's id the answer of a program that is right but for this mistake.
    Words (*solve)(const Words& question, std::string_view mistake);
    /// The hidden tests, a function of the seed.
    std::vector<Group> (*hidden)(std::uint64_t seed);
    /// Names for the words of a question and of an answer, for messages: "n scale! masters[n] step(target x[n])". A
    /// list has as many words as an earlier argument or a number says, or all that are left: x[*]; without an argument
    /// that counts the elements others say so: a{n}. The part in parentheses repeats. When a case is made smaller, what
    /// has a "!" stays as it is, and so do the lengths of a{n} and a[3].
    std::string_view arguments;
    std::string_view results;
    /// For `solve`: other ways of computing the answer that are as right, such as a division for a multiplication by an
    /// inverse.
    std::vector<std::string_view> also_right{};
    bool in_python = false;  // may be handed in as <name>.py, too
    Arithmetic arithmetic = Arithmetic::plain;

    [[nodiscard]] int points() const;
};

/// In the order of the course.
std::span<const Exercise> exercises();
/// Throws UsageError that lists them.
const Exercise& exercise_by_name(std::string_view name);

/// Whether two words are the same answer: the same bits, or both NaN where the notation says half or single.
bool same_word(char letter, Word a, Word b);
bool same_answer(const Exercise& exercise, const Words& a, const Words& b);
/// Whether an answer counts as right: the expected one within a tolerance in ulps, or that of another right way.
bool is_right(const Exercise& exercise, const Words& question, const Words& expected, const Words& answer,
              int tolerance);

/// "0.0999755859375" with all digits of a half, "0.1" with the shortest ones of a single, "-7".
std::string word_text(char letter, Word word);
/// "n = 2, masters = [1, 0.5]; step 1: target = 0, x = [1 x 4]" of a question.
std::string question_text(const Exercise& exercise, const Words& question);
/// What word `index` of an answer is: "step 1: masters[1]".
std::string result_name(const Exercise& exercise, const Words& question, std::size_t answered, std::size_t index);

/// An argument or a result as its layout has it: `count` words from `first` on.
struct Field {
    std::string name;
    std::size_t first = 0;
    std::size_t count = 1;
    bool list = false;
    bool fixed = false;     // stays as it is in smaller cases
    std::string length{};   // the argument that counts the elements, or "*": elements may be left out
    std::string part{};     // the repeated part, "step"; empty outside
    std::size_t round = 0;  // of the part: 1, 2, ...
};
/// The fields of a question's or answer's `size` words. Lengths are those of the question.
std::vector<Field> fields_of(std::string_view layout, std::size_t size, std::string_view arguments,
                             const Words& question);
/// The distance of two finite numbers in units of the last place of the format of 'h' or 's', as signed text with
/// "ulp"; empty where there is none, or where it is more than a million.
std::string ulps_text(char letter, Word answer, Word expected);
/// How much there is to follow by hand: words, significant bits, exponents, signs.
std::size_t effort_of(const Exercise& exercise, const Words& question);

/// The public tests of docs/exercises/<name>/public.txt: lines "words -> words", 4 hexadecimal digits a half, 8 a
/// single, 2 another code, integers in decimal, "4C00*16" for repetition; # starts a comment.
struct PublicTest {
    Words question;
    Words expected;
    int line;
};
/// A case as a line of such a file.
std::string public_test_line(const Exercise& exercise, const Words& question, const Words& expected);
/// Throws DataError with the line for anything else.
std::vector<PublicTest> parse_public_tests(const Exercise& exercise, std::string_view text);

}  // namespace ulp::course
