// What a student's program is asked and what it says, through pipes: a record is a count and as many words, in the
// machine's byte order. docs/exercises/support/driver.hpp and driver.py are the other end.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "experiments/course/exercise.hpp"
#include "experiments/course/run_confined.hpp"

namespace ulp::course {

/// The first word of the driver's last record, which tells how the program ended.
constexpr Word last_record = 0xFFFFFFFF;
enum LastRecord : Word { ended_well = 1, caught_signal = 2, threw = 3 };

struct Answers {
    std::vector<Words> list;
    std::optional<LastRecord> end;
    Word signal = 0;
    Word system_call = 0;
    std::string exception;
};

std::string as_input(const std::vector<Words>& questions);
Answers parse_answers(const std::string& text);

/// Why the program did not answer to the end; empty if it did.
std::string trouble(const ConfinedRun& run, const Answers& answers, const Limits& limits);

/// What a program printed: at most five lines, with what is no printable ASCII as '?'.
std::string first_lines(const std::string& text);

}  // namespace ulp::course
