#include "engine/training/checkpoint.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <span>

#include "engine/files/sha256.hpp"
#include "softfloat/names.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;
using Metadata = std::map<std::string, std::string>;

constexpr std::string_view identity_prefix = "run/";
constexpr std::string_view kept_prefix = "kept/";
constexpr std::string_view checkpoint_format = "2";

[[noreturn]] void refuse(const fs::path& file, const std::string& why) {
    throw DataError(fmt::format("{}: {}", file.string(), why));
}

/// A double's own shortest text reads back as itself.
std::string text_of_number(double x) { return fmt::format("{}", x); }

std::string entry_of(const fs::path& file, const Metadata& metadata, const std::string& name) {
    const auto entry = metadata.find(name);
    if (entry == metadata.end()) refuse(file, fmt::format("this checkpoint has no '{}'", name));
    return entry->second;
}

double number_of(const fs::path& file, const Metadata& metadata, const std::string& name) {
    double value = 0;
    const std::string text = entry_of(file, metadata, name);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
        refuse(file, fmt::format("'{}' is {}, not a number", name, text));
    }
    return value;
}

/// The same for a number of steps.
std::int64_t count_of(const fs::path& file, const Metadata& metadata, const std::string& name) {
    const double value = number_of(file, metadata, name);
    if (value >= 0 && value <= 0x1p53 && value == std::floor(value)) return static_cast<std::int64_t>(value);
    refuse(file, fmt::format("'{}' is {}, not a whole number from 0 on", name, value));
}

/// All that the run's bits depend on; what the user knows is told first.
RunIdentity identity_with(const Trainer& trainer, const RunIdentity& more) {
    RunIdentity all = more;
    std::ranges::move(identity_of(trainer), std::back_inserter(all));
    return all;
}

void require_same_run(const fs::path& file, const Metadata& metadata, const RunIdentity& here) {
    Metadata made;
    for (const auto& [name, value] : metadata) {
        if (name.starts_with(identity_prefix)) made.emplace(name.substr(identity_prefix.size()), value);
    }
    if (const auto difference = first_difference(made, here)) refuse(file, *difference);
}

void require_undamaged(const fs::path& file, const Safetensors& contents) {
    if (!contents.metadata.contains("step")) {
        refuse(file,
               "holds weights, not a training run; start a new run from them with `ulplab train --weights FILE`, and "
               "give --checkpoint a new name");
    }
    if (entry_of(file, contents.metadata, "sha256") != checksum_of(contents)) {
        refuse(file, "is damaged: its SHA-256 is not that of what it holds; take a copy of it, or start anew");
    }
    const auto format = contents.metadata.find("format");
    const std::string is = format == contents.metadata.end() ? "1" : format->second;
    if (is == checkpoint_format) return;
    refuse(file, fmt::format("is a checkpoint of format {}, this ulplab reads format {}; start anew under a new name",
                             is, checkpoint_format));
}

/// The tensor of that name. Throws DataError unless it has this shape and format.
const Tensor& matching(const fs::path& file, const Safetensors& contents, const std::string& name, const Tensor& like) {
    if (!contents.tensors.contains(name) && !contents.skipped.contains(name)) {
        refuse(file, fmt::format("no tensor '{}'; it is a checkpoint of another net", name));
    }
    const Tensor& tensor = contents.tensor(file, name);
    if (tensor.shape() == like.shape() && tensor.format() == like.format()) return tensor;
    refuse(file, fmt::format(
                     "{} has the shape {} (or another format) where this net has {}; it is a checkpoint of another net",
                     name, text_of(tensor.shape()), text_of(like.shape())));
}

/// Calls f(name in the file, tensor) for all that a model holds, and for the averages of its weights.
template <class Function>
void each_tensor(Trainer& trainer, const Function& f) {
    if (trainer.averages()) {
        for (auto& [name, average] : trainer.averages()->tensors()) f("average/" + name, average);
    }
    for (Parameter& p : trainer.model().parameters()) {
        f(p.name, p.value);
        if (!p.master.empty()) f("master/" + p.name, p.master);
    }
    for (auto& [name, statistics] : trainer.model().statistics()) {
        f("statistics/" + name + "/mean", statistics.mean);
        f("statistics/" + name + "/variance", statistics.variance);
    }
}

/// What follows a prefix in the names of tensors, with the tensors.
template <class Function>
void each_behind(const Safetensors& contents, const std::string& prefix, const Function& f) {
    for (auto entry = contents.tensors.lower_bound(prefix);
         entry != contents.tensors.end() && entry->first.starts_with(prefix); ++entry) {
        f(entry->first.substr(prefix.size()), entry->second);
    }
}

/// The digest of a trace from the run's first step to here, or of none.
void save_trace(Metadata& metadata, const Trainer& trainer) {
    const Trace& trace = trainer.trace();
    if (trace.steps_before + static_cast<std::int64_t>(trace.steps.size()) != trainer.steps()) return;
    metadata["trace"] = trace.taken().state();
}

Trace trace_before(const fs::path& file, const Metadata& metadata, std::int64_t steps) {
    Trace trace;
    if (!metadata.contains("trace")) return trace;
    trace.steps_before = steps;
    try {
        trace.before = Sha256::at_state(metadata.at("trace"));
        return trace;
    } catch (const std::invalid_argument& error) {
        refuse(file, error.what());
    }
}

}  // namespace

std::string checksum_of(const Safetensors& contents) {
    Sha256 sha;
    const auto add = [&sha](const std::string& text) {
        sha.add(std::as_bytes(std::span(text.c_str(), text.size() + 1)));
    };
    for (const auto& [name, value] : contents.metadata) {
        if (name != "sha256") add(name), add(value);
    }
    for (const auto& [name, tensor] : contents.tensors) {
        add(name), add(text_of(tensor.shape())), add(name_of(tensor.format()));
        sha.add(std::as_bytes(tensor.values()));
    }
    for (const auto& [name, type] : contents.skipped) add(name), add(type);
    return sha.hex();
}

void save_checkpoint(const fs::path& file, Trainer& trainer, const RunIdentity& more, const KeptTexts& kept) {
    Safetensors contents;
    Metadata& metadata = contents.metadata;
    for (const auto& [name, value] : identity_with(trainer, more)) {
        metadata[std::string(identity_prefix) + name] = value;
    }
    for (const auto& [name, text] : kept) metadata[std::string(kept_prefix) + name] = text;
    metadata["format"] = checkpoint_format;
    metadata["step"] = fmt::format("{}", trainer.steps());
    metadata["optimizer_steps"] = fmt::format("{}", trainer.optimizer().steps());
    metadata["learning_rate"] = text_of_number(trainer.optimizer().options().learning_rate);
    save_trace(metadata, trainer);
    for (const auto& [name, value] : trainer.scaler().rule().state()) {
        metadata["scaler/" + name] = text_of_number(value);
    }
    each_tensor(trainer,
                [&](const std::string& name, const Tensor& tensor) { contents.tensors.emplace(name, tensor); });
    for (const auto& [parameter, tensors] : trainer.optimizer().state()) {
        for (const auto& [name, tensor] : tensors) {
            contents.tensors.emplace("optimizer/" + parameter + "/" + name, tensor);
        }
    }
    for (const auto& [place, magnitudes] : trainer.run().scaling_history) {
        const auto count = static_cast<Index>(magnitudes.size());
        contents.tensors.emplace("scaling/" + place, Tensor({count}, magnitudes));
    }
    metadata["sha256"] = checksum_of(contents);
    write_safetensors(file, contents);
}

KeptTexts load_checkpoint(const fs::path& file, Trainer& trainer, const RunIdentity& more) {
    const Safetensors contents = read_safetensors(file);
    const Metadata& metadata = contents.metadata;
    require_undamaged(file, contents);
    require_same_run(file, metadata, identity_with(trainer, more));
    // First everything that can fail, then the changes.
    std::size_t known = 0;
    each_tensor(trainer, [&](const std::string& name, const Tensor& tensor) {
        matching(file, contents, name, tensor);
        ++known;
    });
    Optimizer::State state;
    for (const Parameter& p : trainer.model().parameters()) {
        each_behind(contents, "optimizer/" + p.name + "/", [&](const std::string& name, const Tensor& tensor) {
            state[p.name][name] = tensor;
            ++known;
        });
    }
    ScalingHistory history;
    each_behind(contents, "scaling/", [&](const std::string& place, const Tensor& tensor) {
        history[place].assign(tensor.values().begin(), tensor.values().end());
        ++known;
    });
    if (const std::size_t all = contents.tensors.size() + contents.skipped.size(); known != all) {
        refuse(file,
               fmt::format("{} of its tensors are not of this net; it is a checkpoint of another net", all - known));
    }
    std::map<std::string, double> scaler = trainer.scaler().rule().state();
    for (auto& [name, value] : scaler) value = number_of(file, metadata, "scaler/" + name);
    const auto steps = count_of(file, metadata, "step");
    const auto optimizer_steps = count_of(file, metadata, "optimizer_steps");
    const double learning_rate = number_of(file, metadata, "learning_rate");
    Trace trace = trace_before(file, metadata, steps);
    LossScale rule = trainer.scaler().rule();
    try {
        rule.load(scaler);
        trainer.optimizer().load(std::move(state), optimizer_steps);
    } catch (const std::invalid_argument& error) {
        refuse(file, error.what());
    }
    trainer.optimizer().set_learning_rate(learning_rate);
    trainer.scaler().rule() = rule;
    each_tensor(trainer, [&](const std::string& name, Tensor& tensor) { tensor = contents.tensors.at(name); });
    trainer.continue_at(steps, std::move(history), std::move(trace));
    KeptTexts kept;
    for (const auto& [name, text] : metadata) {
        if (name.starts_with(kept_prefix)) kept.emplace(name.substr(kept_prefix.size()), text);
    }
    return kept;
}

}  // namespace ulp
