// Reverse-mode differentiation on a tape.
//
// A tape rather than hand-paired forward and backward calls: recurrent nets, attention and two-loss training reuse
// values in ways that a fixed chain of layers cannot follow, and one place sees every result as it comes into being:
// it is rounded to its storage format there, shown to the observers, and counted.
//
// Each operation is a function of Vars that computes its result, and leaves behind how to turn the gradient of the
// result into gradients of its inputs. backward() visits the operations in reverse; a value used twice adds up its
// gradients in that order, each sum rounded to the gradient's format.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/tape/parameter.hpp"
#include "engine/tape/run.hpp"
#include "engine/tensor/tensor.hpp"

namespace ulp::inline ULPLAB_MODE {

class Tape;

/// A value on a tape: cheap to copy, valid as long as the tape.
struct Var {
    Tape* tape = nullptr;
    std::size_t id = 0;

    [[nodiscard]] const Tensor& value() const;
    [[nodiscard]] const Shape& shape() const { return value().shape(); }
    [[nodiscard]] Index dim(Index i) const { return value().dim(i); }
    /// The format that the value is stored in (a fused chain's inner values are held in the format of its steps).
    [[nodiscard]] const FloatFormat& format() const;
    /// After backward(), for leaves (and for any value while `retain_gradients` is set).
    [[nodiscard]] const Tensor& gradient() const;
};

/// How each element of a result is a sum of products, for the search: element e of matrix e / (m n) is the sum over k
/// of a(i, k) b(k, j), with the matrices of a batch a_step and b_step numbers apart.
struct ProductTerms {
    BasicMatrixView<const Real> a;  // m x k
    BasicMatrixView<const Real> b;  // k x n
    Index a_step = 0;
    Index b_step = 0;
};

class Tape {
  public:
    using Terms = std::optional<ProductTerms>;
    /// Receives the gradient of the operation's result, in the result's format, and the result.
    using Backward = std::function<void(const Tensor& gradient, const Tensor& result)>;

    Tape(const Engine& engine, Run& run) : engine_(&engine), run_(&run) {}
    explicit Tape(Evaluation& evaluation) : Tape(evaluation.engine, evaluation.run) {}
    /// With a run of its own, which begins and ends with the tape.
    explicit Tape(const Engine& engine) : engine_(&engine), own_(std::make_unique<Run>()), run_(own_.get()) {}
    Tape(const Tape&) = delete;
    Tape& operator=(const Tape&) = delete;

    [[nodiscard]] const Engine& engine() const { return *engine_; }
    [[nodiscard]] Run& run() { return *run_; }
    /// The recipe of the next operation's products: the engine's, unless it leaves the layer or the operation out.
    [[nodiscard]] const Recipe& recipe_of_products(std::string_view op) const {
        return run_->layers.recipe_for(engine_->recipe, scope_, op);
    }

    /// A value that needs no gradient.
    Var constant(Tensor value) { return push("constant", std::move(value), false, {}); }
    /// The same, rounded to the recipe's format for inputs: a batch.
    Var input(Tensor value) {
        value.round_to_format(engine_->recipe.inputs);
        return constant(std::move(value));
    }
    /// A value whose gradient is kept.
    Var leaf(Tensor value) { return push("leaf", std::move(value), true, {}); }
    /// A parameter as the model sees it; backward() adds to its gradient. The same parameter gives the same Var.
    /// Throws std::invalid_argument for a number that lies off the grid of the parameter's format.
    Var parameter(Parameter& parameter);
    /// An operation's result. `backward` is dropped where no input needs a gradient.
    Var push(std::string_view op, Tensor value, bool needs_gradient, Backward backward);

    /// Gradients of `root`, which must hold one number, times `seed`.
    void backward(Var root, Real seed = 1);
    /// Adds to the gradient of an input: called by operations during backward(). Rounds to the input's format.
    void accumulate(Var input, Tensor gradient, const Terms& terms = std::nullopt);
    /// The same for an operation that moves numbers: `gradient` is its own, in the shape of the input. Where both have
    /// one format nothing is rounded, and nothing counted again.
    void pass_on(Var input, Tensor gradient);
    /// Passes the gradient on to a part of an input along one dimension, rows `start` on: the rest of its gradient is
    /// left alone (or zero, if this is the first). A part is added to what is there, so that -0 becomes 0.
    void pass_on_part(Var input, Tensor gradient, Index dimension, Index start);

    /// An operation's result that only fused operations read as it is; the others read it rounded to `stored`.
    Var push_unstored(std::string_view op, Tensor value, const FloatFormat& stored, bool needs_gradient,
                      Backward backward);
    /// The value as it lies in memory: itself, or the end of a fused chain rounded to its storage format (once).
    Var stored(Var x);
    [[nodiscard]] const FloatFormat& stored_format(Var var) const { return nodes_[var.id].stored_format; }

    /// Rounds a result into its format under the eyes of the run's watch.
    /// Returns whether the watch found all of it finite (true where nothing watches).
    bool store(const std::string& label, const Pass& pass, Tensor& result, const FloatFormat& format,
               const std::vector<Var>& operands, const Terms& terms = std::nullopt);
    /// What the values on the tape take (parameters left out; inner values of fused chains are held, but not stored).
    [[nodiscard]] ByteCount activation_bytes() const;
    /// The most that gradients of values took at once during backward().
    [[nodiscard]] ByteCount gradient_bytes() const { return most_gradients_; }
    /// The most that one operation needed beside its operands and results.
    [[nodiscard]] ByteCount workspace_bytes() const { return most_workspace_; }
    /// Called by operations that need memory of their own.
    void note_workspace(ByteCount bytes) {
        if (bytes.held > most_workspace_.held) most_workspace_ = bytes;
    }

    [[nodiscard]] const Tensor& value(Var var) const { return nodes_[var.id].value; }
    [[nodiscard]] const Tensor& gradient(Var var) const;
    [[nodiscard]] bool needs_gradient(Var var) const { return nodes_[var.id].needs_gradient; }
    [[nodiscard]] const std::string& label(Var var) const { return nodes_[var.id].label; }

    /// Keeps the gradients of inner values after backward().
    bool retain_gradients = false;

    /// Names the operations made while it lives: "fc1/linear".
    class Scope {
      public:
        Scope(Tape& tape, std::string_view name) : tape_(&tape), outer_(tape.scope_) {
            tape.scope_ += (outer_.empty() ? "" : "/") + std::string(name);
        }
        ~Scope() { tape_->scope_ = outer_; }
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

      private:
        Tape* tape_;
        std::string outer_;
    };

    /// The label that the next operation of this name will get.
    [[nodiscard]] std::string label_for(std::string_view op);

  private:
    struct Node {
        Tensor value;
        Tensor gradient;
        Backward backward;
        std::string label;
        bool needs_gradient;
        bool leaf;
        bool parameter;
        FloatFormat stored_format;
        bool gradient_finite = true;   // as far as the search for the first infinity knows
        std::size_t stored_as = none;  // the node that holds the value in its storage format, once there is one
        std::vector<Var> inputs{};     // of an operation that was stored under the eyes of a watch
    };
    static constexpr std::size_t none = ~std::size_t{0};
    /// A tensor that an operation read.
    struct Read {
        const Node* node;
        const Tensor* tensor;
        bool given;  // as a value; else a gradient
    };

    [[nodiscard]] Tensor value_of(const Parameter& parameter) const;
    // In search.cpp.
    void search(const std::string& label, const Pass& pass, const Tensor& result, const std::vector<Var>& operands,
                const Terms& terms);
    void report_given(const std::vector<Read>& reads);
    void search_sum(const std::string& label, const Tensor& sum);
    [[nodiscard]] bool searches() const {
        return run_->observers.watch != nullptr && run_->observers.watch->searches();
    }
    bool store_gradient(const Node& node, Tensor& gradient, const Terms& terms = std::nullopt);
    bool store_moved(const Node& node, Tensor& gradient);
    void add_gradient(Node& node, Tensor gradient, bool finite);
    void count_gradient(const Tensor& gradient);
    void drop_gradient(Node& node);
    void show(TensorRole role, const Node& node, const Tensor& tensor) const;

    const Engine* engine_;
    std::unique_ptr<Run> own_;
    Run* run_;
    std::deque<Node> nodes_;
    std::unordered_map<const Parameter*, std::size_t> parameters_;
    std::unordered_map<std::string, int> labels_;
    std::string scope_;
    std::size_t running_ = 0;   // the node whose backward function runs
    std::vector<Var> pending_;  // inputs of the operation that is to be pushed next
    ByteCount gradients_, most_gradients_, most_workspace_;
};

inline const Tensor& Var::value() const { return tape->value(*this); }
inline const FloatFormat& Var::format() const { return tape->stored_format(*this); }
inline const Tensor& Var::gradient() const { return tape->gradient(*this); }

}  // namespace ulp::inline ULPLAB_MODE
