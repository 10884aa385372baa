// Batch invariance: whether a token's outputs have the same bits whatever else is in the batch. A linear layer of
// `features` outputs is D (features x tokens) = W * X, W transposed in memory and X as it is: "TN", as PyTorch asks for
// it.
#pragma once

#include <array>

#include "gpu/devices/executor.hpp"
#include "gpu/untried/library.hpp"

namespace ulp::gpu {

/// Of token 0's bits, compared with the number of tokens before.
enum class BitChange : std::uint8_t {
    first,  // there is none before
    same,
    change,
    unknown  // of predictions alone: one of the two numbers of tokens was declined
};
std::string_view name_of(BitChange change);

struct InvarianceStep {
    std::int64_t tokens = 0;
    std::string order;                         // as predicted; empty where declined
    std::string declined;                      // or not offered: why
    BitChange predicted = BitChange::unknown;  // of the words that the order gives
    BitChange run = BitChange::unknown;        // unknown: not offered
    bool unlike = false;                       // there are predicted words, and others came out
};

/// What one might do so that the bits stay: from the orders, and run.
struct Remedy {
    std::string name;
    bool applies = false;    // there is such an order
    bool holds = false;      // the order is the same at all numbers of tokens that have a prediction
    double error = 0;        // the largest |d - exact| / sum |a b| over token 0's outputs, as predicted
    int asked = 0;           // numbers of tokens at which it was tried: those that have a prediction
    int runs = 0;            // at which it ran; the library may refuse an algorithm
    bool run_holds = false;  // token 0's bits were the same at all of them, which are more than one
    double run_error = 0;
    int unlike = 0;  // runs that gave other bits than predicted
};

/// With the names of `first` of Python's Invariance; the row is token 0.
struct CounterExample {
    std::int64_t shape = 0, against = 0;  // numbers of tokens, fewer and more
    std::int64_t element = 0;             // the first output that differs
    std::array<std::uint32_t, 2> values{};
};

struct Invariance {
    const ProblemType* type = nullptr;
    std::int64_t features = 0, k = 0;
    std::vector<InvarianceStep> steps;
    double error = 0;      // as for a remedy: the largest of the library's own orders, as predicted
    double run_error = 0;  // and of its own runs
    std::vector<Remedy> remedies;
    std::optional<CounterExample> first;
    /// Numbers of tokens at which the bits changed; those among them of which nothing was predicted; those where a
    /// predicted change did not happen, or one happened where none was predicted.
    [[nodiscard]] int changes() const;
    [[nodiscard]] int changes_unpredicted() const;
    [[nodiscard]] int changes_wrong() const;
    /// Numbers of tokens at which the library gave other words than predicted; and such runs of remedies.
    [[nodiscard]] int unlike() const;
    [[nodiscard]] int remedies_unlike() const;
};

/// Asks and runs the layer at each number of tokens, ascending, and each remedy at each of them. The device runs the
/// remedy that is a kernel of our own.
Invariance invariance_of(Library& library, const Executor& device, const ProblemType& type, std::int64_t features,
                         std::int64_t k, const std::vector<std::int64_t>& tokens);

/// A smaller layer and fewer tokens whose bits still change, found by halving one extent after the other while they do.
struct SmallestChange {
    std::int64_t features = 0, k = 0;
    CounterExample change;
    int runs = 0;  // products that were run to find it
};
/// From a layer whose bits change; nothing where they did not.
std::optional<SmallestChange> smallest_change(Library& library, const Invariance& found);

}  // namespace ulp::gpu
