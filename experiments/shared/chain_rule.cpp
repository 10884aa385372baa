#include "experiments/shared/chain_rule.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/tape/ops.hpp"
#include "engine/tensor/random.hpp"

namespace ulp {

double chain_rule_error(std::uint64_t seed, bool with_tanh) {
    const Engine engine("fp64", "soft:ieee");
    Random random(seed, "chain rule");
    const auto draw = [&random](Shape shape) {
        Tensor t(std::move(shape));
        for (double& x : t.values()) x = random.uniform(-1, 1);
        return t;
    };
    constexpr Index n = 4;
    const Tensor x = draw({1, n});
    const Tensor target = draw({1, n});
    Tape tape(engine);
    const Var w1 = tape.leaf(draw({n, n}));
    const Var w2 = tape.leaf(draw({n, n}));
    const Var a1 = ulp::tanh(linear(tape.constant(x), w1, tape.constant(Tensor({n}))));
    const Var a2 = linear(a1, w2, tape.constant(Tensor({n})));
    tape.backward(mse(a2, target));
    double worst = 0;
    for (Index j = 0; j < n; ++j) {
        const double da2 = 2 * (a2.value()[j] - target[j]) / n;
        for (Index i = 0; i < n; ++i) {
            worst = std::max(worst, std::fabs(da2 * a1.value()[i] - w2.gradient()[j * n + i]));
        }
    }
    for (Index j = 0; j < n; ++j) {
        double da1 = 0;
        for (Index k = 0; k < n; ++k) da1 += 2 * (a2.value()[k] - target[k]) / n * w2.value()[k * n + j];
        const double slope = with_tanh ? 1 - a1.value()[j] * a1.value()[j] : 1;
        const double dz1 = da1 * slope;
        for (Index i = 0; i < n; ++i) {
            worst = std::max(worst, std::fabs(dz1 * x[i] - w1.gradient()[j * n + i]));
        }
    }
    return worst;
}

}  // namespace ulp
