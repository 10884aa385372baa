// The eleven steps of a mixed-precision training step, one after the other, in both published variants; the formats on
// the way; and the mistakes that the sources themselves make in it.
#include <stdexcept>

#include "engine/recipes/levels.hpp"
#include "engine/tape/operation.hpp"
#include "engine/tensor/random.hpp"
#include "engine/training/images.hpp"
#include "experiments/shared/chain_rule.hpp"
#include "experiments/shared/matrix_units.hpp"
#include "experiments/training/figures.hpp"
#include "softfloat/float.hpp"
#include "softfloat/names.hpp"

namespace ulp::training_step_experiment {
namespace {

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

/// The recipe under the controls. With "fp16_loss_steps" every step of every operation is in fp16.
Recipe recipe_of(std::string_view name, const RunContext& context) {
    Recipe recipe = under_wide_control(context, recipe_by_name(name));
    if (has_control(context, "fp16_loss_steps")) recipe.compute = formats::fp16;
    return recipe;
}

Engine engine_of(Recipe recipe, const RunContext& context) {
    return {under_wide_control(context, std::move(recipe)), make_backend(unit_or_ieee(context))};
}

/// What stands behind the products in fp16, which the control takes to fp32.
std::string evidence_of_products(const RunContext& context, Result& result) {
    if (has_control(context, "wide")) return "";
    const std::string backend = mixed_backend(context);
    return evidence_of({MatrixUnit{backend, backend, make_backend(backend)}}, {fp16_to_fp32}, result);
}

std::string text_of(const FloatFormat& format) { return std::string(ulp::name_of(format)); }

/// What came of the eleven steps.
struct Step {
    std::string formats;            // as the numbers pass through
    std::vector<Tensor> gradients;  // scaled, as the backward pass leaves them
    std::vector<Tensor> masters;    // afterwards
    std::vector<Tensor> weights;
    float loss = 0;
};

/// The eleven steps written out on the tape, without trainer, scaler and optimizer.
Step eleven_steps(std::string_view recipe, const RunContext& context) {
    const RandomBatch batch(context.seed);
    const Engine engine(recipe_of(recipe, context), make_backend(unit_or_ieee(context)));
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
        step.gradients.push_back(gradient);
        if (&p == &model.parameters().front()) step.formats += ", gradients " + text_of(gradient.format());
        gradient.set_format(formats::fp32);                                         // 6: copied to fp32
        for (float& g : gradient.values()) g *= 1 / static_cast<float>(scale);      // 7: divided by the scale
        for (float& g : gradient.values()) g = std::min(std::max(g, -1.0F), 1.0F);  // 8: clipped
        for (Index i = 0; i < gradient.size(); ++i) {
            p.updated()[i] -= static_cast<float>(rate) * gradient[i];  // 9: onto fp32 masters
        }
        if (has_control(context, "fp16_masters")) p.updated().round_to_format(formats::fp16);
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
    return {.arithmetic = {recipe.name, recipe, unit_or_ieee(context)},
            .task = task,
            .optimizer = {.learning_rate = rate},
            .steps = 60};
}

/// The same step by the trainer.
Step trainer_step(std::string_view name, const RunContext& context) {
    Recipe recipe = recipe_of(name, context);
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

std::int64_t different(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
    std::int64_t count = 0;
    for (std::size_t t = 0; t < a.size(); ++t) count += different_bits(a[t].values(), b[t].values());
    return count;
}

void claim_eleven_steps(const RunContext& context, Result& result) {
    const std::string a = cite(sources::round_table, "Mixed precision process: compute loss in fp16");
    const std::string b = cite(sources::round_table, "Mixed precision process: logits to fp32, loss in fp32");
    const Step variant_a = eleven_steps("mixed_fp16_fp16_loss", context);
    const Step variant_b = eleven_steps("mixed_fp16", context);
    result.measured("formats_a", a, "Variant A: the formats that the numbers pass through in the eleven steps.",
                    equal("weights fp16, logits fp16, loss fp16, scaled loss fp32, gradients fp16, masters fp32",
                          variant_a.formats));
    result.measured("formats_b", b, "Variant B: logits become fp32 before the loss.",
                    equal("weights fp16, logits fp16, loss fp32, scaled loss fp32, gradients fp16, masters fp32",
                          variant_b.formats));
    const auto compare = [&](std::string_view id, std::string_view source, const char* recipe, const Step& by_hand) {
        const Step trained = trainer_step(recipe, context);
        result.measured(id, source, "The steps written out give the bits that the trainer gives.",
                        equal(0, different(by_hand.masters, trained.masters), "masters differ") &&
                            equal(0, different(by_hand.weights, trained.weights), "weights differ"));
    };
    compare("bits_a", a, "mixed_fp16_fp16_loss", variant_a);
    compare("bits_b", b, "mixed_fp16", variant_b);
    result.measured("loss_a", a, "Variant A's loss is variant B's rounded to fp16, which is another number.",
                    equal(static_cast<double>(fp16(variant_b.loss)), fp16(variant_a.loss)) &&
                        is(variant_a.loss != variant_b.loss, fmt::format("not {}", variant_b.loss),
                           fmt::format("{}", variant_a.loss)));
    result.measured("variants_masters", b,
                    "Where the steps inside the loss are fp32 the two variants update alike: the loss's own value does "
                    "not enter its gradient.",
                    equal(0, different(variant_a.masters, variant_b.masters), "masters differ"));
}

/// The notebook's loop: the loss times `loss_scale`; gradients, unscaled, times `factor`; fp32 weights, which are
/// copied back into the fp16 model or not.
std::vector<double> losses_of_loop(const RunContext& context, double loss_scale, double factor, bool copied) {
    Recipe recipe = recipe_by_name("mixed_fp16");
    recipe.loss_scale = constant_loss_scale(loss_scale);
    const auto times_factor = [factor](Optimizer& optimizer) {
        for (Tensor& gradient : optimizer.gradients()) {
            for (float& g : gradient.values()) g *= static_cast<float>(factor);
        }
    };
    Training training = training_of(context, recipe, times_factor);
    if (!copied) {
        training.task = [whole = training.task](Model& model, std::uint64_t seed) {
            Task task = whole(model, seed);
            std::vector<Tensor> first;
            for (const Parameter& p : model.parameters()) first.push_back(p.value);
            task.after_step = [first](Trainer& trainer, const StepResult&) {
                auto kept = first.begin();
                for (Parameter& p : trainer.model().parameters()) p.value = *kept++;
            };
            return task;
        };
    }
    return train(training, context.seed).losses;
}

void show_scale_squared(const RunContext& context, Result& result) {
    const double scale = scale_of(context);
    const std::vector<double> printed = losses_of_loop(context, 1, scale, false);
    const std::vector<double> copied = losses_of_loop(context, 1, scale, true);
    const std::vector<double> corrected = losses_of_loop(context, scale, 1, true);
    const std::string cell = cite(sources::notebook, "param_float32.grad = param.grad.float() * scale_factor");
    const Quantity loss{"loss", "", 1, 3};
    result.measured(
        "scale_squared_training", cell,
        "As printed the loop does not scale the loss, and multiplies the gradients by the scale where it would have to "
        "divide: updates are too large by the scale, 2^7. And the fp32 weights are not copied back, so the fp16 model "
        "stays as it was. Copied back, its loss does not fall; with a scaled loss and a division it does.",
        equal(fmt::format("as printed {} at every step", loss.text(printed.front())),
              fmt::format("as printed {} at every step", loss.text(printed.back()))) &&
            is(!(copied.back() < copied.front()), fmt::format("copied back not below {}", loss.text(copied.front())),
               loss.text(copied.back())) &&
            below(corrected.front(), corrected.back(), loss).at("corrected"),
        Verdict::refuted);
    Figure figure{
        "scale_squared", "A published training loop, as printed and corrected",
        fmt::format("The notebook's loop multiplies the gradients of an unscaled loss by the scale ({:g}) and does not "
                    "copy the fp32 weights back. Loss over steps of {:g}.",
                    scale, rate),
        fmt::format("Losses of the first and the last step: as printed {0} and {1}, copied back {0} and {2}, with a "
                    "scaled loss and a division {0} and {3}.",
                    loss.text(printed.front()), loss.text(printed.back()), loss.text(copied.back()),
                    loss.text(corrected.back())),
        evidence_of_products(context, result)};
    const auto add = [&](const std::string& name, const std::vector<double>& losses) {
        figure.series.push_back({name, formats::fp32, points_of(losses)});
    };
    add("copied back", copied);
    add("corrected", corrected);
    add("as printed", printed);
    const std::vector<Point>& drawn = figure.series.front().points;
    figure.axes = {{.label = "step"}, {.label = "loss", .log_base = 10}};
    figure.looks = {{.mark = Mark::linespoints}};
    if (!drawn.empty() && drawn.size() < copied.size()) {
        figure.notes = {{drawn.back().x, drawn.back().y, "then not finite"}};
    }
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
        const Engine out("fp32", unit_or_ieee(context));
        Tape tape(in);
        const Tensor d = draw();
        const Var left = tape.constant(draw());  // one by one: in one expression the compiler would choose the order
        const Var e = matmul(left, tape.constant(draw()));
        const Var f = matmul(tape.constant(d), e);
        Tape outside(out);
        const Var g = matmul(outside.constant(d), cast(outside.constant(f.value()), formats::fp32));
        return fmt::format("{} {} {}", text_of(e.format()), text_of(f.format()), text_of(g.format()));
    };
    result.measured(
        "autocast", cell,
        "Inside autocast products give fp16, of mixed inputs too; outside, fp32. Without autocast all three are fp32.",
        equal("fp16 fp16 fp32", sequence(Level("O1", {{"cast_list", "pytorch_cuda"}}).recipe())) &&
            equal("fp32 fp32 fp32", sequence(recipe_by_name("fp32"))).at("without"));
}

void claim_chain_rule(const RunContext& context, Result& result) {
    const double worst = chain_rule_error(context.seed, !has_control(context, "no_tanh"));
    result.measured(
        "chain_rule", cite(sources::notebook, "2-level NN: dL/dW2 = dL/da2 da2/dW2, dL/dW1 = dL/da1 da1/dW1"),
        "The two layers' chain rule multiplied out in fp64 gives the tape's gradients (orders of sums differ).",
        at_most(1e-15, worst, {"largest difference", "", 1, 15}));
}

/// The slide's pseudo-code casts with .half() for both lists.
void claim_cast_list(const RunContext& context, Result& result) {
    const std::string slide = cite(sources::amp_slides, "for func in fp32_cast_list: return old_func(input.half())");
    const auto loss_of_300 = [&](Recipe recipe) {
        const Engine engine = engine_of(std::move(recipe), context);
        Tape tape(engine);
        return mse(tape.constant(Tensor(Shape{1}, std::vector<float>{300.0F})), Tensor(Shape{1})).value()[0];
    };
    Recipe corrected = Level("O1").recipe();
    Recipe printed = corrected;
    for (CastRule& rule : printed.cast_rules) rule.cast = rule.cast == Cast::single ? Cast::low : rule.cast;
    printed.compute = formats::fp16;
    corrected.compute = formats::fp16;
    result.arithmetic("cast_list_printed", slide,
                      "As printed the fp32 list casts to fp16: the squared error of 300 is infinite.",
                      equal(std::numeric_limits<double>::infinity(), fp32(loss_of_300(printed))), Verdict::refuted);
    result.arithmetic("cast_list_mended", slide, "With .float() in its place it is 90000.",
                      equal(90000, fp32(loss_of_300(corrected))));
}

void claim_override(Result& result) {
    std::string message = "no error";
    try {
        const Level level("O1", {{"master_weights", "true"}});
    } catch (const std::invalid_argument& error) {
        message = error.what();
    }
    const bool refused = message.find("master_weights has no meaning") != std::string::npos;
    result.arithmetic(
        "override",
        cite(sources::amp_slides, "AMP will issue a warning if you override a property that makes no sense"),
        "O1 with master_weights=True is an error with an explanation, in apex as here, not a warning.",
        is(refused, "an error", message), Verdict::refuted);
}

/// Integers that fp16 does not hold.
template <class Half>
void claim_ids(Result& result) {
    constexpr int vocabulary = 50257;
    int wrong = 0;
    for (int id = 0; id < vocabulary; ++id) {
        wrong += static_cast<float>(Half(static_cast<float>(id))) != static_cast<float>(id) ? 1 : 0;
    }
    result.arithmetic("integer_ids",
                      cite(sources::round_table, "Input tensors are integer: not possible to convert INT32 to fp16"),
                      "Token ids stay integers: of GPT-2's 50257 more than half are not numbers of fp16.",
                      above(vocabulary / 2.0, wrong, {"", "ids", 1, 0}));
}

/// Where in fp32 and fp16 the numbers of one step lie, step by step: for the figure.
void figure_steps(const RunContext& context, Result& result) {
    Figure figure{
        "steps", "One training step: the same gradients on their way",
        fmt::format(
            "Largest and smallest magnitude that is not zero, of all weight gradients, after the "
            "steps 5 to 9 of eleven (scale {:g}, variant B). Step 8, clipping, is left out: it has no limit here.",
            scale_of(context)),
        "", evidence_of_products(context, result)};
    const double scale = scale_of(context);
    double largest = 0;
    double least = 1e30;
    for (const Tensor& gradient : eleven_steps("mixed_fp16", context).gradients) {
        for (const float g : gradient.values()) {
            const auto size = static_cast<double>(std::fabs(g));
            largest = std::max(largest, size);
            if (size > 0) least = std::min(least, size);
        }
    }
    const auto add = [&](const std::string& name, double value) {
        figure.series.push_back(
            {name, formats::fp64, {{5, value}, {6, value}, {7, value / scale}, {8, rate * value / scale}}});
    };
    add("largest", largest);
    add("smallest", least);
    figure.meaning = fmt::format(
        "In fp16, scaled, the gradients lie between {:.2g} and {:.2g}; in fp32, divided by the scale, between {:.2g} "
        "and {:.2g}. The updates are {:g} times that, in fp32.",
        least, largest, least / scale, largest / scale, rate);
    figure.axes = {{.from = 4.6,
                    .to = 8.4,
                    .names = {{5, "5: backward in fp16"},
                              {6, "6: copied to fp32"},
                              {7, "7: divided by 128"},
                              {8, "9: update (rate 0.1)"}}},
                   power_axis("magnitude of the gradients", 2)};
    figure.axes.y.from = 0x1p-30;
    figure.axes.y.to = 0x1p6;
    figure.looks = {{.mark = Mark::linespoints, .size = 1.6}};
    figure.looks.push_back({.mark = Mark::linespoints, .size = 1.6, .title = "smallest that is not 0"});
    figure.guides = {
        {.left = 4.6, .right = 5.5, .bottom = 0x1p-25, .top = 0x1p-14, .text = "subnormal in fp16", .strength = 0.25},
        {.left = 4.6, .right = 5.5, .top = 0x1p-25, .text = "lost in fp16", .strength = 0.6}};
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    claim_eleven_steps(context, result);
    show_scale_squared(context, result);
    claim_autocast(context, result);
    claim_chain_rule(context, result);
    claim_cast_list(context, result);
    claim_override(result);
    with_16_bit_formats(context, [&]<class Half, class>() { claim_ids<Half>(result); });
    figure_steps(context, result);
}

}  // namespace

Experiment experiment() {
    return {"training_step",
            "The training step: eleven steps, two variants, three misprints",
            "What happens to the numbers in one mixed-precision step, and where do the sources get it wrong?",
            {Chapter::remedies, 8},
            {control_setting("wide uses fp32 instead of the 16-bit formats, unscaled leaves the loss scale out, "
                             "fp16_masters rounds the masters of the steps written out, fp16_loss_steps computes every "
                             "step of the loss in fp16, no_tanh leaves the activation out of the chain rule",
                             {"wide", "unscaled", "fp16_masters", "fp16_loss_steps", "no_tanh"})},
            run,
            {Control("control=wide", "formats_a formats_b loss_a autocast cast_list_printed integer_ids"),
             Control("control=unscaled", "scale_squared_training"),
             Control("control=fp16_masters", "formats_a formats_b bits_a bits_b"),
             Control("control=fp16_loss_steps", "variants_masters"), Control("control=no_tanh", "chain_rule")}};
}

}  // namespace ulp::training_step_experiment
