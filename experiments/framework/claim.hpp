// A claim: something that a source document or a standard says, what was expected, what was measured, and the verdict.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ulp {

enum class Verdict {
    reproduced,    // measured as the source says
    refuted,       // the source is wrong: the counter-example was computed
    inconsistent,  // the source contradicts itself: the arithmetic was redone
    quoted,        // needs hardware or data that is not here: nothing was measured
    failed         // not measured as expected: something is wrong here
};

std::string_view verdict_name(Verdict verdict);
/// Throws DataError for a name that is none.
Verdict verdict_by_name(std::string_view name);

struct Claim {
    std::string id;         // "overflow.fp16_pairwise": experiment, dot, name; never changes once published
    std::string source;     // document and place
    std::string statement;  // one sentence
    std::string expected;   // floats as decimal and bits
    std::string measured;
    Verdict verdict = Verdict::quoted;
};

/// Whether all claims hold, that is, none failed.
bool all_hold(std::span<const Claim> claims);

}  // namespace ulp
