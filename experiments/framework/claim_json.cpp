#include "experiments/framework/claim_json.hpp"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

namespace ulp {
namespace {

using Json = nlohmann::ordered_json;

Json end_json(double end) { return std::isfinite(end) ? Json(end) : Json(nullptr); }
double end_from(const Json& end, double infinite) { return end.is_null() ? infinite : end.get<double>(); }

}  // namespace

Json claim_json(const Claim& claim) {
    Json row = {{"id", claim.id},
                {"kind", name_of(claim.kind)},
                {"source", claim.source},
                {"statement", claim.statement},
                {"expected", claim.expected},
                {"measured", claim.measured},
                {"verdict", verdict_name(claim.verdict)}};
    if (claim.parity) {
        row["parity"] = {{"margin", claim.parity->margin},
                         {"low", end_json(claim.parity->low)},
                         {"high", end_json(claim.parity->high)},
                         {"seeds", claim.parity->seeds}};
    }
    return row;
}

Claim claim_from(const Json& row) {
    Claim claim{row.at("id"),
                row.at("source"),
                row.at("statement"),
                row.at("expected"),
                row.at("measured"),
                verdict_by_name(row.at("verdict").get<std::string>()),
                claim_kind_by_name(row.at("kind").get<std::string>())};
    if (row.contains("parity")) {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        const Json& parity = row.at("parity");
        claim.parity = ParityInterval{parity.at("margin"), end_from(parity.at("low"), -infinity),
                                      end_from(parity.at("high"), infinity), parity.at("seeds")};
    }
    return claim;
}

}  // namespace ulp
