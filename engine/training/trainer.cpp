#include "engine/training/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>

#include "engine/data/dataset.hpp"

namespace ulp {

BatchSchedule::BatchSchedule(Index count, Index batch_size, std::uint64_t seed)
    : count_(count), batch_size_(batch_size), seed_(seed) {
    if (batch_size < 1 || count < batch_size) {
        throw std::invalid_argument(fmt::format("{} images hold no batch of {}", count, batch_size));
    }
}

std::vector<Index> BatchSchedule::at(std::int64_t step) {
    const std::int64_t epoch = step / steps_per_epoch();
    if (epoch != epoch_) {
        order_ = shuffled(count_, seed_, static_cast<std::uint64_t>(epoch));
        epoch_ = epoch;
    }
    const auto first = order_.begin() + (step % steps_per_epoch()) * batch_size_;
    return {first, first + batch_size_};
}

template <class Real>
BasicTrainer<Real>::BasicTrainer(Engine engine, std::uint64_t seed)
    : engine_(std::move(engine)), model_(engine_.recipe, seed), scaler_(engine_.recipe.loss_scale) {
    run_.seed = seed;
}

template <class Real>
void BasicTrainer<Real>::optimize(OptimizerOptions options) {
    optimizer_options_ = options;
    optimizer_.emplace(model_, std::move(options));
}

template <class Real>
void BasicTrainer<Real>::watch(std::function<bool(std::int64_t)> when, Tap tap) {
    when_ = std::move(when);
    tap_ = std::move(tap);
}

template <class Real>
StepResult BasicTrainer<Real>::step(const std::vector<Forward>& micro_batches) {
    if (!optimizer_) throw std::logic_error("call optimize() before the first step");
    if (micro_batches.empty()) throw std::invalid_argument("a step needs at least one batch");
    run_.observers.tap = when_ && when_(run_.step) ? tap_ : Tap{};
    run_.loss_scale = scaler_.value();
    Real value = 0;
    const double share = 1.0 / static_cast<double>(micro_batches.size());
    for (const Forward& forward : micro_batches) {
        BasicTape<Real> tape(engine_, run_);
        const BasicVar<Real> loss = forward(tape);
        value += loss.value()[0];
        tape.backward(scaler_.scale(micro_batches.size() == 1 ? loss : scaled(loss, share)));
        count_bytes(tape);
    }
    if (micro_batches.size() > 1) value *= static_cast<Real>(share);
    scaler_.unscale(*optimizer_);
    if (before_update) before_update(*optimizer_);
    const bool stepped = scaler_.step(*optimizer_);
    scaler_.update();
    run_.observers.tap = {};
    const StepResult result{run_.step, static_cast<double>(value), run_.loss_scale, !stepped};
    if (keep_trace) record(result, value);
    ++run_.step;
    return result;
}

template <class Real>
void BasicTrainer<Real>::record(const StepResult& result, Real loss) {
    if (trace_.parameters.empty()) {
        for (const BasicParameter<Real>& parameter : model_.parameters()) trace_.parameters.push_back(parameter.name);
    }
    using Word = std::conditional_t<std::is_same_v<Real, float>, std::uint32_t, std::uint64_t>;
    const Real same_nan = std::isnan(loss) ? std::numeric_limits<Real>::quiet_NaN() : loss;
    trace_.steps.push_back(
        {result.step, std::bit_cast<Word>(same_nan), result.loss_scale, result.skipped, digests_of(model_)});
}

template <class Real>
void BasicTrainer<Real>::count_bytes(const BasicTape<Real>& tape) {
    of_step_.activations = tape.activation_bytes();
    of_step_.activation_gradients = tape.gradient_bytes();
    of_step_.workspace = tape.workspace_bytes();
}

template <class Real>
ByteCount BasicTrainer<Real>::Bytes::total() const {
    ByteCount sum;
    for (const ByteCount& part :
         {weights, masters, gradients, optimizer, activations, activation_gradients, workspace}) {
        sum += part;
    }
    return sum;
}

template <class Real>
typename BasicTrainer<Real>::Bytes BasicTrainer<Real>::bytes() const {
    Bytes bytes = of_step_;
    const OptimizerState& state = engine_.recipe.state;
    const auto bytes_of = [](const BasicTensor<Real>& tensor, const std::optional<StateFormat>& kept = std::nullopt) {
        ByteCount count = ulp::bytes_of(tensor);
        if (kept) count.stored = tensor.empty() ? 0 : kept->bytes(tensor.size());
        return count;
    };
    for (const BasicParameter<Real>& parameter : model_.parameters()) {
        bytes.weights += bytes_of(parameter.value);
        bytes.masters += bytes_of(parameter.master, state.master);
        bytes.gradients += bytes_of(parameter.value, state.gradient);  // a gradient has its value's format, or this
    }
    if (optimizer_) bytes.optimizer = optimizer_->state_bytes();
    return bytes;
}

template <class Real>
typename BasicTrainer<Real>::Bytes BasicTrainer<Real>::planned_bytes(const Forward& forward) {
    Run quiet = run_;
    quiet.observers = {};
    const auto statistics = model_.statistics();
    const Bytes before = of_step_;
    {
        BasicTape<Real> tape(engine_, quiet);
        tape.backward(scaler_.scaled_loss(forward(tape)));
        count_bytes(tape);
    }
    model_.clear_gradients();
    for (std::size_t i = 0; i < statistics.size(); ++i) model_.statistics()[i].second = statistics[i].second;
    const Bytes planned = bytes();
    of_step_ = before;
    return planned;
}

template class BasicTrainer<float>;
template class BasicTrainer<double>;

}  // namespace ulp
