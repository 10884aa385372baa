#include "engine/training/checkpoint.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "engine/files/safetensors.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;

/// A double's own shortest text reads back as itself.
std::string text_of_number(double x) { return fmt::format("{}", x); }

double number_of(const fs::path& file, const Safetensors& contents, const std::string& name) {
    const auto entry = contents.metadata.find(name);
    if (entry == contents.metadata.end()) {
        throw DataError(fmt::format("{}: no '{}'; it is no checkpoint of a training run", file.string(), name));
    }
    double value = 0;
    const std::string& text = entry->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) {
        throw DataError(fmt::format("{}: '{}' is {}, not a number", file.string(), name, text));
    }
    return value;
}

/// The same for a number of steps.
std::int64_t count_of(const fs::path& file, const Safetensors& contents, const std::string& name) {
    const double value = number_of(file, contents, name);
    if (value >= 0 && value <= 0x1p53 && value == std::floor(value)) return static_cast<std::int64_t>(value);
    throw DataError(fmt::format("{}: '{}' is {}, not a whole number from 0 on", file.string(), name, value));
}

/// Whatever must be the same for the run to go on, as text.
std::map<std::string, std::string> identity_of(Trainer& trainer) {
    return {{"recipe", trainer.engine().recipe.name},
            {"seed", fmt::format("{}", trainer.run().seed)},
            {"optimizer", std::string(name_of(trainer.optimizer().options().kind))},
            {"scaler", trainer.scaler().rule().options().dialect}};
}

void require_same(const fs::path& file, const Safetensors& contents, Trainer& trainer) {
    for (const auto& [name, value] : identity_of(trainer)) {
        const auto entry = contents.metadata.find(name);
        if (entry != contents.metadata.end() && entry->second == value) continue;
        const std::string found = entry == contents.metadata.end() ? "nothing" : "'" + entry->second + "'";
        throw DataError(fmt::format("{}: its {} is {} where this run has '{}'", file.string(), name, found, value));
    }
}

/// The tensor of that name. Throws DataError unless it has this shape and format.
const Tensor& matching(const fs::path& file, const Safetensors& contents, const std::string& name, const Tensor& like) {
    if (!contents.tensors.contains(name) && !contents.skipped.contains(name)) {
        throw DataError(fmt::format("{}: no tensor '{}'; it is a checkpoint of another net", file.string(), name));
    }
    const Tensor& tensor = contents.tensor(file, name);
    if (tensor.shape() == like.shape() && tensor.format() == like.format()) return tensor;
    throw DataError(
        fmt::format("{}: {} has the shape {} (or another format) where this net has {}; it is a checkpoint of "
                    "another net",
                    file.string(), name, text_of(tensor.shape()), text_of(like.shape())));
}

}  // namespace

void save_checkpoint(const fs::path& file, Trainer& trainer) {
    Safetensors contents;
    contents.metadata = identity_of(trainer);
    contents.metadata["step"] = fmt::format("{}", trainer.steps());
    contents.metadata["optimizer_steps"] = fmt::format("{}", trainer.optimizer().steps());
    for (const auto& [name, value] : trainer.scaler().rule().state()) {
        contents.metadata["scaler/" + name] = text_of_number(value);
    }
    for (const Parameter& parameter : trainer.model().parameters()) {
        contents.tensors.emplace(parameter.name, parameter.value);
        if (!parameter.master.empty()) contents.tensors.emplace("master/" + parameter.name, parameter.master);
    }
    for (const auto& [name, statistics] : trainer.model().statistics()) {
        contents.tensors.emplace("statistics/" + name + "/mean", statistics.mean);
        contents.tensors.emplace("statistics/" + name + "/variance", statistics.variance);
    }
    for (const auto& [parameter, tensors] : trainer.optimizer().state()) {
        for (const auto& [name, tensor] : tensors) {
            contents.tensors.emplace("optimizer/" + parameter + "/" + name, tensor);
        }
    }
    for (const auto& [place, magnitudes] : trainer.run().scaling_history) {
        const auto count = static_cast<Index>(magnitudes.size());
        contents.tensors.emplace("scaling/" + place, Tensor({count}, magnitudes));
    }
    write_safetensors(file, contents);
}

void load_checkpoint(const fs::path& file, Trainer& trainer) {
    const Safetensors contents = read_safetensors(file);
    require_same(file, contents, trainer);
    // First everything that can fail, then the changes.
    std::size_t known = 0;
    Optimizer::State state;
    for (Parameter& p : trainer.model().parameters()) {
        matching(file, contents, p.name, p.value);
        if (!p.master.empty()) matching(file, contents, "master/" + p.name, p.master);
        known += p.master.empty() ? 1 : 2;
        const std::string prefix = "optimizer/" + p.name + "/";
        for (auto entry = contents.tensors.lower_bound(prefix);
             entry != contents.tensors.end() && entry->first.starts_with(prefix); ++entry, ++known) {
            state[p.name][entry->first.substr(prefix.size())] = entry->second;
        }
    }
    for (const auto& [name, statistics] : trainer.model().statistics()) {
        matching(file, contents, "statistics/" + name + "/mean", statistics.mean);
        matching(file, contents, "statistics/" + name + "/variance", statistics.variance);
        known += 2;
    }
    ScalingHistory history;
    for (const auto& [name, tensor] : contents.tensors) {
        if (!name.starts_with("scaling/")) continue;
        const std::string place = name.substr(std::string_view("scaling/").size());
        history[place].assign(tensor.values().begin(), tensor.values().end());
        ++known;
    }
    if (const std::size_t all = contents.tensors.size() + contents.skipped.size(); known != all) {
        throw DataError(fmt::format("{}: {} of its tensors are not of this net; it is a checkpoint of another net",
                                    file.string(), all - known));
    }
    std::map<std::string, double> scaler = trainer.scaler().rule().state();
    for (auto& [name, value] : scaler) value = number_of(file, contents, "scaler/" + name);
    const auto steps = count_of(file, contents, "step");
    const auto optimizer_steps = count_of(file, contents, "optimizer_steps");

    try {
        trainer.optimizer().load(std::move(state), optimizer_steps);
        trainer.scaler().rule().load(scaler);
    } catch (const std::invalid_argument& error) {
        throw DataError(fmt::format("{}: {}", file.string(), error.what()));
    }
    for (Parameter& p : trainer.model().parameters()) {
        p.value = contents.tensors.at(p.name);
        if (!p.master.empty()) p.master = contents.tensors.at("master/" + p.name);
    }
    for (auto& [name, statistics] : trainer.model().statistics()) {
        statistics.mean = contents.tensors.at("statistics/" + name + "/mean");
        statistics.variance = contents.tensors.at("statistics/" + name + "/variance");
    }
    trainer.continue_at(steps, std::move(history));
}

}  // namespace ulp
