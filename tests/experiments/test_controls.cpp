// Negative controls: with the effect switched off, the claims about it fail, and no others. A claim that holds whatever
// happens claims nothing.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "experiments/framework/experiment.hpp"

namespace {

using namespace ulp;
using Texts = std::vector<std::string>;

struct Control {
    std::string experiment;
    Texts small;  // settings of both runs
    Texts off;    // settings that switch the effect off
    Texts fail;   // claims that then fail
};

const std::vector<Control>& controls() {
    static const std::vector<Control> rows = {
        {"overflow",
         {},
         {"control=wide"},
         {"sum_fp32_stored_fp16",
          "sum_fp16_pairwise",
          "sum_fp16_one_by_one",
          "sum_fp16_swamps_at",
          "sum_bf16_one_by_one",
          "boundary_4095",
          "loss_scale_65536",
          "unit_fp32_stored_fp16_v100",
          "unit_fp16_v100",
          "unit_fp16_4095_v100",
          "unit_fp32_stored_fp16_a100",
          "unit_fp16_a100",
          "unit_fp16_4095_a100",
          "unit_fp32_stored_fp16_h100",
          "unit_fp16_h100",
          "unit_fp16_4095_h100",
          "norm_fp32_4094",
          "norm_fp32_4095",
          "norm_fp32_4097",
          "norm_fp16_overflow",
          "exp_fp16",
          "softmax_fp16_zero",
          "softmax_fp16_nan"}},
        {"swamping",
         {"samples=100"},
         {"control=wide"},
         {"one_plus_small_fp16", "one_plus_small_bf16", "one_plus_larger_fp16", "rule_1.9", "rule_minus", "rule_plus",
          "rule_odd", "rule_safe", "ratio_2^11", "updates_onto_1_fp16", "updates_onto_1_bf16", "updates_from_0_fp16",
          "updates_from_0_bf16", "ones_fp16", "ones_bf16"}},
        {"underflow",
         {"samples=2000"},
         {"control=wide"},
         {"tie", "above_tie", "below_2^-24", "threshold", "threshold_flushed", "largest_flushed", "scale_2^20",
          "threshold_moves", "scale_1024"}},
        {"gradient_histogram",
         {"steps=24", "train_images=600", "test_images=100", "hidden=16", "net_steps=8", "frames=2"},
         {"control=unscaled"},
         {"shift", "replica_x8"}},
        {"master_weights",
         {"steps=150", "seeds=1", "least_rate_exponent=-12", "largest_rate_exponent=-12"},
         {"control=masters"},
         {"fp16_updates_collapse", "bf16_updates_collapse", "swamped"}},
        {"master_weights",
         {"steps=150", "seeds=1", "least_rate_exponent=-12", "largest_rate_exponent=-12"},
         {"control=nearest"},
         {"fp16_masters", "bf16_masters", "fp16_stochastic", "fp16_kahan"}},
        {"loss_scaling",
         {"steps=100", "translation_steps=20", "seeds=1", "exponent_step=10"},
         {"feature_exponent=0", "loss_exponent=0"},
         {"too_small"}},
        {"loss_scaling",
         {"steps=100", "translation_steps=200", "seeds=1", "exponent_step=10", "window=10"},
         {"control=unscaled"},
         {"too_large", "predicted_overflow", "predicted_window", "predicted_share", "dynamic", "sawtooth"}},
        {"scaler_arena",
         {"steps=200", "seeds=1"},
         {"control=constant"},
         {"growth_pytorch", "growth_apex", "growth_fairseq", "growth_deepspeed", "growth_hysteresis", "forced_pytorch",
          "forced_apex", "forced_fairseq", "forced_megatron", "forced_deepspeed", "forced_tolerant", "skips_2000",
          "endless_apex", "endless_pytorch", "endless_megatron", "endless_fairseq", "all_settle", "moving_is_closer",
          "random_skips"}},
        {"cast_policy",
         {"steps=40", "seeds=1"},
         {"control=wide"},
         {"norm", "loss", "update", "exp", "square", "square_underflow", "reciprocal", "softmax_long_fp16",
          "gradient_norm", "smallest_list", "smallest_is_minimal"}},
        {"formats",
         {"steps=30", "seeds=1"},
         {"control=wide"},
         {"fp16_needs_scale", "fp8_needs_scales", "identity_tf32"}},
        {"formats",
         {"steps=30", "seeds=1"},
         {"control=unscaled"},
         {"fp16_small_gradients", "fp8_small_gradients", "mx_small_gradients", "fp8_transformer", "mx_transformer"}},
        {"training_step",
         {},
         {"control=wide"},
         {"formats_a", "formats_b", "control_loss", "autocast", "cast_list_printed", "integer_ids", "integer_ids_first",
          "scale_in_fp32"}},
        {"training_step", {}, {"control=unscaled"}, {"scale_squared", "scale_squared_training"}},
        {"optimizers",
         {"steps=200", "seeds=1"},
         {"control=fp16_update"},
         {"sgd", "momentum", "adam", "adagrad", "sophia_clipped", "sophia", "Adam_bf16", "Adam_fp16", "Adagrad_bf16",
          "Adagrad_fp16", "Sophia_bf16", "Sophia_fp16", "sophia_clipped_share"}},
        {"fusion",
         {"samples=2000"},
         {"control=wide"},
         {"chain_fp16_1", "chain_fp16_2", "chain_fp16_3", "chain_fp16_4", "chain_fp16_5", "chain_bf16_1",
          "chain_bf16_2", "chain_bf16_3", "chain_bf16_4", "chain_bf16_5"}},
        {"mnist_cnn",
         {"seeds=1", "epochs=1", "train_images=250", "test_images=100"},
         {"control=pure_fp16"},
         {"parity_1", "parity_2"}},
        {"opt_levels",
         {"seeds=1", "regression_seeds=1", "regression_steps=6", "steps=2", "train_images=64", "test_images=20",
          "hidden=2"},
         {"control=all_O3"},
         {"regression_O1", "regression_O2"}},
        {"feedforward",
         {"seeds=2", "steps=40", "batch=32", "days=90"},
         {"control=pure_fp16"},
         {"parity_1", "parity_2"}},
        {"bert",
         {"seeds=1", "steps=2", "pairs=100", "test_pairs=20"},
         {"control=pure_fp16"},
         {"words_1", "words_2", "next_1", "next_2"}},
        {"char_lstm",
         {"seeds=1", "steps=12", "hidden=16", "characters=6000"},
         {"control=pure_fp16"},
         {"lstm_1", "mlstm_1", "mlstm_train_1"}},
        {"seq2seq",
         {"seeds=1", "steps=8", "hidden=8", "sentences=100", "test_sentences=20"},
         {"control=pure_fp16"},
         {"lstm_1", "transformer_1", "convolutional_1"}},
        {"gan",
         {"seeds=1", "steps=12", "channels=2", "train_images=16"},
         {"control=one_scaler"},
         {"two_scales", "adapts"}},
        {"speech",
         {"seeds=1", "steps=90", "test_utterances=40"},
         {"control=pure_fp16"},
         {"parity", "ten_bits_suffice", "masters_mend", "updates_lost"}},
        {"speech", {"seeds=1", "steps=90", "test_utterances=40"}, {"control=masters"}, {"collapse", "updates_lost"}},
        {"wavenet", {"seeds=2", "steps=24", "test_clips=2"}, {"control=unscaled"}, {"curves_overlap", "unseen"}},
        {"tacotron",
         {"seeds=1", "steps=50", "test_utterances=10"},
         {"control=pure_fp16"},
         {"diagonal_mixed", "attention", "unseen"}},
        {"analog", {"seeds=1", "steps=100", "most_bits=1"}, {"control=fine"}, {"without_accumulator", "updates_lost"}},
        {"detection",
         {"seeds=2", "steps=100", "train_images=400", "test_images=50", "loss_exponent=-18"},
         {"control=unscaled"},
         {"scale_8", "dynamic", "lost_8", "irrelevant", "scale_is_weight"}},
        {"detection",
         {"seeds=2", "steps=100", "train_images=400", "test_images=50", "loss_exponent=-18"},
         {"loss_exponent=0"},
         {"unscaled", "irrelevant"}},
        {"segmentation",
         {"seeds=1", "steps=24", "train_images=200", "test_images=20"},
         {"control=pure_fp16"},
         {"parity"}},
        {"inpainting",
         {"seeds=1", "steps=16", "train_images=64", "test_images=20", "gram_images=512"},
         {"control=wide"},
         {"gram_stored", "gram_bytes", "gram_swamps_V100", "gram_swamps_A100", "gram_swamps_H100", "order_fp16_after"}},
        {"inpainting",
         {"seeds=1", "steps=2", "train_images=16", "test_images=10", "gram_images=4"},
         {"control=pure_fp16"},
         {"parity"}},
        {"int8_inference",
         {"seeds=1", "steps=80", "train_images=320", "test_images=60"},
         {"control=saturate"},
         {"maximum_5", "percentile_5", "entropy_5", "maximum_10", "percentile_10", "entropy_10", "maximum_50",
          "percentile_50", "entropy_50"}},
        {"gpu_generations",
         {"steps=10", "hidden=16", "train_images=200", "test_images=50", "longest_k=4096", "seeds=2"},
         {"promote_every=0", "units=ieee"},
         {"first_bit_V100_A100", "first_bit_A100_H100", "first_bit_V100_IEEE", "drift_V100", "drift_A100", "drift_H100",
          "drift_B200", "fp8_promotion"}},
        {"integer_products",
         {"samples=50"},
         {"accumulator_bits=20"},
         {"exhaustive_s8", "exhaustive_u8", "exhaustive_s8_u8", "exhaustive_s4", "exhaustive_u4", "exhaustive_s4_u4",
          "int32_holds", "int32_wraps", "int32_saturates"}},
        {"memory",
         {},
         {"low_bytes=4"},
         {"gpt2_fp16", "gpt2_fp16_mebibytes", "gpt2_int8", "gpt2_int8_mebibytes", "cnn_batch_planned",
          "unet_gains_more"}},
        {"roofline",
         {},
         {"tensor_core_factor=1"},
         {"peak", "factor", "amdahl_ResNet-50", "amdahl_DS2", "memory_limited_too", "amortised_write",
          "concatenation"}},
        {"published_numbers",
         {},
         {"control=wide"},
         {"eight_bit_multiplier", "tf32_mantissa", "linear_256", "bytes", "token_ids", "first_lost_integer"}},
    };
    return rows;
}

Texts failed_claims(const std::string& name, const Texts& small, const Texts& off) {
    const Experiment& experiment = experiment_by_name(name);
    Settings settings(experiment.settings, true);
    for (const Texts* assignments : {&small, &off}) {
        for (const std::string& assignment : *assignments) settings.set(assignment);
    }
    Result result(name);
    experiment.run({1, true, "", std::move(settings), [](double) {}}, result);
    Texts failed;
    for (const Claim& claim : result.claims()) {
        if (claim.verdict == Verdict::failed) failed.push_back(claim.id.substr(claim.id.find('.') + 1));
    }
    return failed;
}

Texts without(Texts names, const Texts& dropped) {
    std::erase_if(names, [&](const std::string& name) { return std::ranges::find(dropped, name) != dropped.end(); });
    return names;
}

std::string text_of(const Texts& names) { return fmt::format("{}", fmt::join(names, " ")); }

}  // namespace

TEST_CASE("every experiment has a control") {
    for (const Experiment& experiment : experiments()) {
        INFO(experiment.name);
        CHECK(std::ranges::any_of(controls(), [&](const Control& c) { return c.experiment == experiment.name; }));
    }
}

TEST_CASE("with the effect switched off the claims about it fail, and no others") {
    std::map<std::pair<std::string, Texts>, Texts> ordinary;  // small runs leave some claims open
    for (const Control& control : controls()) {
        INFO(control.experiment << " " << control.off.front());
        const std::pair key{control.experiment, control.small};
        if (!ordinary.contains(key)) ordinary[key] = failed_claims(control.experiment, control.small, {});
        const Texts spoilt = failed_claims(control.experiment, control.small, control.off);
        CHECK_FALSE(control.fail.empty());
        CHECK(text_of(without(spoilt, ordinary.at(key))) == text_of(control.fail));
    }
}
