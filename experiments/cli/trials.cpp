#include "experiments/cli/trials.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "engine/files/file_lock.hpp"
#include "engine/files/sha256.hpp"
#include "engine/files/whole_file.hpp"
#include "engine/training/run_identity.hpp"
#include "engine/training/weights.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/interruption.hpp"
#include "experiments/framework/side_by_side.hpp"
#include "experiments/framework/sources_digest.hpp"
#include "softfloat/errors.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json json_of_trial(const Trial& trial, const TrialResult& result) {
    Json json = {{"trial", trial.label}, {"seed", trial.seed}, {"loss", result.loss}, {"skipped", result.skipped}};
    if (!trial.counts_gradients) return json;
    Json tensors = Json::object();
    for (const auto& [name, counts] : result.gradients) {
        Json exponents = Json::object();
        for (const auto& [exponent, count] : counts.exponents) exponents[std::to_string(exponent)] = count;
        tensors[name] = {{"largest", counts.largest}, {"exponents", std::move(exponents)}};
    }
    json["gradients"] = std::move(tensors);
    return json;
}

TrialResult trial_result_from(const fs::path& file) {
    try {
        const Json json = Json::parse(read_whole_file(file));
        const Json& loss = json.at("loss");  // JSON has no NaN
        TrialResult result{loss.is_null() ? std::numeric_limits<double>::quiet_NaN() : loss.get<double>(),
                           json.at("skipped").get<std::int64_t>()};
        const Json gradients = json.value("gradients", Json::object());
        for (const auto& [name, tensor] : gradients.items()) {
            GradientCounts& counts = result.gradients[name];
            counts.largest = tensor.at("largest").get<float>();
            for (const auto& [exponent, count] : tensor.at("exponents").items()) {
                counts.exponents[std::stoi(exponent)] = count.get<std::int64_t>();
            }
        }
        return result;
    } catch (const std::exception&) {
        throw DataError(fmt::format("{}: damaged; remove it, and the trial is made again", file.string()));
    }
}

/// The gradients of a training in fp32, whose loss scale is 1.
class GradientCounter {
  public:
    void operator()(const TapEvent& event) {
        const bool of_weight = event.role == TensorRole::weight_gradient;
        if (!of_weight && event.role != TensorRole::activation_gradient) return;
        if (event.values.size() == 1) return;  // the loss's own gradient is the loss scale
        Counted& tensor = tensors_[(of_weight ? "weight " : "result of ") + std::string(event.name)];
        tensor.histogram.add(event.values);
        for (const float g : event.values) {
            if (std::isfinite(g)) tensor.largest = std::max(tensor.largest, std::fabs(g));
        }
    }
    [[nodiscard]] std::map<std::string, GradientCounts> counts() const {
        std::map<std::string, GradientCounts> all;
        for (const auto& [name, tensor] : tensors_) {
            GradientCounts& counts = all[name];
            counts.largest = tensor.largest;
            for (int e = ExponentHistogram::lowest; e <= ExponentHistogram::highest; ++e) {
                if (tensor.histogram.at(e) > 0) counts.exponents[e] = tensor.histogram.at(e);
            }
        }
        return all;
    }

  private:
    struct Counted {
        ExponentHistogram histogram;
        float largest = 0;
    };
    std::map<std::string, Counted> tensors_;
};

/// Losses of the last tenth of the steps, at least one.
double mean_of_last(const std::vector<double>& losses) {
    const std::size_t count = std::max<std::size_t>(1, losses.size() / 10);
    double sum = 0;
    for (std::size_t i = losses.size() - count; i < losses.size(); ++i) sum += losses[i];
    return sum / static_cast<double>(count);
}

/// A net and what it is trained on.
struct Prepared {
    Trainer trainer;
    NetTask task;
    Net net;

    Prepared(const NetOptions& options, const NetDescription& description, const Recipe& recipe,
             const std::string& backend, std::uint64_t seed)
        : trainer(Engine(recipe, make_backend(backend)), seed),
          task(task_of(description, options, seed)),
          net(started(trainer.model(), options), description.layers, description.input.shape, description.outputs) {
        OptimizerOptions optimizer = optimizer_of(options);
        optimizer.seed = seed;
        trainer.optimize(optimizer);
        trainer.keep_trace = false;
        if (!options.weights.empty()) (void)load_weights(options.weights, trainer.model());
    }
    static Model& started(Model& model, const NetOptions& options) {
        model.initialise_by(Initialisation(options.init));
        return model;
    }
};

}  // namespace

Trials::Trials(NetOptions options, NetDescription net, fs::path folder, const Shard& shard)
    : options_(std::move(options)), net_(std::move(net)), folder_(std::move(folder)), shard_(shard) {
    make_writable_folder(folder_);
    weights_ = options_.weights.empty() ? "none" : sha256_of(read_whole_file(options_.weights));
}

std::vector<Trial> Trials::over_seeds(const Trial& trial, std::int64_t seeds) const {
    std::vector<Trial> all;
    for (std::int64_t i = 0; i < seeds; ++i) {
        all.push_back(trial);
        all.back().seed = options_.seed + static_cast<std::uint64_t>(i);
    }
    return all;
}

fs::path Trials::file_of(const Trial& trial) {
    if (!data_.contains(trial.seed)) data_[trial.seed] = task_of(net_, options_, trial.seed).data;
    OptimizerOptions optimizer = optimizer_of(options_);
    optimizer.seed = trial.seed;
    std::string identity = fmt::format(
        "program {}\nnet {}\ndata {}\nbackend {}\nsteps {}\nbatch {}\nseed {}\nweights {}\ninit {}\nreduction {}\n"
        "counts {}\n",
        sources_digest(""), json_of(net_), data_[trial.seed], make_backend(trial.backend)->identity(), options_.steps,
        options_.batch, trial.seed, weights_, options_.init, options_.reduction, trial.counts_gradients);
    for (const RunIdentity& part : {identity_of(trial.recipe), identity_of(optimizer)}) {
        for (const auto& [name, value] : part) identity += fmt::format("{} {}\n", name, value);
    }
    return folder_ / (sha256_of(identity).substr(0, 16) + ".json");
}

bool Trials::train_unless_taken(const Trial& trial, const fs::path& file) const {
    std::optional<FileLock> lock;
    try {
        lock.emplace(file);
    } catch (const DataError&) {
        return false;  // another process works on it
    }
    if (fs::exists(file)) return true;
    Prepared run(options_, net_, trial.recipe, trial.backend, trial.seed);
    TrialResult result;
    GradientCounter counter;
    if (trial.counts_gradients) {
        run.trainer.watch([](std::int64_t) { return true; }, [&](const TapEvent& event) { counter(event); });
    }
    std::vector<double> losses;
    for (std::int64_t step = 0; step < options_.steps; ++step) {
        if (Interruption::signal() != 0) return false;
        const StepResult done = train_step(run.trainer, run.task, run.net);
        losses.push_back(done.loss);
        result.skipped += done.skipped ? 1 : 0;
    }
    result.loss = mean_of_last(losses);
    result.gradients = counter.counts();
    replace_whole_file(file, json_of_trial(trial, result).dump(1) + "\n");
    fmt::print(stderr, "trained {}, seed {}: loss {:.4g}\n", trial.label, trial.seed, result.loss);
    return true;
}

std::vector<TrialResult> Trials::results(const std::vector<Trial>& trials) {
    std::vector<fs::path> files;
    for (const Trial& trial : trials) files.push_back(file_of(trial));
    std::vector<std::size_t> order;  // the shard's part stands at the end: it is begun there
    for (const bool own : {false, true}) {
        for (std::size_t i = trials.size(); i-- > 0;) {
            if ((i % shard_.count == shard_.index - 1) == own) order.push_back(i);
        }
    }
    const auto is_missing = [&](std::size_t i) { return !fs::exists(files[i]); };
    while (std::ranges::any_of(order, is_missing)) {
        std::vector<std::size_t> missing;
        std::ranges::copy_if(order, std::back_inserter(missing), is_missing);
        const bool parallel =
            std::ranges::all_of(missing, [&](std::size_t i) { return may_run_side_by_side(trials[i].backend); });
        run_side_by_side(missing.size(), parallel, [&](std::size_t i) {
            if (Interruption::signal() == 0) (void)train_unless_taken(trials[missing[i]], files[missing[i]]);
        });
        if (const int signal = Interruption::signal(); signal != 0) throw SearchInterrupted{signal};
        if (std::ranges::any_of(order, is_missing)) usleep(50'000);
    }
    std::vector<TrialResult> results;
    for (const fs::path& file : files) results.push_back(trial_result_from(file));
    return results;
}

std::int64_t Trials::bytes_of_step(const Recipe& recipe, const std::string& backend) const {
    Prepared run(options_, net_, recipe, backend, options_.seed);
    return run.trainer.planned_bytes([&](Tape& tape) { return run.task.loss(tape, run.net, 0); }).total().stored;
}

std::vector<double> losses_of(const std::vector<TrialResult>& results) {
    std::vector<double> losses;
    for (const TrialResult& result : results) losses.push_back(result.loss);
    return losses;
}

}  // namespace ulp
