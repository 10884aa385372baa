#include "experiments/framework/claim.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "softfloat/errors.hpp"

namespace ulp {
namespace {

constexpr std::array<std::string_view, 5> names = {"reproduced", "refuted", "inconsistent", "quoted only", "failed"};

}  // namespace

std::string_view verdict_name(Verdict verdict) { return names.at(static_cast<std::size_t>(verdict)); }

Verdict verdict_by_name(std::string_view name) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end()) throw DataError(fmt::format("there is no verdict \"{}\"", name));
    return static_cast<Verdict>(found - names.begin());
}

bool all_hold(std::span<const Claim> claims) {
    return std::none_of(claims.begin(), claims.end(), [](const Claim& c) { return c.verdict == Verdict::failed; });
}

}  // namespace ulp
