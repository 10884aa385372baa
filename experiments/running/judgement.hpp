// What a run's claims say on the terminal, and how they stand beside the register.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "experiments/results/register.hpp"

namespace ulp {

/// The committed registers; each is read when the first run of its size is judged, and once.
class RegisterJudge {
  public:
    /// Says on stderr where claims of a run that the register judges differ from it, and gives whether none does. A
    /// size of run without a register has nothing to differ from. Throws DataError where the register is damaged.
    bool agrees(std::string_view experiment, RunSize size, std::span<const Claim> claims);

  private:
    std::map<RunSize, std::optional<Register>> registers_;
};

/// A verdict, an id and what was measured a line.
void print_claim_table(std::span<const Claim> claims);

/// Of each claim its verdict, in colour on a terminal, its sentence, its id and what was measured; of those that are
/// not as the source says also what was expected. Failed ones come last.
void print_claim_sentences(std::span<const Claim> claims);

}  // namespace ulp
