#include <fmt/format.h>
#include <signal.h>
#include <string.h>

#include <cstring>
#include <sstream>

#include "experiments/course/grader.hpp"
#include "experiments/course/run_confined.hpp"

namespace ulp::course {
namespace {

void append(std::string& text, Word word) {
    char bytes[sizeof word];
    std::memcpy(bytes, &word, sizeof word);
    text.append(bytes, sizeof word);
}

}  // namespace

std::string as_input(const std::vector<Words>& questions) {
    std::string text;
    for (const Words& question : questions) {
        append(text, static_cast<Word>(question.size()));
        for (const Word word : question) append(text, word);
    }
    return text;
}

Answers parse_answers(const std::string& text) {
    Answers answers;
    std::size_t at = 0;
    const auto next = [&]() -> std::optional<Word> {
        if (text.size() - at < sizeof(Word)) return std::nullopt;
        Word word = 0;
        std::memcpy(&word, text.data() + at, sizeof word);
        at += sizeof word;
        return word;
    };
    while (const auto count = next()) {
        if (*count == last_record) {
            const Word kind = next().value_or(0);
            if (kind < ended_well || kind > threw) break;
            answers.end = static_cast<LastRecord>(kind);
            answers.signal = next().value_or(0);
            answers.system_call = next().value_or(0);
            if (kind == threw) answers.exception = text.substr(at, 200);
            break;
        }
        if (*count > (text.size() - at) / sizeof(Word)) break;
        Words words;
        for (Word i = 0; i < *count; ++i) words.push_back(*next());
        answers.list.push_back(std::move(words));
    }
    return answers;
}

std::string first_lines(const std::string& text) {
    std::istringstream lines(text);
    std::string shown;
    int count = 0;
    for (std::string line; std::getline(lines, line) && count < 5; ++count) {
        for (char& c : line) {
            if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126) c = '?';
        }
        shown += "\n  | " + line.substr(0, 160);
    }
    return shown;
}

namespace {

std::string signal_text(int signal, const Limits& limits) {
    if (signal == SIGXCPU || signal == SIGKILL) {
        return fmt::format("used more than {} s of processor time: does it loop forever?", limits.cpu_seconds);
    }
    if (signal == SIGXFSZ) return "wrote a file, which is not allowed here";
    if (signal == SIGSYS) return "tried what is not allowed here (a file, another process or the network)";
    const char* name = sigdescr_np(signal);
    return fmt::format("crashed: {}", name != nullptr ? name : "unknown signal");
}

}  // namespace

std::string trouble(const ConfinedRun& run, const Answers& answers, const Limits& limits) {
    const auto mib = limits.memory_bytes >> 20;
    switch (run.ending) {
        case Ending::took_too_long:
            return fmt::format("took more than {} s: does it wait or loop?", limits.wall_seconds);
        case Ending::printed_too_much: return fmt::format("printed more than {} KiB", limits.printed_bytes >> 10);
        default: break;
    }
    if (answers.end == ended_well) return "";
    if (answers.end == threw) {
        const bool memory = answers.exception == "std::bad_alloc" || answers.exception == "MemoryError";
        return memory ? fmt::format("exceeded the memory limit of {} MiB", mib) : "threw " + answers.exception;
    }
    const bool memory = run.printed.find("std::bad_alloc") != std::string::npos;
    if (memory) return fmt::format("exceeded the memory limit of {} MiB", mib);
    if (answers.end == caught_signal) {
        if (answers.signal == SIGSYS)
            return "tried to " + system_call_name(answers.system_call) + ", which is not allowed here";
        return signal_text(static_cast<int>(answers.signal), limits);
    }
    if (run.ending == Ending::signalled) return signal_text(run.code, limits);
    return fmt::format("ended by itself (exit code {})", run.code);
}

}  // namespace ulp::course
