#include "experiments/framework/interruption.hpp"

#include <signal.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>

#include "experiments/framework/files.hpp"

namespace ulp {
namespace {

volatile sig_atomic_t received = 0;
void remember(int number) { received = number; }

constexpr std::array ending = {SIGINT, SIGTERM};
std::array<struct sigaction, ending.size()> earlier{};

std::string in_quotes(const std::string& word) {
    const auto is_plain = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
               std::string_view("-_=+./:,@%").find(c) != std::string_view::npos;
    };
    if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
    std::string text = "'";
    for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return text + "'";
}

}  // namespace

Interruption::Interruption() {
    received = 0;
    for (std::size_t i = 0; i < ending.size(); ++i) {
        struct sigaction action {};
        action.sa_handler = remember;
        action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
        sigaction(ending[i], &action, &earlier[i]);
        if (earlier[i].sa_handler == SIG_IGN) sigaction(ending[i], &earlier[i], nullptr);
    }
}

Interruption::~Interruption() {
    for (std::size_t i = 0; i < ending.size(); ++i) sigaction(ending[i], &earlier[i], nullptr);
}

int Interruption::signal() { return received; }

std::string command_line() {
    std::istringstream words(read_file("/proc/self/cmdline"));
    std::string line;
    for (std::string word; std::getline(words, word, '\0');) line += (line.empty() ? "" : " ") + in_quotes(word);
    return line;
}

}  // namespace ulp
