#include <unistd.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "engine/files/sha256.hpp"
#include "engine/files/whole_file.hpp"
#include "engine/training/run_identity.hpp"
#include "experiments/cli/search_parts.hpp"
#include "experiments/framework/files.hpp"
#include "experiments/framework/long_work.hpp"
#include "experiments/framework/machine.hpp"

namespace ulp {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

Json json_of_trial(const Trial& trial, const TrialResult& result) {
    Json json = {{"trial", trial.arithmetic.name}, {"seed", trial.seed},    {"loss", result.loss},
                 {"skipped", result.skipped},      {"scale", result.scale}, {"losses", result.losses}};
    for (const WeightDistances& each : result.distances) {
        Json parameters = Json::object();
        for (const auto& [name, distance] : each.parameters) parameters[name] = distance;
        json["distances"].push_back({{"step", each.step}, {"parameters", std::move(parameters)}});
    }
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

/// JSON has no NaN.
double number_in(const Json& json) {
    return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

TrialResult trial_result_from(const fs::path& file) {
    try {
        const Json json = Json::parse(read_whole_file(file));
        TrialResult result{.loss = number_in(json.at("loss")),
                           .scale = number_in(json.at("scale")),
                           .skipped = json.at("skipped").get<std::int64_t>()};
        for (const Json& loss : json.at("losses")) result.losses.push_back(number_in(loss));
        for (const Json& each : json.value("distances", Json::array())) {
            WeightDistances& distances = result.distances.emplace_back();
            distances.step = each.at("step").get<std::int64_t>();
            for (const auto& [name, distance] : each.at("parameters").items()) {
                distances.parameters.emplace_back(name, number_in(distance));
            }
        }
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

/// The training of one arithmetic; its stochastic rounding is of the seed, too.
std::unique_ptr<NetTraining> prepared(const NetOptions& options, const NetDescription& net,
                                      const Arithmetic& arithmetic, std::uint64_t seed) {
    OptimizerOptions optimizer = optimizer_of(options);
    optimizer.seed = seed;
    auto training = std::make_unique<NetTraining>(
        options, net, Engine(arithmetic.recipe, make_backend(arithmetic.backend)), seed, optimizer);
    training->trainer.keep_trace = false;
    return training;
}

constexpr std::int64_t scored_steps = 8;

/// The score of a training that is finished, of whose own losses these are.
double score_of(NetTraining& run, const std::vector<double>& losses) {
    const auto steps = static_cast<std::int64_t>(losses.size());
    const std::int64_t first = std::max<std::int64_t>(0, steps - scored_steps);
    double sum = 0;
    for (std::int64_t step = first; step < steps; ++step) {
        if (!std::isfinite(losses[static_cast<std::size_t>(step)])) return std::numeric_limits<double>::quiet_NaN();
        Evaluation evaluation = run.trainer.evaluation({.fp32 = true});
        Tape tape(evaluation);
        sum += static_cast<double>(run.task.loss(tape, run.net, step).value()[0]);
    }
    return sum / static_cast<double>(steps - first);
}

double relative_distance(const Tensor& weights, const Tensor& reference) {
    double squares = 0;
    double size = 0;
    for (Index i = 0; i < weights.size(); ++i) {
        const double difference = static_cast<double>(weights[i]) - static_cast<double>(reference[i]);
        squares += difference * difference;
        size += static_cast<double>(reference[i]) * static_cast<double>(reference[i]);
    }
    return size > 0 ? std::sqrt(squares / size) : squares > 0 ? INFINITY : 0;
}

WeightDistances distances_of(const Model& model, const Model& reference, std::int64_t step) {
    WeightDistances distances{step, {}};
    for (std::size_t p = 0; p < model.parameters().size(); ++p) {
        const auto& parameter = model.parameters()[p];
        distances.parameters.emplace_back(parameter.name,
                                          relative_distance(parameter.updated(), reference.parameters()[p].updated()));
    }
    return distances;
}

/// Steps after which weights are compared: 1, 2, 4 ... and the last.
bool is_compared(std::int64_t done, std::int64_t steps) { return done == steps || (done & (done - 1)) == 0; }

/// All of an arithmetic that decides what it computes.
std::string identity_text(const Arithmetic& arithmetic) {
    std::string text = fmt::format("backend {}\n", make_backend(arithmetic.backend)->identity());
    for (const auto& [name, value] : identity_of(arithmetic.recipe)) text += fmt::format("{} {}\n", name, value);
    return text;
}

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
        "program {}\nnet {}\ndata {}\nsteps {}\nbatch {}\nseed {}\nweights {}\ninit {}\nreduction {}\ncounts {}\n",
        sources_digest(""), json_of(net_), data_[trial.seed], options_.steps, options_.batch, trial.seed, weights_,
        options_.init, options_.reduction, trial.counts_gradients);
    identity += identity_text(trial.arithmetic);
    if (trial.beside) identity += "beside\n" + identity_text(*trial.beside);
    for (const auto& [name, value] : identity_of(optimizer)) identity += fmt::format("{} {}\n", name, value);
    return folder_ / (sha256_of(identity).substr(0, 16) + ".json");
}

TrialResult Trials::trained(const Trial& trial) const {
    const std::unique_ptr<NetTraining> training = prepared(options_, net_, trial.arithmetic, trial.seed);
    NetTraining& run = *training;
    const std::unique_ptr<NetTraining> reference =
        trial.beside ? prepared(options_, net_, *trial.beside, trial.seed) : nullptr;
    GradientCounter counter;
    if (trial.counts_gradients) {
        run.trainer.watch([](std::int64_t) { return true; }, [&](const TapEvent& event) { counter(event); });
    }
    TrialResult result;
    while (run.trainer.steps() < options_.steps && Interruption::signal() == 0) {
        const StepResult done = run.step();
        result.losses.push_back(done.loss);
        result.scale = done.loss_scale;
        result.skipped += done.skipped ? 1 : 0;
        if (!reference) continue;
        (void)reference->step();
        if (!is_compared(run.trainer.steps(), options_.steps)) continue;
        result.distances.push_back(distances_of(run.trainer.model(), reference->trainer.model(), run.trainer.steps()));
    }
    if (run.trainer.steps() == options_.steps) result.loss = score_of(run, result.losses);
    result.gradients = counter.counts();
    return result;
}

bool Trials::train_unless_taken(const Trial& trial, const fs::path& file) const {
    std::optional<FileLock> lock;
    try {
        lock.emplace(file);
    } catch (const DataError&) {
        return false;  // another process works on it
    }
    if (fs::exists(file)) return true;
    const TrialResult result = trained(trial);
    if (static_cast<std::int64_t>(result.losses.size()) < options_.steps) return false;  // interrupted
    replace_whole_file(file, json_of_trial(trial, result).dump(1) + "\n");
    fmt::print(stderr, "trained {}, seed {}: loss {:.4g}\n", trial.arithmetic.name, trial.seed, result.loss);
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
        const bool parallel = std::ranges::all_of(
            missing, [&](std::size_t i) { return may_run_side_by_side(trials[i].arithmetic.backend); });
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

std::int64_t Trials::bytes_of_step(const Arithmetic& arithmetic) const {
    const std::unique_ptr<NetTraining> run = prepared(options_, net_, arithmetic, options_.seed);
    return run->trainer.planned_bytes([&](Tape& tape) { return run->task.loss(tape, run->net, 0); }).total().stored;
}

std::vector<double> losses_of(const std::vector<TrialResult>& results) {
    std::vector<double> losses;
    for (const TrialResult& result : results) losses.push_back(result.loss);
    return losses;
}

}  // namespace ulp
