#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <regex>

#include "experiments/course/exercise.hpp"

namespace ulp::course {
namespace {

std::string_view trimmed_line(std::string_view line) {
    const auto first = line.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) return {};
    return line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
}

/// libgcc's and compiler-rt's functions on fp16, bf16, x87's and quad numbers, and on decimal ones.
bool is_wide_or_narrow_call(const std::string& symbol) {
    static const std::regex pattern(
        "__(extend|trunc|fixuns|fix|floatun|float|add|sub|mul|div|neg|eq|ne|lt|le|gt|ge|unord|cmp|pow)[a-z]*(hf|bf|xf|"
        "tf|kf|hc|xc|tc)[a-z]*[0-9]?|__gnu_(h2f|f2h)_ieee|__(bid|dpd)_.*");
    // Theirs are short, and std::regex takes a stack as deep as its text is long.
    return symbol.size() < 64 && symbol.starts_with("__") && std::regex_match(symbol, pattern);
}

/// Directives that compilers write for C++. Others would come from text smuggled in through a symbol's name.
bool is_known_directive(std::string_view word) {
    static constexpr std::array known = {
        ".file",   ".text",   ".globl",  ".global", ".type",    ".size",      ".section", ".p2align", ".align",
        ".balign", ".long",   ".quad",   ".value",  ".short",   ".hword",     ".word",    ".xword",   ".byte",
        ".zero",   ".string", ".ascii",  ".asciz",  ".weak",    ".local",     ".comm",    ".set",     ".ident",
        ".data",   ".bss",    ".rodata", ".loc",    ".uleb128", ".sleb128",   ".hidden",  ".addrsig", ".addrsig_sym",
        ".arch",   ".2byte",  ".4byte",  ".8byte",  ".symver",  ".protected", ".skip",    ".dword",   ".cpu"};
    return word.starts_with(".cfi_") || std::find(known.begin(), known.end(), word) != known.end();
}
bool writes_data(std::string_view word) {
    static constexpr std::array data = {".long",  ".quad",  ".value", ".short", ".hword", ".word",  ".byte", ".string",
                                        ".ascii", ".asciz", ".2byte", ".4byte", ".8byte", ".xword", ".dword"};
    return std::find(data.begin(), data.end(), word) != data.end();
}

/// x86: why an instruction is none that a compiler needs for plain C++ on any processor of the architecture.
std::string x86_refusal(const std::string& mnemonic) {
    if (mnemonic.starts_with('f')) return fmt::format("computes with long double ({})", mnemonic);
    if (mnemonic.starts_with('v')) {
        return fmt::format("uses instructions that not every processor has ({}): intrinsics, or a target attribute",
                           mnemonic);
    }
    static const std::regex packed("(mul|div|sqrt|rcp|rsqrt|dp|round)p[sd]|rounds[sd]|(rcp|rsqrt)ss|pmadd.*|pmul.*");
    if (std::regex_match(mnemonic, packed)) return fmt::format("uses vector instructions ({}): intrinsics", mnemonic);
    return "";
}

/// Instructions and library calls that compute with floating-point numbers; moving and storing them is none.
std::string floating_point_refusal(const std::string& mnemonic, std::string_view rest, bool x86) {
    static const std::regex x86_instruction("(add|sub|mul|div|sqrt|min|max)[sp][sd]|u?comis[sd]|cvt.*");
    static const std::regex arm_instruction("f(?!mov).*|[su]cvtf");
    static const std::regex call("\\b(fma|fdim|hypot|remainder|fmod|ldexp|scalbl?n)[fl]?\\b|__(mul|div)[sdt]c3");
    if (std::regex_match(mnemonic, x86 ? x86_instruction : arm_instruction)) {
        return fmt::format("computes with floating-point numbers ({}); this exercise is for integers alone", mnemonic);
    }
    std::cmatch found;
    if (!std::regex_search(rest.data(), rest.data() + rest.size(), found, call)) return "";
    return fmt::format("computes with floating-point numbers ({}); this exercise is for integers alone", found.str());
}

constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";

struct Reader {
    bool x86 = false;
    Arithmetic allowed = Arithmetic::plain;
    bool inside_assembler = false;
    bool in_code = true;

    /// A line of inline assembler. g++ 13's <iostream> has one that names a symbol.
    static bool is_harmless(std::string_view line) {
        return line.empty() || line.starts_with('#') || line.starts_with("//") ||
               line == ".globl _ZSt21ios_base_library_initv";
    }

    void enter_section(std::string_view line) {
        if (line.starts_with(".text")) in_code = true;
        if (line.starts_with(".data") || line.starts_with(".bss") || line.starts_with(".rodata")) in_code = false;
        if (!line.starts_with(".section")) return;
        const auto flags = line.find('"');
        in_code = line.find(".text") != std::string_view::npos ||
                  (flags != std::string_view::npos &&
                   line.substr(flags, line.find('"', flags + 1) - flags).find('x') != std::string_view::npos);
    }

    /// Statements on one line would hide the second one.
    static bool has_two_statements(std::string_view line) {
        bool quoted = false;
        for (std::size_t i = 0; i < line.size(); ++i) {
            if (line[i] == '\\')
                ++i;
            else if (line[i] == '"')
                quoted = !quoted;
            else if (line[i] == '#' && !quoted)
                return false;
            else if (line[i] == ';' && !quoted)
                return true;
        }
        return false;
    }

    std::string instruction(const std::string& mnemonic, std::string_view rest) const {
        if (x86) {
            if (std::string why = x86_refusal(mnemonic); !why.empty()) return why;
        } else if (std::regex_search(std::string(rest), std::regex("\\bh[0-9]{1,2}\\b"))) {
            return fmt::format("computes with numbers of 16 bits ({})", mnemonic);
        }
        if (allowed == Arithmetic::integers) {
            if (std::string why = floating_point_refusal(mnemonic, rest, x86); !why.empty()) return why;
        }
        for (std::size_t at = rest.find("__"); at < rest.size(); at = rest.find("__", at)) {
            const std::size_t end = std::min(rest.find_first_not_of(letters, at), rest.size());
            const std::string symbol(rest.substr(at, end - at));
            if (is_wide_or_narrow_call(symbol)) {
                return fmt::format("lets the compiler compute in another format ({})", symbol);
            }
            at = end;
        }
        return "";
    }

    /// A line's refusal; empty for most.
    std::string look(std::string_view full) {
        const std::string_view line = trimmed_line(full);
        if (line == "#APP" || line == "//APP" || line == "@APP") inside_assembler = true;
        if (line == "#NO_APP" || line == "//NO_APP" || line == "@NO_APP") inside_assembler = false;
        if (inside_assembler) return is_harmless(line) ? "" : "uses assembler";
        if (line.empty() || line.starts_with('#') || line.starts_with("//")) return "";
        if (has_two_statements(line)) return "uses assembler, through a symbol's name";
        const std::string word(line.substr(0, line.find_first_of(" \t")));
        if (word.ends_with(':')) return "";
        if (line.find('=') != std::string_view::npos && line.find('"') == std::string_view::npos && word[0] != '.')
            return "";
        if (word[0] == '.') {
            if (!is_known_directive(word)) return fmt::format("uses assembler ({})", word);
            enter_section(line);
            return in_code && writes_data(word) ? fmt::format("writes instructions as numbers ({})", word) : "";
        }
        if (word.size() > 32) return "uses assembler, through a symbol's name";
        return instruction(word, line.substr(word.size()));
    }
};

}  // namespace

std::optional<std::string> refused_in_assembly(std::string_view assembly, Arithmetic allowed) {
    Reader reader;
    reader.allowed = allowed;
    reader.x86 = assembly.find("%rsp") != std::string_view::npos || assembly.find("%xmm") != std::string_view::npos ||
                 assembly.find("%eax") != std::string_view::npos || assembly.find("%rdi") != std::string_view::npos;
#if defined(__x86_64__)
    reader.x86 = true;
#endif
    while (!assembly.empty()) {
        const std::string_view line = assembly.substr(0, assembly.find('\n'));
        assembly.remove_prefix(std::min(line.size() + 1, assembly.size()));
        if (std::string why = reader.look(line); !why.empty()) return why;
    }
    return std::nullopt;
}

}  // namespace ulp::course
