// The eleven steps of a mixed-precision training step, one after the other, in both published variants; the formats on
// the way; and the mistakes that the sources themselves make in it.
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <stdexcept>

#include "engine/operations/operation.hpp"
#include "engine/recipes/levels.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/images.hpp"
#include "experiments/shared/sources.hpp"
#include "experiments/training/figures.hpp"
#include "softfloat/float.hpp"
#include "softfloat/format_names.hpp"

namespace ulp {
namespace {

using sources::cite;

/// The slides' scale; under the control "unscaled" none.
double scale_of(const RunContext& context) { return has_control(context, "unscaled") ? 1 : 128; }

constexpr double rate = 0.1;
const std::vector<Index> widths = {16, 12, 10};

/// A batch of eight random rows with labels.
struct RandomBatch {
    Matrix x{8, 16};
    std::vector<int> labels;

    explicit RandomBatch(std::uint64_t seed) {
        Random random(seed, "training step");
        for (Index i = 0; i < x.size(); ++i) x.data()[i] = static_cast<float>(random.uniform());
        for (int i = 0; i < 8; ++i) labels.push_back(static_cast<int>(random.below(10)));
    }
};

Engine engine_of(Recipe recipe, const RunContext& context) {
    return {under_wide_control(context, std::move(recipe)), make_backend(backend_or_ieee(context))};
}

std::string text_of(const FloatFormat& format) { return std::string(ulp::name_of(format)); }

/// What came of the eleven steps.
struct Step {
    std::string formats;          // as the numbers pass through
    std::vector<Tensor> masters;  // afterwards
    std::vector<Tensor> weights;
    float loss = 0;
};

/// The eleven steps written out on the tape, without trainer, scaler and optimizer.
Step eleven_steps(std::string_view recipe, const RunContext& context) {
    const RandomBatch batch(context.seed);
    const Engine engine = engine_of(recipe_by_name(recipe), context);
    const double scale = scale_of(context);
    Model model(engine.recipe, context.seed);
    const Mlp net(model, widths);  // 1: fp16 weights (the masters beside them)
    Step step;
    Tape tape(engine);
    const Var logits = net(images_on(tape, batch.x));      // 2: forward in fp16
    const Var loss = cross_entropy(logits, batch.labels);  // 2 A: the loss too; 2 B: in fp32
    const Var loss32 = cast(loss, formats::fp32);          // 3
    const Var scaled_loss = scaled(loss32, scale);         // 4
    tape.backward(scaled_loss);                            // 5: backward in fp16
    step.loss = loss.value()[0];
    step.formats = fmt::format("weights {}, logits {}, loss {}, scaled loss {}",
                               text_of(model.parameters().front().value.format()), text_of(logits.format()),
                               text_of(loss.format()), text_of(scaled_loss.format()));
    for (Parameter& p : model.parameters()) {
        Tensor gradient = p.gradient;
        if (&p == &model.parameters().front()) step.formats += ", gradients " + text_of(gradient.format());
        gradient.set_format(formats::fp32);                                         // 6: copied to fp32
        for (float& g : gradient.values()) g *= 1 / static_cast<float>(scale);      // 7: divided by the scale
        for (float& g : gradient.values()) g = std::min(std::max(g, -1.0F), 1.0F);  // 8: clipped
        for (Index i = 0; i < gradient.size(); ++i) {
            p.updated()[i] -= static_cast<float>(rate) * gradient[i];  // 9: onto fp32 masters
        }
        step.masters.push_back(p.updated());
        p.publish(engine.recipe.rounding);  // 10, 11: fp16 into the model
        step.weights.push_back(p.value);
    }
    step.formats += fmt::format(", masters {}", text_of(step.masters.front().format()));
    return step;
}

/// The same net and batch for the trainer.
Training training_of(const RunContext& context, const Recipe& recipe,
                     const std::function<void(Optimizer&)>& before_update) {
    const TaskBuilder task = [=](Model& model, std::uint64_t seed) -> Task {
        const auto loss = [net = Mlp(model, widths), batch = RandomBatch(seed)](Tape& tape, std::int64_t) {
            return cross_entropy(net(images_on(tape, batch.x)), batch.labels);
        };
        return {.loss = loss, .before_update = before_update};
    };
    return {.arithmetic = {recipe.name, recipe, backend_or_ieee(context)},
            .task = task,
            .optimizer = {.learning_rate = rate},
            .steps = 60};
}

/// The same step by the trainer.
Step trainer_step(std::string_view name, const RunContext& context) {
    Recipe recipe = under_wide_control(context, recipe_by_name(name));
    recipe.loss_scale = constant_loss_scale(scale_of(context));
    TrainingRun run(training_of(context, recipe, [](Optimizer& optimizer) { optimizer.clip_by_value(1); }),
                    context.seed);
    run.step();
    Step step;
    for (const Parameter& p : run.trainer().model().parameters()) {
        step.masters.push_back(p.updated());
        step.weights.push_back(p.value);
    }
    return step;
}

int different(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    int count = 0;
    for (std::size_t t = 0; t < a.size(); ++t) {
        for (Index i = 0; i < a[t].size(); ++i) {
            count += std::bit_cast<std::uint32_t>(a[t][i]) != std::bit_cast<std::uint32_t>(b[t][i]) ? 1 : 0;
        }
    }
    return count;
}

void claim_eleven_steps(const RunContext& context, Result& result) {
    const std::string a = cite(sources::round_table, "Mixed precision process: compute loss in fp16");
    const std::string b = cite(sources::round_table, "Mixed precision process: logits to fp32, loss in fp32");
    const Step variant_a = eleven_steps("mixed_fp16_fp16_loss", context);
    const Step variant_b = eleven_steps("mixed_fp16", context);
    result.claim("formats_a", a, "Variant A: the formats that the numbers pass through in the eleven steps.",
                 "weights fp16, logits fp16, loss fp16, scaled loss fp32, gradients fp16, masters fp32",
                 variant_a.formats);
    result.claim("formats_b", b, "Variant B: logits become fp32 before the loss.",
                 "weights fp16, logits fp16, loss fp32, scaled loss fp32, gradients fp16, masters fp32",
                 variant_b.formats);
    const auto compare = [&](std::string_view id, std::string_view source, const char* recipe, const Step& by_hand) {
        const Step trained = trainer_step(recipe, context);
        result.claim(id, source, "The steps written out give the bits that the trainer gives.",
                     "0 masters and 0 weights differ",
                     fmt::format("{} masters and {} weights differ", different(by_hand.masters, trained.masters),
                                 different(by_hand.weights, trained.weights)));
    };
    compare("bits_a", a, "mixed_fp16_fp16_loss", variant_a);
    compare("bits_b", b, "mixed_fp16", variant_b);
    result.arithmetic("loss_a", a, "Variant A's loss is variant B's rounded to fp16.",
                      equal(static_cast<double>(fp16(variant_b.loss)), fp16(variant_a.loss)));
    result.claim_if(variant_a.loss != variant_b.loss, "control_loss", b, "And that is another number.",
                    fmt::format("not {}", variant_b.loss), fmt::format("{}", variant_a.loss));
    result.claim(
        "variants_masters", b,
        "Where the steps inside the loss are fp32 the two variants update alike: the loss's own value does not "
        "enter its gradient.",
        "0 masters differ", fmt::format("{} masters differ", different(variant_a.masters, variant_b.masters)));
}

/// The notebook multiplies by the scale where it must divide.
void claim_scale_squared(const RunContext& context, Result& result) {
    const std::string cell = cite(sources::notebook, "param_float32.grad = param.grad.float() * scale_factor");
    const RandomBatch batch(context.seed);
    // Small updates, so that clipping does not hide the factor: one weight's gradient is enough.
    const Engine engine("mixed_fp16", backend_or_ieee(context));
    const double scale = scale_of(context);
    Model model(engine.recipe, context.seed);
    const Mlp net(model, widths);
    Tape tape(engine);
    tape.backward(scaled(cross_entropy(net(images_on(tape, batch.x)), batch.labels), scale));
    int squared = 0;
    int all = 0;
    for (const Parameter& p : model.parameters()) {
        for (const float g : p.gradient.values()) {
            if (g == 0) continue;
            ++all;
            squared += (g * static_cast<float>(scale)) / (g / static_cast<float>(scale)) == 16384.0F ? 1 : 0;
        }
    }
    result.claim("scale_squared", cell,
                 "Multiplied by the scale instead of divided, every update is too large by its square, 2^14.",
                 fmt::format("{} of {} updates by 16384", all, all),
                 fmt::format("{} of {} updates by 16384", squared, all), Verdict::refuted);
}

/// Loss curves of the notebook's loop, as printed and mended, by the trainer: the factor is applied after unscaling.
std::vector<double> losses_with_factor(const RunContext& context, double factor) {
    Recipe recipe = recipe_by_name("mixed_fp16");
    recipe.loss_scale = constant_loss_scale(scale_of(context));
    const auto times_factor = [factor](Optimizer& optimizer) {
        for (Tensor& gradient : optimizer.gradients()) {
            for (float& g : gradient.values()) g *= static_cast<float>(factor);
        }
    };
    return train(training_of(context, recipe, times_factor), context.seed).losses;
}

void show_scale_squared(const RunContext& context, Result& result) {
    const double scale = scale_of(context);
    const std::vector<double> printed = losses_with_factor(context, scale * scale);
    const std::vector<double> mended = losses_with_factor(context, 1);
    const std::string cell = cite(sources::notebook, "param_float32.grad = param.grad.float() * scale_factor");
    result.claim_if(!(printed.back() < printed.front()) && mended.back() < mended.front(), "scale_squared_training",
                    cell, "With that line the loss does not fall; with a division it does.",
                    "as printed: not below its start; mended: below it",
                    fmt::format("as printed: {:.3g} to {:.3g}; mended: {:.3g} to {:.3g}", printed.front(),
                                printed.back(), mended.front(), mended.back()),
                    Verdict::refuted);
    Figure figure{
        "scale_squared", "A published training loop, as printed and mended",
        "The notebook's loop multiplies the gradients by the loss scale (128) where it must divide. Loss over "
        "steps of 0.1.",
        "A factor of the scale's square, 16384, in every update: the first step throws the weights out of fp16's "
        "useful range. Divided, the loss falls.",
        ""};
    const auto add = [&](const std::string& name, const std::vector<double>& losses) {
        figure.series.push_back({name, formats::fp32, points_of(losses)});
    };
    add("multiplied as printed", printed);
    add("divided", mended);
    result.figure(std::move(figure));
}

/// The notebook's demonstration of autocast: e = mm(a, b), f = mm(d, e) inside, g = mm(d, f.float()) outside.
void claim_autocast(const RunContext& context, Result& result) {
    const std::string cell = cite(sources::notebook, "demo: torch.cuda.amp.autocast()");
    const auto sequence = [&](const Recipe& inside) {
        Random random(context.seed, "autocast");
        const auto draw = [&random] {
            Tensor t({8, 8});
            for (float& x : t.values()) x = static_cast<float>(random.uniform());
            return t;
        };
        const Engine in = engine_of(inside, context);
        const Engine out("fp32", backend_or_ieee(context));
        Tape tape(in);
        const Tensor d = draw();
        const Var e = matmul(tape.constant(draw()), tape.constant(draw()));
        const Var f = matmul(tape.constant(d), e);
        Tape outside(out);
        const Var g = matmul(outside.constant(d), cast(outside.constant(f.value()), formats::fp32));
        return fmt::format("{} {} {}", text_of(e.format()), text_of(f.format()), text_of(g.format()));
    };
    result.claim("autocast", cell, "Inside autocast products give fp16, of mixed inputs too; outside, fp32.",
                 "fp16 fp16 fp32", sequence(Level("O1", {{"cast_list", "pytorch_cuda"}}).recipe()));
    result.claim("control_autocast", cell, "Without autocast all three are fp32.", "fp32 fp32 fp32",
                 sequence(recipe_by_name("fp32")));
}

/// The notebook's chain rule of two layers, multiplied out in fp64, beside the tape's gradients.
void claim_chain_rule(std::uint64_t seed, Result& result) {
    const Engine engine("fp64", "soft:ieee");
    Random random(seed, "chain rule");
    const auto draw = [&random](Shape shape) {
        BasicTensor<double> t(std::move(shape));
        for (double& x : t.values()) x = random.uniform(-1, 1);
        return t;
    };
    constexpr Index n = 4;
    const BasicTensor<double> x = draw({1, n});
    const BasicTensor<double> target = draw({1, n});
    BasicTape<double> tape(engine);
    const BasicVar<double> w1 = tape.leaf(draw({n, n}));
    const BasicVar<double> w2 = tape.leaf(draw({n, n}));
    const BasicVar<double> a1 = ulp::tanh(linear(tape.constant(x), w1, tape.constant(BasicTensor<double>({n}))));
    const BasicVar<double> a2 = linear(a1, w2, tape.constant(BasicTensor<double>({n})));
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
        const double dz1 = da1 * (1 - a1.value()[j] * a1.value()[j]);
        for (Index i = 0; i < n; ++i) {
            worst = std::max(worst, std::fabs(dz1 * x[i] - w1.gradient()[j * n + i]));
        }
    }
    result.claim_if(
        worst < 1e-15, "chain_rule",
        cite(sources::notebook, "2-level NN: dL/dW2 = dL/da2 da2/dW2, dL/dW1 = dL/da1 da1/dW1"),
        "The two layers' chain rule multiplied out in fp64 gives the tape's gradients (orders of sums differ).",
        "within 1e-15", fmt::format("within {:.1e}", worst));
}

/// The slide's pseudo-code casts with .half() for both lists.
void claim_cast_list(const RunContext& context, Result& result) {
    const std::string slide = cite(sources::amp_slides, "for func in fp32_cast_list: return old_func(input.half())");
    const auto loss_of_300 = [&](Recipe recipe) {
        const Engine engine = engine_of(std::move(recipe), context);
        Tape tape(engine);
        return mse(tape.constant(Tensor(Shape{1}, std::vector<float>{300.0F})), Tensor(Shape{1})).value()[0];
    };
    Recipe mended = Level("O1").recipe();
    Recipe printed = mended;
    for (CastRule& rule : printed.cast_rules) rule.cast = rule.cast == Cast::single ? Cast::low : rule.cast;
    printed.compute = formats::fp16;
    mended.compute = formats::fp16;
    result.arithmetic("cast_list_printed", slide,
                      "As printed the fp32 list casts to fp16: the squared error of 300 is infinite.",
                      equal(std::numeric_limits<double>::infinity(), fp32(loss_of_300(printed))), Verdict::refuted);
    result.arithmetic("cast_list_mended", slide, "With .float() in its place it is 90000.",
                      equal(90000, fp32(loss_of_300(mended))));
}

void claim_override(Result& result) {
    std::string message = "no error";
    try {
        const Level level("O1", {{"master_weights", "true"}});
    } catch (const std::invalid_argument& error) {
        message = error.what();
    }
    result.claim_if(
        message.find("master_weights has no meaning") != std::string::npos, "override",
        cite(sources::amp_slides, "AMP will issue a warning if you override a property that makes no sense"),
        "O1 with master_weights=True is an error with an explanation, in apex as here, not a warning.", "an error",
        message, Verdict::refuted);
    const Level sensible("O1", {{"loss_scale", "128.0"}});
    result.claim("override_loss_scale", cite(sources::amp_slides, "opt_level O1, loss_scale=128.0"),
                 "A sensible override takes effect: a static scale of 128.", "constant 128",
                 fmt::format("{} {}", sensible.recipe().loss_scale.dialect, sensible.recipe().loss_scale.initial));
}

/// Rules that a program could check.
template <class Half>
void claim_tips(const RunContext& context, Result& result) {
    const std::string tips = cite(sources::round_table, "Mixed precision process tips");
    int wrong = 0;
    int infinite = 0;
    constexpr int vocabulary = 50257;
    for (int id = 0; id < vocabulary; ++id) {
        const Half half(static_cast<float>(id));
        wrong += static_cast<float>(half) != static_cast<float>(id) ? 1 : 0;
        infinite += isfinite(half) ? 0 : 1;
    }
    result.claim_if(wrong > vocabulary / 2 && infinite == 0, "integer_ids",
                    cite(sources::round_table, "Input tensors are integer: not possible to convert INT32 to fp16"),
                    "Token ids stay integers: of GPT-2's 50257 most are not numbers of fp16.", "more than half",
                    fmt::format("{} of {}", wrong, vocabulary));
    result.arithmetic("integer_ids_first", tips, "The first id that fp16 does not hold is 2049: it becomes 2048.",
                      equal(2048, Half(2049.0F)));
    const int padded = (vocabulary + 7) / 8 * 8;
    result.claim("padded_vocabulary", cite(sources::volta_talk, "Pad input/output dictionaries to multiples of 8"),
                 "GPT-2's vocabulary of 50257 is padded to the next multiple of 8.", "50264",
                 fmt::format("{}", padded));
    // A scale of 2^16 does not survive in fp16; 2^16 in fp32 does: why step 3 comes before step 4.
    result.arithmetic("scale_in_fp32", cite(sources::round_table, "Convert loss to fp32 just for scaling"),
                      "A loss of 1 times 65536 is infinite in fp16: the loss becomes fp32 before it is scaled.",
                      equal(std::numeric_limits<double>::infinity(), Half(1.0F) * Half(65536.0F)));
    // Four products of a cell in one, bit by bit.
    const Engine engine("mixed_fp16", backend_or_ieee(context));
    Random random(context.seed, "cell");
    const auto draw = [&random](Shape shape) {
        Tensor t(std::move(shape));
        for (float& x : t.values()) x = static_cast<float>(random.normal());
        t.round_to_format(formats::fp16);
        return t;
    };
    Tape tape(engine);
    const Var x = tape.constant(draw({8, 32}));
    const Var w = tape.constant(draw({64, 32}));
    const Var b = tape.constant(draw({64}));
    const Var whole = linear(x, w, b);
    std::vector<Var> parts;
    for (Index gate = 0; gate < 4; ++gate) {
        parts.push_back(linear(x, slice(w, 0, 16 * gate, 16), slice(b, 0, 16 * gate, 16)));
    }
    const Var joined = concat(parts, 1);
    result.claim("concatenated_cell", cite(sources::volta_talk, "Concatenate cell matrix ops into a single call"),
                 "The four products of an LSTM's gates as one product give the same bits.", "0 of 512 differ",
                 fmt::format("{} of 512 differ", different({whole.value()}, {joined.value()})));
}

/// Where in fp32 and fp16 the numbers of one step lie, step by step: for the figure.
void figure_steps(const RunContext& context, Result& result) {
    Figure figure{
        "steps", "One training step: the same gradients on their way",
        "Largest and smallest magnitude that is not zero, of all weight gradients, after each of the eleven steps "
        "(scale 128, variant B).",
        "The loss scale lifts the gradients by 7 powers of two while they are fp16; they come back down only "
        "after they have become fp32, and the updates, a tenth of that, never see fp16.",
        ""};
    const RandomBatch batch(context.seed);
    const double scale = scale_of(context);
    const Engine engine("mixed_fp16", backend_or_ieee(context));
    Model model(engine.recipe, context.seed);
    const Mlp net(model, widths);
    Tape tape(engine);
    tape.backward(scaled(cross_entropy(net(images_on(tape, batch.x)), batch.labels), scale));
    double largest = 0;
    double least = 1e30;
    for (const Parameter& p : model.parameters()) {
        for (const float g : p.gradient.values()) {
            const auto size = static_cast<double>(std::fabs(g));
            largest = std::max(largest, size);
            if (size > 0) least = std::min(least, size);
        }
    }
    const auto add = [&](const std::string& name, double value) {
        figure.series.push_back(
            {name,
             formats::fp64,
             {{5, value}, {6, value}, {7, value / scale}, {8, value / scale}, {9, rate * value / scale}}});
    };
    add("largest", largest);
    add("smallest", least);
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    claim_eleven_steps(context, result);
    claim_scale_squared(context, result);
    show_scale_squared(context, result);
    claim_autocast(context, result);
    claim_chain_rule(context.seed, result);
    claim_cast_list(context, result);
    claim_override(result);
    with_16_bit_formats(context, [&]<class Half, class>() { claim_tips<Half>(context, result); });
    figure_steps(context, result);
}

}  // namespace

Experiment training_step_experiment() {
    return {"training_step",
            "The training step: eleven steps, two variants, three misprints",
            "What happens to the numbers in one mixed-precision step, and where do the sources get it wrong?",
            Chapter::remedies,
            {control_setting("wide puts fp32 in the place of the 16-bit formats, unscaled leaves the loss scale out",
                             {"wide", "unscaled"})},
            run,
            {{{},
              {"control=wide"},
              {"formats_a", "formats_b", "control_loss", "autocast", "cast_list_printed", "integer_ids",
               "integer_ids_first", "scale_in_fp32"}},
             {{}, {"control=unscaled"}, {"scale_squared", "scale_squared_training"}}}};
}

}  // namespace ulp
