// The sources' digit classifier, trained in fp32 and in mixed precision with a constant and a moving loss scale; and
// what the full net takes in memory.
#include "engine/nets/byte_planner.hpp"
#include "experiments/training/figures.hpp"
#include "experiments/training/tasks.hpp"

namespace ulp::mnist_cnn_experiment {
namespace {

/// What the article's net takes, 420 and 1000 channels on 28 x 28 pixels: counted as this project's trainer holds it.
void planner(Result& result) {
    const std::string place = cite(sources::paperspace, "Code walkthrough: steps 8 and 11");
    const NetPlan plan{digit_cnn(420, 1000)};
    result.arithmetic("parameters", place, "The net with 420 and 1000 channels has 4,275,210 parameters.",
                      equal("4275210", fmt::format("{}", plan.parameters())));
    const std::int64_t memory = plan.tape_bytes(590, 4);
    std::int64_t fits = 0;
    while (plan.tape_bytes(fits + 1, 2) <= memory) ++fits;
    result.arithmetic("planned_batch", place,
                      "By the bytes that this trainer keeps the same memory holds at least the 1000 images of the "
                      "article, and at most twice 590: activations halve, weights and optimizer do not. (PyTorch keeps "
                      "the pools' indices as well, and holds fewer: memory.cnn_batch_planned.)",
                      between(1000, 1180, static_cast<double>(fits), {"batch", "images", 1, 0}));
    Figure figure{"memory", "Memory of the net with 420 and 1000 channels",
                  "Weights, gradients, Adam's moments and activations as this trainer keeps them, byte by byte. Marks: "
                  "the article's batches.",
                  "", ""};
    const auto of_images = [&](std::int64_t low) {
        return static_cast<double>(plan.tape_bytes(590, low) - plan.tape_bytes(0, low));
    };
    figure.meaning = fmt::format(
        "With 590 images in fp32 activations are {:.0f} % of it; in fp16 they take {:.2f} times less. By this count {} "
        "images in fp16 take no more than 590 in fp32. A framework also keeps work space. What PyTorch keeps is "
        "another count, in the experiment memory.",
        100 * of_images(4) / static_cast<double>(memory), of_images(4) / of_images(2), fits);
    const auto point = [&](std::int64_t batch, std::int64_t low) {
        return Point{static_cast<double>(batch), static_cast<double>(plan.tape_bytes(batch, low)) / 0x1p30};
    };
    const auto planned = [&](const std::string& name, std::int64_t low) {
        return curve(
            name, 0, 1200, [&](int batch) { return point(batch, low).y; }, 50);
    };
    figure.series = {planned("fp32", 4),
                     planned("mixed fp16", 2),
                     {"590 in fp32", formats::fp64, {point(590, 4)}},
                     {"1000 in fp16", formats::fp64, {point(1000, 2)}}};
    figure.axes = {{.label = "images in a batch", .from = 0.0, .to = 1200.0}, {.label = "GiB", .from = 0.0}};
    figure.looks = {{.colour = 8},
                    {.colour = 2},
                    {.mark = Mark::points, .colour = 8, .size = 2.2},
                    {.mark = Mark::points, .colour = 2, .size = 2.2}};
    figure.guides = {level(figure.series[2].points.front().y, "590 images in fp32")};
    result.figure(std::move(figure));
}

void run(const RunContext& context, Result& result) {
    const Settings& settings = context.settings;
    const DataSplit data = digits_of(context, result);
    const Index batch = std::min<Index>(settings.integer("batch"), data.train.size());
    const Training training{
        .task = images_task(digit_cnn(settings.integer("channels"), settings.integer("more_channels")), data, batch),
        .optimizer = adam_of(settings),
        .steps = settings.integer("epochs") * (data.train.size() / batch)};
    struct Claimed {
        std::string id;    // of the claim that it is as good as fp32; empty: no claim is made
        std::string name;  // in its sentence
    };
    std::vector<Arithmetic> arithmetics;
    std::vector<Claimed> claimed;
    const auto trained_in = [&](Arithmetic arithmetic, Claimed claim) {
        arithmetics.push_back(std::move(arithmetic));
        claimed.push_back(std::move(claim));
    };
    const bool published = context.size == RunSize::published;
    trained_in(fp32_arithmetic(), {});
    if (!published) {  // the article's scale moves
        trained_in(mixed_arithmetic(context, "fp16 scale 128", constant_loss_scale(128)), {"parity_1", "fp16"});
    }
    trained_in(dynamic_fp16(context), {"parity_2", "fp16"});
    if (published) {
        trained_in(mixed_arithmetic(context, "fp16 unscaled", constant_loss_scale(1)),
                   {"parity_3", "fp16 without a loss scale"});
        trained_in(arithmetic_of(context, "bf16", recipe_by_name("bf16")), {"parity_4", "bf16"});
        trained_in(arithmetic_of(context, "fp16 throughout", recipe_by_name("fp16")), {});
    }
    arithmetics = under_control(context, std::move(arithmetics));
    const Comparison comparison = compare(context, result, arithmetics, training, settings.integer("seeds"));
    const std::string place = cite(sources::paperspace, "Code walkthrough with PyTorch");
    result.measured("learns", place, "The net learns to read digits in fp32.",
                    at_least(0.9, comparison.mean(0, test_accuracy), accuracy_text));
    const Margin margin{0.01, "a tenth of the errors that the claim above allows", Margin::Side::not_below};
    for (std::size_t i = 0; i < claimed.size(); ++i) {
        if (claimed[i].id.empty()) continue;
        claim_parity(result, comparison, test_accuracy, accuracy_text, margin, claimed[i].id, place,
                     "Trained in " + claimed[i].name + " with the same hyperparameters the net is as good as in fp32.",
                     i);
    }
    planner(result);
    result.figure(figure_of_losses(comparison, 10, "loss", "Digit classifier: training loss")).headline = fmt::format(
        "A convolutional net reads {} of the digits in fp32, {} in fp16{}.",
        accuracy_text.text(comparison.mean(0, test_accuracy)), accuracy_text.text(comparison.mean(1, test_accuracy)),
        seed_clause(comparison, test_accuracy, accuracy_text));
    result.figure(figure_of_seeds(comparison, test_accuracy, accuracy_text, "accuracy",
                                  "Digit classifier: unseen digits read right"));
}

}  // namespace

Experiment experiment() {
    return {"mnist_cnn",
            "A convolutional net that reads digits",
            "Does the sources' first example reach the same accuracy in mixed precision, and what does it save?",
            {Chapter::systems, 3},
            {integer_setting("epochs", "passes over the training images", 3, 3, 1, 1000).smoke(1),
             integer_setting("batch", "images a step", 25, 100, 1, 4096).published(590),
             integer_setting("channels", "of the first convolution", 8, 8, 1, 4096).published(420),
             integer_setting("more_channels", "of the second convolution", 16, 16, 1, 4096).published(1000),
             integer_setting("train_images", "generated digits to train on", 3000, 20000, 1, 1000000)
                 .smoke(100)
                 .published(8000),
             integer_setting("test_images", "generated digits to test on", 1000, 4000, 1, 1000000)
                 .smoke(50)
                 .published(2000),
             integer_setting("side", "pixels a side of generated digits", 14, 28, 8, 64),
             integer_setting("seeds", "runs of each arithmetic", 3, 5, 1, 100).smoke(2).published(1),
             integer_setting("scale_window", "clean steps until the dynamic scale grows", 30, 500, 1, 1000000),
             real_setting("learning_rate", "of Adam", 1e-3, 1e-3, 0, 10), mixed_control(),
             path_setting("mnist", "folder with the MNIST idx files, instead of generated digits")},
            run,
            {Control("control=pure_fp16", "parity_1 parity_2", RunSize::quick),
             Control("control=coarse", "parity_1 parity_2", RunSize::quick),
             Control("epochs=1 train_images=100", "learns", RunSize::quick, "seeds=1")}};
}

}  // namespace ulp::mnist_cnn_experiment
