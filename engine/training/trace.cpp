#include "engine/training/trace.hpp"

#include <fmt/format.h>

namespace ulp::inline ULPLAB_MODE {

Sha256 Trace::taken() const {
    Sha256 sha = before;
    for (const TraceStep& step : steps) {
        std::string text = fmt::format("{} {:x} {} {}", step.step, step.loss_bits, step.loss_scale, step.skipped);
        for (const std::string& digest : step.digests) text += " " + digest;
        text += "\n";
        sha.add(std::as_bytes(std::span(text)));
    }
    return sha;
}

std::vector<std::string> digests_of(const Model& model) {
    std::vector<std::string> digests;
    for (const Parameter& parameter : model.parameters()) {
        digests.push_back(Sha256().add(parameter.updated().values()).hex());
    }
    return digests;
}

std::optional<std::string> first_difference(const Trace& a, const Trace& b) {
    if (a.parameters != b.parameters) return "the parameters differ";
    if (a.steps_before != b.steps_before) {
        return fmt::format("one begins at step {}, the other at step {}", a.steps_before, b.steps_before);
    }
    if (a.before.state() != b.before.state()) return fmt::format("they differ before step {}", a.steps_before);
    for (std::size_t i = 0; i < a.steps.size() && i < b.steps.size(); ++i) {
        const TraceStep& x = a.steps[i];
        const TraceStep& y = b.steps[i];
        if (x == y) continue;
        if (x.loss_bits != y.loss_bits) {
            return fmt::format("step {}: the loss differs, {:#x} and {:#x}", x.step, x.loss_bits, y.loss_bits);
        }
        for (std::size_t p = 0; p < x.digests.size() && p < y.digests.size(); ++p) {
            if (x.digests[p] != y.digests[p]) return fmt::format("step {}: {} differs", x.step, a.parameters[p]);
        }
        return fmt::format("step {}: the loss scale or the skipping differs", x.step);
    }
    if (a.steps.size() != b.steps.size()) {
        return fmt::format("one has {} steps, the other {}", a.steps.size(), b.steps.size());
    }
    return std::nullopt;
}

}  // namespace ulp::inline ULPLAB_MODE
