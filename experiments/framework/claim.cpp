#include "experiments/framework/claim.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "softfloat/errors.hpp"

namespace ulp {
namespace {

constexpr std::array<std::string_view, claim_kinds.size()> kind_names = {"measured", "arithmetic", "quoted"};
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

}  // namespace ulp
