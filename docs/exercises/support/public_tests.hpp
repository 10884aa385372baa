// The public tests around your function, with nothing but a C++20 compiler. Every exercise has a test.cpp that includes
// this:
//
//     cd decode_half
//     g++ -std=c++20 -ffp-contract=off decode_half.cpp test.cpp -o try && ./try
//     cl /std:c++20 /EHsc /fp:precise decode_half.cpp test.cpp /Fe:try.exe && try          (Windows)
//
// ./try FILE reads other tests than public.txt: your own, or a case that the grader printed.
#pragma once

#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace driver {

using Word = std::uint32_t;
using Words = std::vector<Word>;

/// Calls your function.
Words answer(const Words& question);

inline float single(Word word) {
    float value;
    std::memcpy(&value, &word, sizeof value);
    return value;
}
inline Word bits(float value) {
    Word word;
    std::memcpy(&word, &value, sizeof word);
    return word;
}

/// 'h' the bits of a half, 's' of a single, 'q', 'f' and 'x' the codes of E4M3, E2M1 and E8M0, 'i' an integer; what is
/// in parentheses, or else the last letter, repeats.
inline char letter_at(const std::string& notation, std::size_t index) {
    const std::size_t open = notation.find('(');
    if (open == std::string::npos) return notation[index < notation.size() ? index : notation.size() - 1];
    if (index < open) return notation[index];
    return notation[open + 1 + (index - open) % (notation.size() - open - 2)];
}

inline double value_of(char letter, Word word) {
    if (letter != 'h') return single(word);
    const int field = word >> 10 & 31;
    const double sign = (word & 0x8000) != 0 ? -1 : 1;
    double magnitude = field == 0 ? word & 1023 : (word & 1023) + 1024;
    for (int e = field == 0 ? 1 : field; e < 25; ++e) magnitude /= 2;
    for (int e = 25; e < field; ++e) magnitude *= 2;
    return sign * magnitude;
}
inline bool is_special(char letter, Word word) {
    return letter == 'h' ? (word & 0x7C00) == 0x7C00 : (word & 0x7F800000) == 0x7F800000;
}
inline bool is_nan(char letter, Word word) {
    return (letter == 'h' || letter == 's') && is_special(letter, word) &&
           (word & (letter == 'h' ? 0x3FFU : 0x7FFFFFU)) != 0;
}

inline std::string text_of(char letter, Word word) {
    if (letter == 'i') return std::to_string(static_cast<std::int32_t>(word));
    char text[64];
    std::snprintf(text, sizeof text, "%0*X", letter == 'h' ? 4 : letter == 's' ? 8 : 2, static_cast<unsigned>(word));
    std::string result = text;
    if (letter != 'h' && letter != 's') return result;
    const bool negative = (word >> (letter == 'h' ? 15 : 31) & 1) != 0;
    if (is_nan(letter, word)) return result + " (NaN)";
    if (is_special(letter, word)) return result + (negative ? " (-infinity)" : " (infinity)");
    std::snprintf(text, sizeof text, " (%.9g)", value_of(letter, word));
    return result + text;
}

/// "3C00 0001*3": hexadecimal for numbers, decimal for integers.
inline bool parse(const std::string& notation, const std::string& text, Words& words) {
    std::istringstream tokens(text);
    for (std::string token; tokens >> token;) {
        const std::size_t star = token.find('*');
        const unsigned long count = star == std::string::npos ? 1 : std::strtoul(token.c_str() + star + 1, nullptr, 10);
        const bool integer = letter_at(notation, words.size()) == 'i';
        char* end = nullptr;
        const long long value = std::strtoll(token.c_str(), &end, integer ? 10 : 16);
        if ((*end != '\0' && *end != '*') || count == 0 || count > 1000000) return false;
        words.insert(words.end(), count, static_cast<Word>(value));
    }
    return true;
}

inline int current_line = 0;
inline void on_signal(int number) {
    std::cerr << "line " << current_line << ": the program crashed (signal " << number << ")\n";
    std::_Exit(3);
}

/// What is wrong with an answer; empty for a right one. Any NaN is right where a NaN is.
inline std::string complaint(const std::string& notation, const Words& got, const Words& expected) {
    if (got.size() != expected.size()) {
        return std::to_string(got.size()) + " words were answered, not " + std::to_string(expected.size());
    }
    for (std::size_t i = 0; i < got.size(); ++i) {
        const char letter = letter_at(notation, i);
        if (got[i] == expected[i] || (is_nan(letter, got[i]) && is_nan(letter, expected[i]))) continue;
        const std::string where = got.size() > 1 ? "word " + std::to_string(i + 1) + ": " : "";
        return where + "expected " + text_of(letter, expected[i]) + ", got " + text_of(letter, got[i]);
    }
    return "";
}

}  // namespace driver

int main(int argc, char** argv) {
    const std::string name = argc > 1 ? argv[1] : "public.txt";
    std::ifstream file(name);
    if (!file) {
        std::cerr << "there is no file " << name << "; run this in the exercise's folder\n";
        return 2;
    }
    for (const int number : {SIGSEGV, SIGFPE, SIGILL, SIGABRT}) std::signal(number, driver::on_signal);
    int tests = 0;
    int right = 0;
    for (std::string row; std::getline(file, row);) {
        ++driver::current_line;
        row = row.substr(0, row.find('#'));
        if (row.find_first_not_of(" \t\r") == std::string::npos) continue;
        const std::size_t arrow = row.find("->");
        driver::Words question, expected;
        if (arrow == std::string::npos || !driver::parse(QUESTION, row.substr(0, arrow), question) ||
            !driver::parse(ANSWER, row.substr(arrow + 2), expected)) {
            std::cerr << name << ", line " << driver::current_line << ": this is no test: words -> words\n";
            return 2;
        }
        row.erase(row.find_last_not_of(" \t\r") + 1);
        ++tests;
        std::string wrong;
        try {
            wrong = driver::complaint(ANSWER, driver::answer(question), expected);
        } catch (const std::exception& error) {
            wrong = std::string("threw ") + error.what();
        }
        if (wrong.empty()) {
            ++right;
        } else {
            std::cout << "line " << driver::current_line << ": " << row.substr(0, 200) << "\n  " << wrong << '\n';
        }
    }
    std::cout << right << " of " << tests << '\n';
    return right == tests && tests > 0 ? 0 : 1;
}
