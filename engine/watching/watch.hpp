// What can be watched of training: tensors as they come into being, products as they are dispatched, counts of what
// rounding did, and the first operation that made an infinity or a NaN.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/products/matmul.hpp"
#include "engine/tensor/tensor.hpp"
#include "engine/watching/histogram.hpp"
#include "softfloat/format.hpp"

namespace ulp::inline ULPLAB_MODE {

enum class TensorRole : std::uint8_t { weight, activation, weight_gradient, activation_gradient };
std::string_view name_of(TensorRole role);

/// A tensor as it comes into being. Gradients still carry the loss scale: divide by `loss_scale` for their true size.
struct TapEvent {
    TensorRole role;
    std::string_view name;  // "fc1.weight" for parameters, "fc1/linear" or "relu" for activations
    std::span<const Real> values;
    FloatFormat format;  // the grid that the values lie on
    double loss_scale;   // 1 for weights and activations
};
using Tap = std::function<void(const TapEvent&)>;

/// A product as it was dispatched.
struct ProductRecord {
    std::string_view layer;  // "fc1/linear"
    std::string_view pass;   // "forward", "input gradient", "weight gradient"
    ProductTypes types;
    Index m;
    Index n;
    Index k;
    std::string path;  // how the backend computes it, and why
};
using ProductTap = std::function<void(const ProductRecord&)>;

/// What is computed: "forward", or "backward, gradient of " and the label of an input.
struct Pass {
    std::string_view name;
    std::string_view of{};
};

/// What storing results did to them, by operation and pass ("fc1/linear forward"). What only moves numbers (reshape,
/// slice; a sum's gradient on its way to both terms) rounds nothing and is not counted.
struct RoundingCounts {
    std::int64_t elements = 0;
    std::int64_t overflows = 0;   // finite before, infinite or NaN after
    std::int64_t underflows = 0;  // not zero before, zero after
    std::int64_t zeros = 0;       // of the results, +0 and -0
    ExponentHistogram exponents;  // of the results, where Watch::histograms asks
};

/// Counts by operation and pass, in the order in which these were first met.
class CountsByPlace {
  public:
    using Entry = std::pair<std::string, RoundingCounts>;

    /// Zeros where the place is new. A training meets its places in the same order in every step, so the one after the
    /// last is looked at first.
    RoundingCounts& operator[](const std::string& place);
    /// Throws std::out_of_range for a place that was not met.
    [[nodiscard]] const RoundingCounts& at(const std::string& place) const { return entries_[index_.at(place)].second; }
    [[nodiscard]] bool contains(const std::string& place) const { return index_.contains(place); }
    [[nodiscard]] auto begin() const { return entries_.begin(); }
    [[nodiscard]] auto end() const { return entries_.end(); }
    void clear() { *this = {}; }

  private:
    std::deque<Entry> entries_;  // whose addresses stay
    std::unordered_map<std::string, std::size_t> index_;
    std::size_t next_ = 0;
};

/// An operand of the operation that went wrong.
struct SuspectOperand {
    std::string label;
    Shape shape;
    std::optional<float> value;  // at the place of the bad result, where the operation works element by element
    float largest = 0;           // magnitude
    std::int64_t not_finite = 0;
};

/// Where the operation is a product of matrices: the term of the bad element's sum with the largest magnitude.
struct LargestTerm {
    Index k = 0;
    Index count = 0;  // of terms
    float a = 0;
    float b = 0;
    double sum = 0;  // of all terms, in fp64
};

/// What keeps the step finite. Each was tried: the step was computed again with it.
struct Remedy {
    enum class Kind : std::uint8_t { none, loss_scale, in_fp32, eps, learning_rate } kind = Kind::none;
    double limit = 0;                       // the loss scale or the learning rate at most this; eps at least this
    std::vector<std::string> operations{};  // in_fp32: that are to be computed and stored in it
    bool products = false;                  // in_fp32: their operands and sums, too
    double largest_update = 0;              // eps: with it, in learning rates
    /// One line, empty where nothing was tried.
    [[nodiscard]] std::string text() const;
};

/// The first infinity or NaN that finite numbers gave, and what it was made from.
struct NonFinite {
    std::string label;  // "fc1/linear"; of an update, the parameter
    std::string pass;   // "forward", "backward, gradient of relu", "unscale", "update", "given"
    std::int64_t step;
    Index element;
    Shape shape;  // of the tensor that holds the element
    float value;
    FloatFormat format;
    std::vector<SuspectOperand> operands;
    std::optional<LargestTerm> term{};
    std::vector<std::pair<std::string, float>> numbers{};  // of an update, at the element: weight, gradient, state
    std::optional<Remedy> remedy{};

    /// Several lines: where, which bits, from what, and the remedy.
    [[nodiscard]] std::string text() const;
};

/// Counters and the search for the first infinity; hang it on Observers::watch (engine/tape/run.hpp).
struct Watch {
    bool count_rounding = true;
    bool find_nonfinite = true;
    bool histograms = false;  // in the pass that counts: of results, and of gradients as each operation gives them
    CountsByPlace rounding;   // "fc1/linear forward"
    std::optional<NonFinite> first_nonfinite;
    std::int64_t skips = 0;  // steps that a dynamic loss scale skipped, and that are finite with a smaller one

    /// Rounds a result into its format, and counts under the operation's label and the pass. Returns whether all of it
    /// is finite (true where nothing asks).
    bool store(std::string_view label, const Pass& pass, Tensor& result, const ComputeFormat& format);

    [[nodiscard]] bool searches() const { return find_nonfinite && !first_nonfinite; }

  private:
    std::string place_;  // of the last result: its memory serves the next
};

/// A number of bytes: as the format stores them, and as the container holds them in memory.
struct ByteCount {
    std::int64_t stored = 0;
    std::int64_t held = 0;
    ByteCount& operator+=(const ByteCount& other) {
        stored += other.stored;
        held += other.held;
        return *this;
    }
};
inline ByteCount bytes_of(const Tensor& tensor) {
    const std::int64_t size = tensor.size();
    return {size * tensor.format().storage_bits() / 8, size * static_cast<std::int64_t>(sizeof(Real))};
}

}  // namespace ulp::inline ULPLAB_MODE
