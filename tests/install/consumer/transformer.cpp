// The block learns to reverse sequences in mixed precision on a software H100. Prints the training's digest.
#include <fmt/core.h>

#include <vector>

#include "block.hpp"

namespace {

constexpr ulp::Index words = 6;
constexpr ulp::Index length = 4;
constexpr ulp::Index batch = 16;

struct Net {
    ulp::Embedding tokens, places;
    Block block;
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
