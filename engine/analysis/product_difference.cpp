#include "engine/analysis/product_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

namespace ulp {
namespace {

/// Of finite values, of which `largest` or the least is the extreme.
std::optional<ShareOfBound> share_of(std::vector<double> values, bool largest) {
    std::erase_if(values, [](double x) { return !std::isfinite(x); });
    if (values.empty()) return std::nullopt;
    std::ranges::sort(values);
    return ShareOfBound{largest ? values.back() : values.front(), values[values.size() / 2]};
}

bool is_explained(const ProductExplanation& explanation) { return explanation.verdict == ProductVerdict::explained; }

std::string verdict_of_both(const ProductDifference& difference, bool within_bounds) {
    const auto& [first, second] = difference.explanations;
    if (difference.differ == 0) return "equal";
    if (difference.explained) return "explained";
    for (const ProductExplanation* each : {&first, &second}) {
        if (each->verdict != ProductVerdict::fault) continue;
        return fmt::format("{}, in {}", verdict_text(*each), each == &first ? "D1" : "D2");
    }
    return within_bounds ? "within both bounds but not explained" : "outside the bounds";
}

/// The first way that gives all of D, or what is said where there is none.
std::string explanation_of(const ProductExplanation& explanation) {
    if (explanation.agree() == 0) return verdict_text(explanation);
    const std::string way = way_text(explanation.candidates.front().ways.front());
    return explanation.agree() == 1 ? way : fmt::format("{} (one of {} ways)", way, explanation.agree());
}

}  // namespace

ProductDifference difference_of(const ProductQuestion& first, const ProductQuestion& second,
                                const std::optional<Tolerance>& tolerance) {
    ProductDifference difference;
    difference.explanations = {explain_product(first), explain_product(second)};
    difference.elements = first.d.size();
    const auto bounds_of = [](const ProductQuestion& question, const ProductExplanation& explanation) {
        const bool by_way = is_explained(explanation);
        return bounds_of_elements(question, by_way ? &explanation.candidates.front().ways.front() : nullptr);
    };
    const std::vector<double> bounds = bounds_of(first, difference.explanations[0]);
    const std::vector<double> others = bounds_of(second, difference.explanations[1]);
    std::vector<double> shares, tolerances;
    bool within = true;
    for (std::size_t e = 0; e < bounds.size(); ++e) {
        const float x = first.d.data()[e], y = second.d.data()[e];
        const double bound = bounds[e] + others[e];
        if (tolerance) tolerances.push_back((tolerance->atol + tolerance->rtol * std::abs(y)) / bound);
        if (same_bits(x, y)) continue;
        ++difference.differ;
        const double apart = std::abs(static_cast<double>(x) - static_cast<double>(y));
        shares.push_back(std::isinf(bound) ? 0 : apart / bound);
        within = within && shares.back() <= 1;
    }
    difference.explained = difference.differ == 0 ||
                           (is_explained(difference.explanations[0]) && is_explained(difference.explanations[1]));
    for (const ProductExplanation& each : difference.explanations) {
        within = within && each.verdict != ProductVerdict::outside_bound;
    }
    difference.of_bound = share_of(shares, true);
    difference.tolerance = share_of(tolerances, false);
    difference.verdict = verdict_of_both(difference, within);
    return difference;
}

std::string difference_text(const ProductDifference& difference) {
    std::string text;
    for (std::size_t i = 0; i < 2; ++i) {
        text += fmt::format("{:<12} {}\n", fmt::format("D{}", i + 1), explanation_of(difference.explanations[i]));
    }
    text += fmt::format("{:<12} {} of {} differ\n", "elements", difference.differ, difference.elements);
    if (difference.of_bound) {
        text += fmt::format("{:<12} largest {:.3g}, median {:.3g} of the elements that differ\n", "of the bound",
                            difference.of_bound->extreme, difference.of_bound->median);
    }
    if (difference.tolerance) {
        text += fmt::format("{:<12} your tolerance is {:.3g} times the bound (median; at least {:.3g})\n", "tolerance",
                            difference.tolerance->median, difference.tolerance->extreme);
    }
    return text + "\n" + difference.verdict + "\n";
}

std::string difference_json(const ProductDifference& difference) {
    using Json = nlohmann::ordered_json;
    const auto share = [](const std::optional<ShareOfBound>& x, const char* extreme) {
        return x ? Json{{extreme, x->extreme}, {"median", x->median}} : Json(nullptr);
    };
    Json json{{"verdict", difference.verdict}, {"explained_by", Json::array()}};
    for (const ProductExplanation& each : difference.explanations) {
        json["explained_by"].push_back(each.agree() == 0 ? Json(nullptr) : Json(explanation_of(each)));
    }
    json["of_bound"] = share(difference.of_bound, "largest");
    json["elements"] = {{"differ", difference.differ}, {"of", difference.elements}};
    json["tolerance_of_bound"] = share(difference.tolerance, "least");
    return json.dump(2) + "\n";
}

}  // namespace ulp
