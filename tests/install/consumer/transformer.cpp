// A transformer block with an operation of its own, from the installed headers: its gradients are checked, then it learns
// to reverse sequences in mixed precision on a software H100. Prints the training's digest.
#include <fmt/core.h>

#include <string>
#include <ulplab/ulplab.hpp>
#include <vector>

namespace {

/// x * tanh(log(1 + exp(x))) (Misra, "Mish", BMVC 2020).
template <class Real>
ulp::BasicVar<Real> mish(ulp::BasicVar<Real> x) {
    return ulp::pointwise(
        "mish", x, [](const auto& s, Real v) { return s.mul(v, s.tanh(s.softplus(v))); },
        [](const auto& s, Real v, Real, Real dy) {
            const Real t = s.tanh(s.softplus(v));
            return s.mul(dy, s.add(t, s.mul(s.mul(v, s.sigmoid(v)), s.sub(1, s.mul(t, t)))));
        });
}

template <class Real>
struct Block {
    ulp::BasicLayerNorm<Real> before_attention, before_dense;
    ulp::BasicMultiHeadAttention<Real> attention;
    ulp::BasicLinear<Real> wide, narrow;

    Block(ulp::BasicModel<Real>& model, const std::string& name, ulp::Index width)
        : before_attention(model, name + ".norm1", width),
          before_dense(model, name + ".norm2", width),
          attention(model, name + ".attention", width, 2),
          wide(model, name + ".wide", width, 2 * width),
          narrow(model, name + ".narrow", 2 * width, width) {}

    /// x (batch, time, width).
    ulp::BasicVar<Real> operator()(ulp::BasicVar<Real> x) const {
        x = ulp::residual(x, [&](auto v) { return attention(before_attention(v), false); });
        return ulp::residual(x, [&](auto v) { return narrow(mish(wide(before_dense(v)))); });
    }
};

constexpr ulp::Index words = 6;
constexpr ulp::Index length = 4;
constexpr ulp::Index batch = 16;

struct Net {
    ulp::Embedding tokens, places;
    Block<float> block;
    ulp::Linear out;

    explicit Net(ulp::Model& model)
        : tokens(model, "tokens", words, 16),
          places(model, "places", length, 16),
          block(model, "block", 16),
          out(model, "out", 16, words) {}

    ulp::Var operator()(ulp::Tape& tape, const std::vector<int>& ids) const {
        const ulp::Var x = ulp::add(tokens(tape, ids, {batch, length}), places(tape, {0, 1, 2, 3}, {length}));
        return ulp::reshape(out(block(x)), {batch * length, words});
    }
};

}  // namespace

int main() {
    ulp::BasicModel<double> model(ulp::recipe_by_name("fp64"), 1);
    const Block<double> checked(model, "block", 4);
    const ulp::GradientError error = ulp::check_gradients(model, {2, 3, 4}, checked);
    if (error.relative() > 1e-7) {
        fmt::print("a wrong gradient: {}\n", error.text());
        return 1;
    }

    ulp::Trainer trainer(ulp::Engine("mixed_fp16", "soft:h100"), 1);
    const Net net(trainer.model());
    trainer.optimize({.kind = ulp::OptimizerKind::adam, .learning_rate = 0.01});
    ulp::Random random(1, "sequences");
    double first = 0;
    double last = 0;
    for (int step = 0; step < 60; ++step) {
        std::vector<int> ids, reversed;
        for (ulp::Index i = 0; i < batch; ++i) {
            for (ulp::Index j = 0; j < length; ++j) ids.push_back(static_cast<int>(random.below(words)));
            reversed.insert(reversed.end(), ids.rbegin(), ids.rbegin() + length);
        }
        last = trainer.step([&](ulp::Tape& tape) { return ulp::cross_entropy(net(tape, ids), reversed); }).loss;
        if (step == 0) first = last;
    }
    fmt::print("{} {}\n", last < first / 2 ? "learned" : "not learned", trainer.trace().digest());
}
