// What a model learns, and the model that owns it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>

#include "engine/recipes/recipe.hpp"
#include "engine/tensor/tensor.hpp"

namespace ulp {

template <class Real>
struct Parameter {
    std::string name;       // "fc1.weight"
    Tensor<Real> value;     // as the model sees it, in the recipe's weight format
    Tensor<Real> gradient;  // in the value's format, still scaled; empty before the first backward pass
    Tensor<Real> master;    // in the recipe's update format; empty without master weights

    /// What the optimizer updates.
    [[nodiscard]] Tensor<Real>& updated() { return master.empty() ? value : master; }
    [[nodiscard]] const Tensor<Real>& updated() const { return master.empty() ? value : master; }
    /// Rounds the master into the value.
    void publish(const Context& rounding);
};

/// How a parameter starts.
struct Init {
    enum class Kind : std::uint8_t { constant, uniform, normal } kind = Kind::constant;
    double scale = 0;  // the constant, the bound, or the standard deviation

    static Init constant(double value) { return {Kind::constant, value}; }
    static Init uniform(double bound) { return {Kind::uniform, bound}; }
    static Init normal(double deviation) { return {Kind::normal, deviation}; }
    /// Uniform within 1 / sqrt(inputs): what PyTorch gives linear and convolution layers.
    static Init fan_in(Index inputs);
};

/// Batch normalisations may keep fp32 parameters in a 16-bit model (keep_batchnorm_fp32).
enum class ParameterKind : std::uint8_t { ordinary, batch_norm };

/// Running statistics of a batch normalisation: not learned, but part of the model.
template <class Real>
struct BatchStatistics {
    Tensor<Real> mean;
    Tensor<Real> variance;
};

/// Owns the parameters of a net; layers ask it for theirs. A parameter's first numbers depend on the seed and on its
/// name alone, so they do not move when layers are added.
template <class Real>
class Model {
  public:
    Model(const Recipe& recipe, std::uint64_t seed) : recipe_(recipe), seed_(seed) {}
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    /// Throws std::invalid_argument if the name is taken.
    Parameter<Real>& add(const std::string& name, Shape shape, Init init, ParameterKind kind = ParameterKind::ordinary);
    /// Means of 0 and variances of 1, in the container's format.
    BatchStatistics<Real>& add_statistics(const std::string& name, Index channels);
    [[nodiscard]] std::deque<std::pair<std::string, BatchStatistics<Real>>>& statistics() { return statistics_; }
    [[nodiscard]] std::deque<Parameter<Real>>& parameters() { return parameters_; }
    [[nodiscard]] const std::deque<Parameter<Real>>& parameters() const { return parameters_; }
    /// Throws std::invalid_argument that lists the names.
    Parameter<Real>& operator[](std::string_view name);
    [[nodiscard]] const Recipe& recipe() const { return recipe_; }
    [[nodiscard]] Index parameter_count() const;
    void clear_gradients();

  private:
    Recipe recipe_;
    std::uint64_t seed_;
    std::deque<Parameter<Real>> parameters_;
    std::deque<std::pair<std::string, BatchStatistics<Real>>> statistics_;
};

extern template struct Parameter<float>;
extern template struct Parameter<double>;
extern template class Model<float>;
extern template class Model<double>;

}  // namespace ulp
