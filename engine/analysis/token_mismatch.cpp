#include "engine/analysis/token_mismatch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "softfloat/errors.hpp"
#include "softfloat/round.hpp"

namespace ulp {
namespace {

/// All tokens of both sides in one row.
struct TokenRow {
    std::vector<TokenOutlier> all;  // every token
    std::int64_t argmax_given = 0, argmax_differ = 0;
    static double gap(const TokenOutlier& t) { return t.b - t.a; }
};

void require_pair(std::size_t s, const TokenSequence& a, const TokenSequence& b) {
    if (a.tokens.size() != b.tokens.size()) {
        throw DataError(fmt::format("sequence {} has {} tokens in A and {} in B; give the same tokens to both engines",
                                    s, a.tokens.size(), b.tokens.size()));
    }
    for (std::size_t t = 0; t < a.tokens.size(); ++t) {
        if (a.tokens[t] == b.tokens[t]) continue;
        throw DataError(
            fmt::format("sequence {} differs at position {}: token {} in A, {} in B; give the same tokens to "
                        "both engines",
                        s, t, a.tokens[t], b.tokens[t]));
    }
}

TokenRow row_of(const std::vector<TokenSequence>& a, const std::vector<TokenSequence>& b) {
    if (a.size() != b.size()) {
        throw DataError(fmt::format("A has {} sequences and B {}; give as many", a.size(), b.size()));
    }
    TokenRow row;
    for (std::size_t s = 0; s < a.size(); ++s) {
        require_pair(s, a[s], b[s]);
        for (std::size_t t = 0; t < a[s].tokens.size(); ++t) {
            row.all.push_back({static_cast<std::int64_t>(s), static_cast<std::int64_t>(t), a[s].tokens[t],
                               a[s].log_probabilities[t], b[s].log_probabilities[t]});
        }
        if (a[s].argmax.empty() || b[s].argmax.empty()) continue;
        for (std::size_t t = 0; t < a[s].argmax.size(); ++t) {
            ++row.argmax_given;
            row.argmax_differ += a[s].argmax[t] != b[s].argmax[t] ? 1 : 0;
        }
    }
    if (row.all.empty()) throw DataError("the files hold no token; give at least one");
    return row;
}

NotFiniteTokens not_finite(const TokenRow& row, double TokenOutlier::*side) {
    NotFiniteTokens found;
    for (const TokenOutlier& each : row.all) {
        if (std::isfinite(each.*side)) continue;
        if (found.count++ == 0) found = {1, each.sequence, each.position};
    }
    return found;
}

bool all_in_bf16(const TokenRow& row, double TokenOutlier::*side) {
    return std::ranges::all_of(row.all,
                               [&](const TokenOutlier& t) { return round_to(formats::bf16, t.*side) == t.*side; });
}

template <class Value>
double mean_of(const TokenRow& row, const Value& value) {
    double sum = 0;
    for (const TokenOutlier& each : row.all) sum += value(each);
    return sum / static_cast<double>(row.all.size());
}

void find_growth(const TokenRow& row, TokenMismatch& found) {
    std::map<int, std::pair<std::int64_t, double>> bins;  // by the binade of position + 1
    for (const TokenOutlier& each : row.all) {
        auto& [count, squares] = bins[std::ilogb(static_cast<double>(each.position + 1))];
        ++count;
        squares += TokenRow::gap(each) * TokenRow::gap(each);
    }
    double weights = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (const auto& [binade, sums] : bins) {
        const auto count = static_cast<double>(sums.first);
        const double rms = std::sqrt(sums.second / count);
        const std::int64_t first = (std::int64_t{1} << binade) - 1;
        found.growth.push_back({first, 2 * first, sums.first, rms});
        if (rms == 0) continue;
        const double at = binade + 0.5;
        const double size = std::log2(rms);
        weights += count;
        x += count * at;
        y += count * size;
        xx += count * at * at;
        xy += count * at * size;
    }
    const double spread = weights * xx - x * x;
    if (spread > 0) found.growth_exponent = (weights * xy - x * y) / spread;
}

/// One-way analysis of variance over tokens: omega squared, 0 on average where the token does not matter.
void find_token_effect(const TokenRow& row, TokenMismatch& found) {
    std::map<std::int64_t, std::pair<std::int64_t, double>> groups;
    double total = 0;
    for (const TokenOutlier& each : row.all) {
        auto& [count, sum] = groups[each.token];
        ++count;
        sum += TokenRow::gap(each) - found.mean;
        total += std::pow(TokenRow::gap(each) - found.mean, 2);
    }
    double between = 0;
    for (const auto& [token, group] : groups) between += group.second * group.second / static_cast<double>(group.first);
    const auto n = static_cast<double>(row.all.size());
    const auto m = static_cast<double>(groups.size());
    if (n <= m || m < 2 || total <= 0) return;
    const double within = (total - between) / (n - m);
    found.token_effect = (between - (m - 1) * within) / (total + within);
    found.token_effect_sigma = std::sqrt(2 * (m - 1) * (n - 1) / (n - m)) / n;
}

void find_outliers(const TokenRow& row, TokenMismatch& found) {
    std::vector<TokenOutlier> sorted = row.all;
    std::ranges::stable_sort(sorted, [](const TokenOutlier& x, const TokenOutlier& y) {
        return std::abs(TokenRow::gap(x)) > std::abs(TokenRow::gap(y));
    });
    const std::size_t top = std::max<std::size_t>(1, sorted.size() / 100);
    double all = 0, largest = 0;
    for (std::size_t i = 0; i < sorted.size(); ++i) {
        const double square = TokenRow::gap(sorted[i]) * TokenRow::gap(sorted[i]);
        all += square;
        largest += i < top ? square : 0;
    }
    found.top_share = all > 0 ? largest / all : 0;
    sorted.resize(std::min<std::size_t>(sorted.size(), 5));
    std::erase_if(sorted, [](const TokenOutlier& each) { return TokenRow::gap(each) == 0; });
    found.outliers = sorted;
}

void find_figures(const TokenRow& row, TokenMismatch& found) {
    const auto gap = TokenRow::gap;
    found.equal = std::ranges::all_of(row.all, [&](const TokenOutlier& t) { return gap(t) == 0; });
    found.rms = std::sqrt(mean_of(row, [&](const TokenOutlier& t) { return gap(t) * gap(t); }));
    for (const TokenOutlier& t : row.all) found.max = std::max(found.max, std::abs(gap(t)));
    found.mean = mean_of(row, gap);
    found.kl = mean_of(row, [&](const TokenOutlier& t) { return std::expm1(gap(t)) - gap(t); });
    found.outside = mean_of(row, [&](const TokenOutlier& t) { return std::abs(std::expm1(gap(t))) > 0.2 ? 1.0 : 0.0; });
    found.capped = mean_of(row, [&](const TokenOutlier& t) { return std::exp(gap(t)) > 2 ? 1.0 : 0.0; });
    if (row.argmax_given > 0) {
        found.argmax_changes = static_cast<double>(row.argmax_differ) / static_cast<double>(row.argmax_given);
    }
    found.sequence_ratio.assign(static_cast<std::size_t>(found.sequences), 0);
    for (const TokenOutlier& t : row.all) {
        found.sequence_ratio[static_cast<std::size_t>(t.sequence)] += gap(t);
        if (gap(t) != 0 && (found.first_difference < 0 || t.position < found.first_difference)) {
            found.first_difference = t.position;
        }
    }
    for (double& each : found.sequence_ratio) each = std::exp(each);
    found.a_in_bf16 = all_in_bf16(row, &TokenOutlier::a);
    found.b_in_bf16 = all_in_bf16(row, &TokenOutlier::b);
    find_growth(row, found);
    find_token_effect(row, found);
    find_outliers(row, found);
}

// The causes.

constexpr double factor_of_the_model = 3;

/// By size: an rms within the model's factor is possible.
MismatchCause by_size(std::string name, double expected, double rms) {
    MismatchCause cause{std::move(name), expected, "possible", ""};
    const double ratio = expected > 0 ? rms / expected : 0;
    cause.reason = fmt::format("the gap is {:.2g} times what it would make", ratio);
    if (ratio > factor_of_the_model) cause.verdict = "unlikely";
    if (ratio > factor_of_the_model) cause.reason += ", too much for it alone";
    if (ratio < 1 / factor_of_the_model) cause.verdict = "unlikely";
    if (ratio < 1 / factor_of_the_model) cause.reason += ", less than it makes";
    return cause;
}

MismatchCause of_versions(const TokenMismatch& found) {
    MismatchCause cause{"another policy version", std::nullopt, "unlikely", ""};
    const double sigmas = found.token_effect_sigma > 0 ? found.token_effect / found.token_effect_sigma : 0;
    if (found.token_effect_sigma == 0) {
        cause.verdict = "possible";
        cause.reason = "no token stands twice, so nothing can be said";
    } else if (sigmas > 4) {
        cause.verdict = "possible";
        cause.reason = fmt::format(
            "the token explains {:.0f} % of the gap's variance ({:.1f} standard errors); weights "
            "that differ do that, and coarsely rounded ones (FP8) too",
            100 * found.token_effect, sigmas);
    } else {
        cause.reason = fmt::format("the same token does not tend to the same gap ({:.1f} standard errors)", sigmas);
    }
    return cause;
}

/// The difference that order makes, relative to the activations.
double difference_of_order(const LanguageModelSize& size, double q) {
    double e = std::min(q, 0x1p-24 * std::sqrt(static_cast<double>(size.width)));
    for (int rounding = 0; rounding < 5; ++rounding) e = std::sqrt(e * q);
    return std::sqrt(e * e + static_cast<double>(size.layers) * q * q / 6);
}

}  // namespace

std::vector<MismatchCause> mismatch_causes(const TokenMismatch& found, double uncertainty) {
    const double s = found.logit_deviation;
    const double q = 1.47 * 0x1p-8;
    const double order = s * difference_of_order(found.model, q) * uncertainty;
    std::vector<MismatchCause> causes{
        by_size("bf16 head", s * s * q / std::sqrt(12.0) * uncertainty, found.rms), by_size("order", order, found.rms),
        by_size("attention tile", order, found.rms),
        by_size("FP8 rollout", s * 2 * 1.47 * 0x1p-4 / std::sqrt(12.0) * uncertainty, found.rms), of_versions(found)};
    causes[2].reason += found.first_difference == 0
                            ? "; position 0 differs, which it cannot make where no prompt stands before"
                            : fmt::format("; positions before {} are equal", found.first_difference);
    for (MismatchCause& each : causes) {
        if (s > 0 || !each.expected) continue;
        each.verdict = "unknown";
        each.reason =
            "the tokens are less probable than by chance: they are not this model's, or its vocabulary is larger";
    }
    return causes;
}

TokenMismatch token_mismatch(const std::vector<TokenSequence>& a, const std::vector<TokenSequence>& b,
                             const LanguageModelSize& size) {
    const TokenRow row = row_of(a, b);
    TokenMismatch found{static_cast<std::int64_t>(a.size()), static_cast<std::int64_t>(row.all.size()),
                        not_finite(row, &TokenOutlier::a), not_finite(row, &TokenOutlier::b)};
    if (found.a_not_finite.count + found.b_not_finite.count > 0) return found;
    find_figures(row, found);
    if (found.equal) return found;
    found.model = size;
    if (size.vocabulary == 0) {
        for (const TokenOutlier& each : row.all)
            found.model.vocabulary = std::max(found.model.vocabulary, each.token + 1);
    }
    const double entropy = mean_of(row, [](const TokenOutlier& t) { return -t.a; });
    const double uncertainty =
        std::sqrt(mean_of(row, [](const TokenOutlier& t) { return std::pow(std::expm1(std::min(t.a, 0.0)), 2); }));
    const auto vocabulary = static_cast<double>(std::max<std::int64_t>(found.model.vocabulary, 2));
    found.logit_deviation = std::sqrt(2 * std::max(std::log(vocabulary) - entropy, 0.0));
    found.causes = mismatch_causes(found, uncertainty);
    return found;
}

nlohmann::ordered_json json_of(const TokenMismatch& f) {
    using Json = nlohmann::ordered_json;
    const auto of = [](const NotFiniteTokens& t) {
        return t.count == 0 ? Json(nullptr)
                            : Json{{"count", t.count}, {"sequence", t.sequence}, {"position", t.position}};
    };
    Json json{{"sequences", f.sequences},
              {"tokens", f.tokens},
              {"equal", f.equal},
              {"not_finite", {{"a", of(f.a_not_finite)}, {"b", of(f.b_not_finite)}}}};
    const bool finite = f.a_not_finite.count + f.b_not_finite.count == 0;
    const auto figure = [&](const char* name, Json value) { json[name] = finite ? std::move(value) : Json(nullptr); };
    figure("rms", f.rms);
    figure("max", f.max);
    figure("mean", f.mean);
    figure("kl", f.kl);
    figure("outside", f.outside);
    figure("capped", f.capped);
    figure("argmax_changes", f.argmax_changes ? Json(*f.argmax_changes) : Json(nullptr));
    figure("sequence_ratio", f.sequence_ratio);
    figure("first_difference", f.first_difference < 0 ? Json(nullptr) : Json(f.first_difference));
    figure("growth_exponent", f.growth_exponent ? Json(*f.growth_exponent) : Json(nullptr));
    figure("top_share", f.top_share);
    figure("token_effect", {{"share", f.token_effect}, {"standard_error", f.token_effect_sigma}});
    figure("in_bf16", {{"a", f.a_in_bf16}, {"b", f.b_in_bf16}});
    figure("logit_deviation", f.logit_deviation);
    json["model"] = {{"layers", f.model.layers}, {"width", f.model.width}, {"vocabulary", f.model.vocabulary}};
    json["growth"] = Json::array();
    for (const GrowthBin& g : f.growth) {
        json["growth"].push_back({{"first", g.first}, {"last", g.last}, {"count", g.count}, {"rms", g.rms}});
    }
    json["outliers"] = Json::array();
    for (const TokenOutlier& t : f.outliers) {
        json["outliers"].push_back(
            {{"sequence", t.sequence}, {"position", t.position}, {"token", t.token}, {"a", t.a}, {"b", t.b}});
    }
    json["causes"] = Json::array();
    for (const MismatchCause& c : f.causes) {
        json["causes"].push_back({{"name", c.name},
                                  {"expected_rms", c.expected ? Json(*c.expected) : Json(nullptr)},
                                  {"verdict", c.verdict},
                                  {"reason", c.reason}});
    }
    return json;
}

std::vector<std::string> not_finite_texts(const TokenMismatch& f) {
    std::vector<std::string> texts;
    for (const auto& [side, found] : {std::pair("A", f.a_not_finite), std::pair("B", f.b_not_finite)}) {
        if (found.count == 0) continue;
        texts.push_back(
            fmt::format("{} has {} log-probabilities that are not finite, the first in sequence {} at position {}",
                        side, found.count, found.sequence, found.position));
    }
    return texts;
}

std::string text_of(const TokenMismatch& f, const std::string& a, const std::string& b) {
    std::string text = fmt::format("A {}\nB {}\n{} tokens in {} sequences; d = log-probability of B - that of A\n", a,
                                   b, f.tokens, f.sequences);
    const std::vector<std::string> not_finite = not_finite_texts(f);
    for (const std::string& side : not_finite) text += side + ": no figures\n";
    if (!not_finite.empty()) return text;
    if (f.equal) return text + "All log-probabilities are equal: every figure is 0, every ratio 1.\n";
    text += fmt::format("rms {:.4g}   max {:.4g}   mean {:.3g}   KL(A || B) {:.4g} (k3)\n", f.rms, f.max, f.mean, f.kl);
    text += fmt::format("ratios outside 0.8 to 1.2: {:.3g} %   above 2: {:.3g} %\n", 100 * f.outside, 100 * f.capped);
    if (f.argmax_changes) text += fmt::format("most probable token changes: {:.3g} %\n", 100 * *f.argmax_changes);
    const auto [least, most] = std::ranges::minmax(f.sequence_ratio);
    text +=
        fmt::format("ratio of whole sequences: {:.4g} to {:.4g}\n\nposition        tokens   rms of d\n", least, most);
    for (const GrowthBin& g : f.growth)
        text += fmt::format("{:>5} to {:<6} {:>6}   {:.4g}\n", g.first, g.last, g.count, g.rms);
    if (f.growth_exponent) text += fmt::format("grows as position^{:.2f}; ", *f.growth_exponent);
    text += fmt::format("first difference at position {}\n", f.first_difference);
    text += fmt::format("the largest 1 % of tokens make {:.0f} % of the sum of squares\n\n", 100 * f.top_share);
    for (const TokenOutlier& t : f.outliers) {
        text += fmt::format("sequence {}, position {}, token {}: A {:.5f}, B {:.5f}\n", t.sequence, t.position, t.token,
                            t.a, t.b);
    }
    for (const auto& [side, in_bf16] : {std::pair("A", f.a_in_bf16), std::pair("B", f.b_in_bf16)}) {
        if (in_bf16)
            text += fmt::format("All log-probabilities of {} are numbers of bf16: they were rounded to it.\n", side);
    }
    text += fmt::format(
        "\nWhat would make such a gap, by a simple model of {} layers, width {}, vocabulary {}; logits' deviation "
        "{:.2g}\n",
        f.model.layers, f.model.width, f.model.vocabulary, f.logit_deviation);
    for (const MismatchCause& c : f.causes) {
        text += fmt::format("{:<24} {:<9} {:<10} {}\n", c.name, c.expected ? fmt::format("{:.2g}", *c.expected) : "-",
                            c.verdict, c.reason);
    }
    return text;
}

}  // namespace ulp
