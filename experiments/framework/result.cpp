#include "experiments/framework/result.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "experiments/framework/figure.hpp"

namespace ulp {

void Result::judge(ClaimKind kind, std::string_view id, std::string_view source, std::string_view statement,
                   Check check, Verdict agrees) {
    // In the order of Outcome.
    const std::array verdict = {agrees, Verdict::failed, Verdict::refuted, Verdict::undecided};
    add(id, {"", std::string(source), std::string(statement), std::move(check.expected), std::move(check.measured),
             verdict.at(static_cast<std::size_t>(check.outcome)), kind, check.parity, check.universal});
}

void Result::measured(std::string_view id, std::string_view source, std::string_view statement, Check check,
                      Verdict agrees) {
    // Where the reference has not learned, being as good as it tells nothing, and not being worse; being worse does.
    const bool is_worse = check.parity && !check.parity->worse && check.outcome == Outcome::refuted;
    for (std::size_t i = 0; check.parity && !is_worse && i < claims_.size(); ++i) {
        const std::string_view other = std::string_view(claims_[i].id).substr(experiment_.size() + 1);
        const bool of_net = other.ends_with("_learns") && id.starts_with(other.substr(0, other.size() - 7));
        if ((other != "learns" && !of_net) || claims_[i].verdict == Verdict::reproduced) continue;
        check = given({claims_[i].expected, claims_[i].measured, Outcome::fails}, std::move(check));
    }
    judge(ClaimKind::measured, id, source, statement, std::move(check), agrees);
}

void Result::arithmetic(std::string_view id, std::string_view source, std::string_view statement, Check check,
                        Verdict agrees) {
    judge(ClaimKind::arithmetic, id, source, statement, std::move(check), agrees);
}

void Result::quoted(std::string_view id, std::string_view source, std::string_view statement, std::string value,
                    std::string_view reason) {
    add(id, {"", std::string(source), std::string(statement), std::move(value), fmt::format("not measured: {}", reason),
             Verdict::quoted});
}

void Result::add(std::string_view id, Claim claim) {
    claim.id = fmt::format("{}.{}", experiment_, id);
    if (std::any_of(claims_.begin(), claims_.end(), [&](const Claim& c) { return c.id == claim.id; })) {
        throw std::logic_error("two claims have the id " + claim.id);
    }
    claims_.push_back(std::move(claim));
}

Figure& Result::figure(Figure figure) {
    for (const Series& series : figure.series) {
        if (series.name.find_first_of(",\"\n") != std::string::npos) {
            throw std::logic_error("gnuplot cannot select a series with a comma or quote: " + series.name);
        }
    }
    if (figure.meaning.ends_with(',') || figure.meaning.ends_with(';')) figure.meaning.back() = '.';
    figures_.push_back(std::move(figure));
    return figures_.back();
}

void Result::evidence(std::string text) {
    if (std::find(evidence_.begin(), evidence_.end(), text) == evidence_.end()) evidence_.push_back(std::move(text));
}

void Result::trained(std::int64_t parameters, std::int64_t steps) {
    const auto same = [&](const TrainingsMade& t) { return t.parameters == parameters && t.steps == steps; };
    const auto found = std::ranges::find_if(trainings_, same);
    if (found == trainings_.end()) {
        trainings_.push_back({parameters, steps, 1});
    } else {
        ++found->runs;
    }
}

std::string first_x(const Series& series, const std::function<bool(double)>& is, const std::string& before,
                    const std::string& none) {
    const auto found = std::ranges::find_if(series.points, [&](const Point& point) { return is(point.y); });
    return found == series.points.end() ? none : before + fmt::format("{:g}", found->x);
}

Axis named_axis(const std::vector<std::string>& names, std::string label) {
    Axis axis{.label = std::move(label), .from = -0.6, .to = static_cast<double>(names.size()) - 0.4};
    for (const std::string& name : names) axis.names.emplace_back(static_cast<double>(axis.names.size()), name);
    return axis;
}

std::vector<Guide> fp16_underflow() {
    return {{.right = -25.0, .text = "lost in fp16"},
            {.left = -25.0, .right = -14.0, .text = "subnormal", .strength = 0.18}};
}

void draw_bars(Figure& figure) {
    const auto count = static_cast<double>(figure.series.size());
    for (double i = 0; i < count; ++i) {
        figure.looks.push_back({.mark = Mark::boxes, .shift = 0.8 / count * (i - 0.5 * (count - 1)), .number = true});
    }
    figure.bar_width = 0.72 / count;
}

}  // namespace ulp
