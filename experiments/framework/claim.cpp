#include "experiments/framework/claim.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/files/sha256.hpp"
#include "softfloat/errors.hpp"

namespace ulp {

namespace {

constexpr std::array<std::string_view, claim_kinds.size()> kind_names = {"measured", "arithmetic", "quoted"};
constexpr std::array side_names = {"either", "not below", "not above"};
constexpr std::array<std::string_view, verdicts.size()> verdict_names = {"reproduced", "refuted",     "inconsistent",
                                                                         "undecided",  "quoted only", "failed"};

template <class Names>
std::size_t place_of(const Names& names, std::string_view name, std::string_view what) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) throw DataError(fmt::format("there is no {} \"{}\"", what, name));
    return static_cast<std::size_t>(found - names.begin());
}

}  // namespace

std::string_view name_of(ClaimKind kind) { return kind_names.at(static_cast<std::size_t>(kind)); }

ClaimKind claim_kind_by_name(std::string_view name) {
    return claim_kinds.at(place_of(kind_names, name, "kind of claim"));
}

std::string_view verdict_name(Verdict verdict) { return verdict_names.at(static_cast<std::size_t>(verdict)); }

Verdict verdict_by_name(std::string_view name) { return verdicts.at(place_of(verdict_names, name, "verdict")); }

bool all_hold(std::span<const Claim> claims) {
    return std::none_of(claims.begin(), claims.end(), [](const Claim& c) { return c.verdict == Verdict::failed; });
}

std::string expectation_of(const Claim& claim) {
    const std::string margin = claim.parity ? nlohmann::ordered_json(claim.parity->margin).dump() : "";
    return sha256_of(fmt::format("{}\n{}\n{}", claim.statement, claim.expected, margin)).substr(0, 16);
}

std::string_view shown_verdict(const Claim& claim, RunSize size) {
    const bool as_good = claim.parity && !claim.parity->worse && claim.verdict == Verdict::reproduced;
    return as_good && size < RunSize::full ? "no difference yet" : verdict_name(claim.verdict);
}

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
                {"verdict", verdict_name(claim.verdict)},
                {"expectation", expectation_of(claim)}};
    if (claim.universal) row["universal"] = true;
    if (claim.parity) {
        row["parity"] = {{"margin", claim.parity->margin},
                         {"low", end_json(claim.parity->low)},
                         {"high", end_json(claim.parity->high)},
                         {"seeds", claim.parity->seeds},
                         {"side", side_names.at(static_cast<std::size_t>(claim.parity->side))},
                         {"worse", claim.parity->worse}};
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
    claim.universal = row.contains("universal") && row.at("universal") == true;
    if (row.contains("parity") && !row.at("parity").is_null()) {
        constexpr double infinity = std::numeric_limits<double>::infinity();
        const Json& parity = row.at("parity");
        claim.parity = ParityInterval{
            parity.at("margin"),
            end_from(parity.at("low"), -infinity),
            end_from(parity.at("high"), infinity),
            parity.at("seeds"),
            static_cast<MarginSide>(place_of(side_names, parity.at("side").get<std::string>(), "side of a margin")),
            parity.at("worse")};
    }
    return claim;
}

}  // namespace ulp
