// What a model learns, and the model that owns it.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "engine/recipes/recipe.hpp"
#include "engine/tensor/tensor.hpp"

namespace ulp::inline ULPLAB_MODE {

/// Rounds a tensor of the optimizer to the format that it is kept in between steps. Infinities and NaNs stay as they
/// are where the format is scaled.
void keep_in(const StateFormat& kept, const Context& rounding, Tensor& tensor);

struct Parameter {
    std::string name;                // "fc1.weight"
    Tensor value;                    // as the model sees it, in the recipe's weight format
    Tensor gradient;                 // in the value's format, still scaled; empty before the first backward pass
    Tensor master;                   // as the recipe keeps masters; empty without master weights
    const Recipe* recipe = nullptr;  // the model's
    /// Steps of its updates: the recipe's format, and fp32 where the recipe keeps this parameter in it.
    FloatFormat update = container_format;
    /// How the recipe keeps its tensors between steps, where that is another way than in these formats.
    std::optional<StateFormat> kept_value{}, kept_master{}, kept_gradient{};
    bool of_linear_layer = false;  // the weight of one

    /// Takes these numbers: rounded to the value's format, and to the master's where there is one. Numbers written
    /// straight into `value` must lie on its format's grid; the tape refuses others. Throws std::invalid_argument for
    /// another shape.
    void assign(const Tensor& numbers);

    /// What the optimizer updates.
    [[nodiscard]] Tensor& updated() { return master.empty() ? value : master; }
    [[nodiscard]] const Tensor& updated() const { return master.empty() ? value : master; }
    /// Rounds the master into the value.
    void publish(const Context& rounding);

  private:
    void round_value(const FloatFormat& format, const Context& rounding);
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

/// A choice of initialisation for a whole net, instead of what its layers ask for: weights of two and more
/// dimensions start so, biases at 0; scales and shifts of normalisations stay. fan_in is the extent of dimension 1 and
/// fan_out that of dimension 0, each times the extents behind (torch.nn.init, _calculate_fan_in_and_fan_out).
///
///     kaiming_uniform  within sqrt(6 / fan_in)               kaiming_normal  deviation sqrt(2 / fan_in)
///     xavier_uniform   within sqrt(6 / (fan_in + fan_out))   xavier_normal   deviation sqrt(2 / (fan_in + fan_out))
///     normal:0.02      deviation 0.02                        zeros
///
/// He et al., arXiv 1502.01852; Glorot and Bengio, AISTATS 2010.
class Initialisation {
  public:
    /// "default": what the layers ask for. Throws std::invalid_argument that lists the names.
    explicit Initialisation(std::string_view name = "default");
    [[nodiscard]] Init of(const Shape& shape, const Init& asked) const;
    static std::string names();

  private:
    struct Row;
    static std::span<const Row> rows();
    const Row* row_ = nullptr;  // none: default
    double deviation_ = 0;
};

/// Batch normalisations may keep fp32 parameters in a 16-bit model (keep_batchnorm_fp32), and a recipe may keep the
/// weights of linear layers in another way than all others (OptimizerState::linear_weights_only).
enum class ParameterKind : std::uint8_t { ordinary, batch_norm, linear_weight };

/// Running statistics of a batch normalisation: not learned, but part of the model.
struct BatchStatistics {
    Tensor mean;
    Tensor variance;
};

/// Owns the parameters of a net; layers ask it for theirs. A parameter's first numbers depend on the seed and on its
/// name alone, so they do not move when layers are added.
class Model {
  public:
    Model(const Recipe& recipe, std::uint64_t seed) : recipe_(recipe), seed_(seed) {}
    Model(const Model&) = delete;
    Model& operator=(const Model&) = delete;

    /// How parameters that are added from now on start.
    void initialise_by(const Initialisation& initialisation) { initialisation_ = initialisation; }
    /// Throws std::invalid_argument if the name is taken.
    Parameter& add(const std::string& name, Shape shape, Init init, ParameterKind kind = ParameterKind::ordinary);
    /// Means of 0 and variances of 1, in the recipe's format for statistics, else the container's.
    BatchStatistics& add_statistics(const std::string& name, Index channels);
    [[nodiscard]] std::deque<std::pair<std::string, BatchStatistics>>& statistics() { return statistics_; }
    [[nodiscard]] std::deque<Parameter>& parameters() { return parameters_; }
    [[nodiscard]] const std::deque<Parameter>& parameters() const { return parameters_; }
    /// Throws std::invalid_argument that lists the names.
    Parameter& operator[](std::string_view name);
    [[nodiscard]] const Recipe& recipe() const { return recipe_; }
    [[nodiscard]] Index parameter_count() const;
    void clear_gradients();

  private:
    Recipe recipe_;
    std::uint64_t seed_;
    Initialisation initialisation_;
    std::deque<Parameter> parameters_;
    std::deque<std::pair<std::string, BatchStatistics>> statistics_;
};

/// Levels (engine/recipes/levels.hpp) convert a model themselves. Throws std::invalid_argument naming a parameter that
/// is not in fp32 any more.
void require_unconverted(const Model& model);

}  // namespace ulp::inline ULPLAB_MODE
