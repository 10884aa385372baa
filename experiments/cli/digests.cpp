// `ulplab digests`: what a short training leaves, for every recipe, as one line to compare with other machines'.
#include "engine/layers/attention.hpp"
#include "engine/layers/recurrent.hpp"
#include "engine/recipes/levels.hpp"
#include "engine/recipes/product_rules.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/images.hpp"
#include "engine/training/trainer.hpp"
#include "experiments/cli/command.hpp"

namespace ulp {
namespace {

constexpr Index batch = 8;
constexpr Index time_steps = 4;
constexpr Index width = 16;
constexpr int classes = 5;

/// A small net with a layer of each kind: convolution, batch normalisation, pool, LSTM, attention, layer normalisation.
class DigestNet {
  public:
    explicit DigestNet(Model& model)
        : conv_(model, "conv", 1, 4, 3, {.padding = 1}),
          norm_(model, "norm", 4),
          lstm_(model, "lstm", width, width),
          attention_(model, "attention", width, 2),
          last_norm_(model, "last_norm", width),
          out_(model, "out", width, classes) {}

    /// (8, 1, 8, 8) -> (8, 5)
    Var operator()(Var x) const {
        const Var h = max_pool2d(relu(norm_(conv_(x))), 2);                               // (8, 4, 4, 4)
        const Var sequence = permute(reshape(h, {batch, time_steps, width}), {1, 0, 2});  // (4, 8, 16)
        const Var read = permute(lstm_(sequence), {1, 0, 2});                             // (8, 4, 16)
        const Var mixed = last_norm_(residual(read, [&](Var v) { return attention_(v, true); }));
        const Var last = reshape(slice(mixed, 1, time_steps - 1, 1), {batch, width});
        return out_(dropout(gelu(last), 0.1));
    }

  private:
    Conv2d conv_;
    BatchNorm norm_;
    Lstm lstm_;
    MultiHeadAttention attention_;
    LayerNorm last_norm_;
    Linear out_;
};

std::string digest_of_training(const Recipe& recipe, const std::string& backend, std::int64_t steps) {
    Trainer trainer(Engine(recipe, make_backend(backend)), 1);
    const DigestNet net(trainer.model());
    trainer.optimize({.learning_rate = 0.05, .momentum = 0.9});
    trainer.before_update = [](Optimizer& optimizer) { optimizer.clip_by_norm(1); };
    Random random(1, "digests");
    for (std::int64_t i = 0; i < steps; ++i) {
        Matrix images(batch, 64);
        std::vector<int> labels;
        for (Index j = 0; j < images.size(); ++j) images.data()[j] = static_cast<float>(random.normal());
        for (Index j = 0; j < batch; ++j) labels.push_back(static_cast<int>(random.below(classes)));
        trainer.step([&](Tape& tape) {
            return cross_entropy(net(reshape(images_on(tape, images), {batch, 1, 8, 8})), labels);
        });
    }
    return trainer.trace().digest();
}

struct Row {
    std::string name;
    Recipe recipe;
    std::string backend;
};

/// A matrix unit that has the recipe's products.
std::string backend_for(const Recipe& recipe) {
    if (recipe.name.starts_with("fp32") || recipe.low == formats::fp32) {
        return recipe.operand == formats::tf32 ? "soft:a100" : "soft:ieee";
    }
    return refusal_of(recipe, *make_backend("soft:h100")) ? "soft:ieee" : "soft:h100";
}

std::vector<Row> rows() {
    std::vector<Row> all;
    for (const Recipe& recipe : recipes()) {
        if (recipe.name == "fp64") continue;  // another container: no matrix unit, no digest of fp32 words
        for (const char* options : {"", "+ftz", "+fused"}) {
            const Recipe one = recipe_by_name(recipe.name + options);
            all.push_back({one.name, one, backend_for(one)});
        }
    }
    for (const char* name : {"O0", "O1", "O2", "O3"}) {
        const Recipe recipe = Level(name).recipe();
        all.push_back({name, recipe, backend_for(recipe)});
    }
    all.push_back({"mixed_fp16", recipe_by_name("mixed_fp16"), "soft:v100"});
    return all;
}

ExitCode print_digests(std::int64_t steps) {
    for (const Row& row : rows()) {
        fmt::print("{:<32} {:<10} {}\n", row.name, row.backend, digest_of_training(row.recipe, row.backend, steps));
    }
    return ExitCode::good;
}

Action declare_digests(OptionParser& app) {
    const auto steps = std::make_shared<std::int64_t>(3);
    app.add_option("--steps", *steps, "of training").range(1, 1000).capture_default_str();
    app.footer(
        "Trains a small net (convolution, normalisations, LSTM, attention) with every recipe and level. The lines are "
        "the same with every compiler, optimisation, vector width (ULPLAB_SIMD) and number of threads.");
    return [steps] { return print_digests(*steps); };
}

}  // namespace

Command digests_command() {
    return {"digests", "what a short training leaves with every recipe, to compare machines", declare_digests};
}

}  // namespace ulp
