// What a run's claims say on the terminal, and how they stand beside the register.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "experiments/framework/register.hpp"

namespace ulp {

/// A run, as far as the register judges it.
struct JudgedRun {
    std::string_view experiment;
    RunSize size;
    std::uint64_t seed;
    bool own_settings;  // and its own backend
    std::span<const Claim> claims;
};

/// The committed registers; each is read when the first run of its size is judged, and once.
class RegisterJudge {
  public:
    /// Says on stderr where claims of the run differ from the register, and gives whether none does. A run with other
    /// settings or another seed than the register's is not judged, and a size of run without a register has nothing to
    /// differ from. Throws DataError where the register is damaged.
    bool agrees(const JudgedRun& run);

  private:
    std::map<RunSize, std::optional<Register>> registers_;
};

/// A verdict, an id and what was measured a line.
void print_claim_table(std::span<const Claim> claims);

/// Of each claim its verdict, in colour on a terminal, its sentence, its id and what was measured; of those that are
/// not as the source says also what was expected. Failed ones come last.
void print_claim_sentences(std::span<const Claim> claims);

}  // namespace ulp
