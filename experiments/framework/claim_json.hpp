// Claims in records, registers and the output of `ulplab claims`.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "experiments/framework/claim.hpp"

namespace ulp {

/// id, kind, source, statement, expected, measured, verdict; of parity also "parity": margin, low, high, seeds, where
/// null stands for an end that is infinite.
nlohmann::ordered_json claim_json(const Claim& claim);
/// Throws nlohmann::json::exception where a field is missing or of another type, DataError for a verdict or kind that
/// does not exist.
Claim claim_from(const nlohmann::ordered_json& row);

}  // namespace ulp
