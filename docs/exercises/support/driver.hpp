// The main program around a student's function: reads questions from the standard input, writes answers to file
// descriptor 3. A record is a count and as many 32-bit words. The last record begins with 0xFFFFFFFF and tells how the
// program ended: 1 well; 2 by a signal, with its number and a system call's; 3 by an exception, with its text.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <vector>

namespace driver {

using Word = std::uint32_t;
using Words = std::vector<Word>;

/// Defined by each exercise's adapter.cpp: calls the student's function.
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

inline char buffer[1 << 16];
inline std::size_t used = 0;

inline void flush() {
    for (std::size_t at = 0; at < used;) {
        const ssize_t size = write(3, buffer + at, used - at);
        if (size <= 0) _exit(126);
        at += static_cast<std::size_t>(size);
    }
    used = 0;
}
inline void put(Word word) {
    if (used + sizeof word > sizeof buffer) flush();
    std::memcpy(buffer + used, &word, sizeof word);
    used += sizeof word;
}
inline void put_last(Word kind, Word first, Word second) {
    for (const Word word : {Word{0xFFFFFFFF}, kind, first, second}) put(word);
}

inline void on_signal(int number, siginfo_t* info, void*) {
    put_last(2, static_cast<Word>(number), number == SIGSYS ? static_cast<Word>(info->si_syscall) : 0);
    flush();
    _exit(125);
}
inline void watch_signals() {
    static char stack[1 << 16];  // another one: the program's own may have overflowed
    stack_t other{};
    other.ss_sp = stack;
    other.ss_size = sizeof stack;
    sigaltstack(&other, nullptr);
    struct sigaction action {};
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK;
    for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGSYS, SIGXCPU, SIGXFSZ}) {
        sigaction(number, &action, nullptr);
    }
}

inline bool get(void* to, std::size_t size) {
    static char input[1 << 16];
    static std::size_t at = 0;
    static std::size_t end = 0;
    for (std::size_t done = 0; done < size; ++done) {
        if (at == end) {
            const ssize_t got = read(0, input, sizeof input);
            if (got <= 0) return false;
            at = 0;
            end = static_cast<std::size_t>(got);
        }
        static_cast<char*>(to)[done] = input[at++];
    }
    return true;
}

inline void answer_all() {
    Word count = 0;
    while (get(&count, sizeof count)) {
        Words question(count);
        if (count != 0 && !get(question.data(), count * sizeof(Word))) break;
        const Words words = answer(question);
        put(static_cast<Word>(words.size()));
        for (const Word word : words) put(word);
    }
}

}  // namespace driver

int main() {
    driver::watch_signals();
    try {
        driver::answer_all();
        driver::put_last(1, 0, 0);
    } catch (const std::exception& error) {
        driver::put_last(3, 0, 0);
        for (const char* c = error.what(); *c != '\0' && driver::used < sizeof driver::buffer; ++c) {
            driver::buffer[driver::used++] = *c;
        }
    }
    driver::flush();
}
