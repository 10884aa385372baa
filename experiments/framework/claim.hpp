// A claim: something that a source document or a standard says, what was expected, what was measured, and the verdict.
#pragma once

#include <array>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "experiments/framework/check.hpp"
#include "experiments/framework/settings.hpp"

namespace ulp {

/// What a claim rests on.
enum class ClaimKind : std::uint8_t {
    measured,    // on what a run showed; a control of the experiment makes it fail
    arithmetic,  // on an exact fact, which is computed
    quoted       // on the source alone: nothing here can measure it
};
inline constexpr std::array claim_kinds = {ClaimKind::measured, ClaimKind::arithmetic, ClaimKind::quoted};
std::string_view name_of(ClaimKind kind);
/// Throws DataError for a name that is none.
ClaimKind claim_kind_by_name(std::string_view name);

enum class Verdict {
    reproduced,    // measured as the source says
    refuted,       // the source is wrong: the counter-example was computed; or a difference lies outside its margin
    inconsistent,  // the source contradicts itself: the arithmetic was redone
    undecided,     // the interval of a difference straddles its margin: more seeds would decide
    quoted,        // needs hardware or data that is not here: nothing was measured
    failed         // not measured as expected: something is wrong here
};
inline constexpr std::array verdicts = {Verdict::reproduced, Verdict::refuted, Verdict::inconsistent,
                                        Verdict::undecided,  Verdict::quoted,  Verdict::failed};
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
    ClaimKind kind = ClaimKind::quoted;
    std::optional<ParityInterval> parity{};
    bool universal = false;  // of all cases: refuted wherever one run refutes it
};

/// What was claimed before it was measured, as 16 hexadecimal digits: the sentence, the expectation, the margin.
std::string expectation_of(const Claim& claim);
/// The verdict as it is shown: a shorter run than the full one that finds two ways as good has found no difference yet.
std::string_view shown_verdict(const Claim& claim, RunSize size);

/// Whether all claims hold, that is, none failed.
bool all_hold(std::span<const Claim> claims);

// Claims in records, registers and the output of `ulplab claims`.

/// id, kind, source, statement, expected, measured, verdict, expectation; of what is said of all cases "universal";
/// of parity "parity": margin, low, high, seeds, where null stands for an end that is infinite, side and worse.
nlohmann::ordered_json claim_json(const Claim& claim);
/// Throws nlohmann::json::exception where a field is missing or of another type, DataError for a verdict or kind that
/// does not exist.
Claim claim_from(const nlohmann::ordered_json& row);

}  // namespace ulp
