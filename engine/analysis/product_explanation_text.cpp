// What an explanation of a product says, as text and as JSON.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <span>

#include "engine/analysis/product_explanation.hpp"
#include "softfloat/names.hpp"

namespace ulp {

std::string order_text(const ProductComputation& way) {
    constexpr std::array walks = {"", "descending k; ", "even k first; "};  // in the order of LaneOrder
    const std::string order = name_of(way.order);
    const std::string walk = walks.at(static_cast<std::size_t>(way.walk));
    if (walk.empty()) return order;
    // "ascending" is said of the sequence that the walk makes.
    constexpr std::string_view ascending = "ascending k";
    const std::string rest = order.starts_with(ascending) ? order.substr(ascending.size()) : order;
    return rest.empty() ? walk.substr(0, walk.size() - 2) : walk + (rest.starts_with(", ") ? rest.substr(2) : rest);
}

std::string epilogue_text(const ProductComputation& way) {
    if (way.order.epilogue)
        return fmt::format("alpha = {}, beta = {}", way.order.epilogue->alpha, way.order.epilogue->beta);
    return way.reads_c ? "C is the first addend" : "none";
}

std::string way_text(const ProductComputation& way) {
    std::string text = fmt::format("{}, {}", way.unit, order_text(way));
    if (way.reads_c || way.order.epilogue) text += ", " + epilogue_text(way);
    if (way.output != way.model.accumulator) text += fmt::format(", stored in {}", name_of(way.output));
    if (!way.fault.empty()) text += ", but " + way.fault;
    return text;
}

namespace {

constexpr std::size_t candidates_shown = 8;
constexpr std::size_t elements_shown = 5;
constexpr std::size_t ways_shown = 6;  // of a candidate; JSON has all

/// The first elements in which two candidates differ.
template <class Real>
std::vector<Index> differing(const BasicProductCandidate<Real>& x, const BasicProductCandidate<Real>& y) {
    std::vector<Index> places;
    for (Index i = 0; i < x.d.size() && places.size() < elements_shown; ++i) {
        if (!same_bits(x.d.data()[i], y.d.data()[i])) places.push_back(i);
    }
    return places;
}

nlohmann::ordered_json json_of(const ProductComputation& way) {
    return {{"unit", way.unit},
            {"order", order_text(way)},
            {"split_k", way.order.split_k},
            {"epilogue", epilogue_text(way)},
            {"output", name_of(way.output)},
            {"fault", way.fault.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(way.fault)}};
}

}  // namespace

template <class Real>
std::string verdict_text(const BasicProductExplanation<Real>& explanation) {
    switch (explanation.verdict) {
        case ProductVerdict::explained: return "explained";
        case ProductVerdict::fault: return "explained as a fault: " + explanation.candidates.front().ways.front().fault;
        case ProductVerdict::within_bound: return "within the bound but not explained";
        case ProductVerdict::outside_bound: return "outside the bound";
    }
    return "";
}

template <class Real>
std::string explanation_text(const BasicProductQuestion<Real>& q, const BasicProductExplanation<Real>& explanation) {
    std::string text = fmt::format("D is {} x {}, k = {}; {} ways were tried on {} elements or fewer\n\n", q.d.rows(),
                                   q.d.cols(), q.a.cols(), explanation.tried, explanation.tried_on);
    const auto& candidates = explanation.candidates;
    for (std::size_t i = 0; i < std::min(candidates.size(), candidates_shown); ++i) {
        text += fmt::format("{} of {} elements\n", candidates[i].matches, explanation.of);
        for (const ProductComputation& way :
             std::span(candidates[i].ways).first(std::min(ways_shown, candidates[i].ways.size()))) {
            text += fmt::format("  {}{}\n", &way == &candidates[i].ways.front() ? "" : "or ", way_text(way));
            if (!way.same_units.empty()) {
                text += fmt::format("     (the same model: {})\n", fmt::join(way.same_units, ", "));
            }
        }
        if (candidates[i].ways.size() > ways_shown) {
            text += fmt::format("  or {} ways more\n", candidates[i].ways.size() - ways_shown);
        }
    }
    const bool none = candidates.empty() || candidates.front().matches == 0;
    if (none) text += "none of the ways gives an element of D\n";
    if (!none && candidates.size() > 1) {
        text += "\nThe first two differ, for one, in\n";
        constexpr std::size_t digits = 2 * sizeof(Real);
        for (const Index at : differing(candidates[0], candidates[1])) {
            const Index cols = q.d.cols();
            text += fmt::format("  D({}, {}) = {:0{}x}: {:0{}x} by the first, {:0{}x} by the second\n", at / cols,
                                at % cols, bits_of(q.d.data()[at]), digits, bits_of(candidates[0].d.data()[at]), digits,
                                bits_of(candidates[1].d.data()[at]), digits);
        }
    }
    text += "\n" + verdict_text(explanation);
    if (explanation.verdict != ProductVerdict::explained) return text + "\n";
    const std::size_t agree = explanation.agree();
    return text + (agree == 1
                       ? " (one way)\n"
                       : fmt::format(" ({} ways agree; --out PREFIX writes operands that tell them apart)\n", agree));
}

template <class Real>
std::string explanation_json(const BasicProductQuestion<Real>& q, const BasicProductExplanation<Real>& explanation) {
    using Json = nlohmann::ordered_json;
    Json list = Json::array();
    const auto& candidates = explanation.candidates;
    for (std::size_t i = 0; i < std::min(candidates.size(), candidates_shown); ++i) {
        Json row = json_of(candidates[i].ways.front());
        row["matches"] = candidates[i].matches;
        row["of"] = explanation.of;
        row["ties"] = Json::array();
        for (const ProductComputation& way : candidates[i].ways) {
            if (&way != &candidates[i].ways.front()) row["ties"].push_back(json_of(way));
            for (const std::string& unit : way.same_units) {
                row["ties"].push_back(json_of(way));
                row["ties"].back()["unit"] = unit;
            }
        }
        row["separated_from_next"] = Json::array();
        if (i + 1 < candidates.size()) {
            for (const Index at : differing(candidates[i], candidates[i + 1])) {
                const Index cols = q.d.cols();
                row["separated_from_next"].push_back({at / cols, at % cols});
            }
        }
        list.push_back(std::move(row));
    }
    const Json all = {
        {"unit", q.unit},
        {"m", q.d.rows()},
        {"n", q.d.cols()},
        {"k", q.a.cols()},
        {"tried", explanation.tried},
        {"verdict", verdict_text(explanation)},
        {"agree", explanation.agree()},
        {"missing_k",
         explanation.verdict == ProductVerdict::fault ? explanation.candidates.front().ways.front().missing : 0},
        {"candidates", std::move(list)}};
    return all.dump(2) + "\n";
}

#define ULP_EXPLANATION_TEXT(Real)                                                                                  \
    template std::string verdict_text(const BasicProductExplanation<Real>&);                                        \
    template std::string explanation_text(const BasicProductQuestion<Real>&, const BasicProductExplanation<Real>&); \
    template std::string explanation_json(const BasicProductQuestion<Real>&, const BasicProductExplanation<Real>&)
ULP_EXPLANATION_TEXT(float);
ULP_EXPLANATION_TEXT(double);
#undef ULP_EXPLANATION_TEXT

}  // namespace ulp
