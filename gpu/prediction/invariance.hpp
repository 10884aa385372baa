// Batch invariance: whether a token's outputs have the same bits whatever else is in the batch. A linear layer of
// `features` outputs is D (features x tokens) = W * X, W transposed in memory and X as it is: "TN", as PyTorch asks for
// it.
#pragma once

#include "gpu/devices/executor.hpp"
#include "gpu/prediction/library.hpp"

namespace ulp::gpu {

struct InvarianceStep {
    std::int64_t tokens = 0;
    std::string order;              // as predicted; empty where declined
    std::string declined;           // or not offered: why
    bool predicted_change = false;  // the order is another one than at the last number of tokens that has one
    bool change = false;            // run: a bit of token 0 differs from the last number of tokens that ran
};

/// What one might do so that the bits stay: from the orders, and run.
struct Remedy {
    std::string name;
    bool applies = false;    // there is such an order
    bool holds = false;      // the order is the same at all numbers of tokens that have a prediction
    double error = 0;        // the largest |d - exact| / sum |a b| over token 0's outputs, as predicted
    int runs = 0;            // numbers of tokens at which it ran; the library may refuse an algorithm
    bool run_holds = false;  // token 0's bits were the same at all of them, which are more than one
    double run_error = 0;
    int unlike = 0;  // runs that gave other bits than predicted
};

struct CounterExample {
    std::int64_t fewer = 0, more = 0;  // numbers of tokens
    std::int64_t feature = 0;          // the first output that differs
    std::uint32_t before = 0, after = 0;
};

struct Invariance {
    const ProblemType* type = nullptr;
    std::int64_t features = 0, k = 0;
    std::vector<InvarianceStep> steps;
    double error = 0;      // as for a remedy: the largest of the library's own orders, as predicted
    double run_error = 0;  // and of its own runs
    std::vector<Remedy> remedies;
    std::optional<CounterExample> first;
    /// Numbers of tokens at which prediction and run disagree about a change; where declined, nothing was predicted.
    /// And runs of remedies with other bits than predicted.
    [[nodiscard]] int wrong() const;
    [[nodiscard]] int changes() const;
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
