// Bytes: what a model, its gradients, its optimizer and its activations take in each format, and what that buys.
#include <fmt/core.h>

#include "engine/layers/attention.hpp"
#include "engine/nets/blocks.hpp"
#include "engine/nets/byte_planner.hpp"
#include "engine/nets/nets.hpp"
#include "experiments/training/training.hpp"

namespace ulp::memory_experiment {
namespace {

// ---- GPT-2's table ----

void claim_gpt2(const RunContext& context, Result& result) {
    const Gpt2Plan plan = gpt2_plan();
    const std::int64_t low = context.settings.integer("low_bytes");
    const std::string cell = cite(sources::notebook, "get_memory_footprint");
    result.arithmetic("gpt2_parameters", cell, "GPT-2 has 124,439,808 parameters.", equal(124439808, plan.parameters));
    result.arithmetic("gpt2_int8_weights", cell,
                      "84,934,656 of them are the matrices of the twelve blocks, kept in int8.",
                      equal(84934656, plan.block_matrices));
    result.arithmetic("gpt2_masks", cell, "Twelve causal masks of 1024 x 1024 bytes count as well, in every format.",
                      equal(12 * 1048576, plan.mask_bytes, "bytes"));
    struct Row {
        std::string format;
        std::int64_t bytes, expected;
        std::string mebibytes;
    };
    for (const auto& [format, bytes, expected, mebibytes] :
         {Row{"fp32", gpt2_bytes(plan, 4, 4), 510342192, "486.7002410888672"},
          {"fp16", gpt2_bytes(plan, low, low), 261462552, "249.3501205444336"},
          {"int8", gpt2_bytes(plan, low, 1), 176527896, "168.3501205444336"}}) {
        result.arithmetic("gpt2_" + format, cell,
                          fmt::format("GPT-2 takes {} MiB in {}: exactly {} bytes with masks and scalars.", mebibytes,
                                      format == "int8" ? "fp16 with int8 matrices" : format, expected),
                          equal(expected, bytes, "bytes"));
        // Bytes over 2^20 is exact in fp64, and so is its shortest decimal.
        result.arithmetic("gpt2_" + format + "_mebibytes", cell,
                          fmt::format("The notebook prints {} for {}.", mebibytes, format),
                          equal(mebibytes, fmt::format("{}", static_cast<double>(bytes) / 0x1p20)));
    }
    Gpt2Plan listed = plan;
    listed.block_matrices -= 12 * 4 * 768 * 768;  // the second matrix of each block's mlp
    result.arithmetic("gpt2_list", cite(sources::notebook, "dtype of the parameters"),
                      "The list of the notebook has c_attn, c_proj and c_fc in int8, but not the mlp's c_proj; its own "
                      "total (176,527,896 bytes) needs that one too. As listed the sum would be another.",
                      equal(204839448, gpt2_bytes(listed, 2, 1), "bytes"), Verdict::inconsistent);
    const double share = static_cast<double>(gpt2_bytes(plan, low, low)) / static_cast<double>(gpt2_bytes(plan, 4, 4));
    result.arithmetic("gpt2_not_half", cite(sources::amp_slides, "FP16: 1/2X memory storage"),
                      "fp16 halves the storage: of the parameters it does. The table's whole is more than half, "
                      "because the masks stay bytes.",
                      above(0.5, share, {"", "% of the bytes", 100, 1}));
}

void figure_gpt2(const RunContext& context, Result& result) {
    const Gpt2Plan plan = gpt2_plan();
    const auto low = static_cast<double>(context.settings.integer("low_bytes"));
    Figure figure{"gpt2", "GPT-2 in memory: what counts, byte for byte",
                  "MiB of 2²⁰ bytes. The matrices are those of the twelve blocks.", "", ""};
    const auto whole = [&](std::int64_t number, std::int64_t matrix) {
        return static_cast<double>(gpt2_bytes(plan, number, matrix)) / 0x1p20;
    };
    const std::int64_t bytes = context.settings.integer("low_bytes");
    figure.meaning = fmt::format(
        "In all {:.1f} MiB in fp32, {:.1f} in fp16, {:.1f} with the matrices in int8. The causal masks are bytes in "
        "every format. The twelve scalars, {} or {} bytes, are not drawn.",
        whole(4, 4), whole(bytes, bytes), whole(bytes, 1),
        gpt2_bytes(plan, 4, 4) - 4 * plan.parameters - plan.mask_bytes,
        gpt2_bytes(plan, bytes, bytes) - bytes * plan.parameters - plan.mask_bytes);
    const double mebi = 0x1p20;
    const double others = static_cast<double>(plan.parameters - plan.block_matrices) / mebi;
    const double matrices = static_cast<double>(plan.block_matrices) / mebi;
    const double masks = static_cast<double>(plan.mask_bytes) / mebi;
    figure.series = {{"block matrices", formats::fp64, {{0, 4 * matrices}, {1, low * matrices}, {2, matrices}}},
                     {"other parameters", formats::fp64, {{0, 4 * others}, {1, low * others}, {2, low * others}}},
                     {"causal masks", formats::fp64, {{0, masks}, {1, masks}, {2, masks}}}};
    figure.plot = "stacked";
    figure.axes.y = {.label = "MiB", .from = 0.0, .to = 580.0};
    figure.variables = {{"names", R"("fp32" "fp16" "fp16 with int8 matrices")"}};
    result.figure(std::move(figure));
}

// ---- The convolutional net of the article ----

constexpr std::int64_t published_fp32_batch = 590;
constexpr std::int64_t published_fp16_batch = 1000;

void claim_planner(const RunContext& context, Result& result) {
    const std::string step = cite(sources::paperspace, "batch_size of 590 for a float32 or 1000 for a float16");
    const NetPlan plan{digit_cnn(420, 1000)};
    const std::int64_t budget = plan.training_bytes(published_fp32_batch, 4);
    const std::int64_t batch = plan.largest_batch(budget, context.settings.integer("low_bytes"));
    const Quantity fits{"batch", "images", 1, 0};
    result.arithmetic("cnn_batch_planned", step,
                      fmt::format("Where a batch of 590 just fits in fp32 ({} MiB), one of 1000 fits with fp16: the "
                                  "planner, which follows what PyTorch's autograd keeps, comes within a tenth.",
                                  budget >> 20),
                      near(published_fp16_batch, 0.1 * published_fp16_batch, static_cast<double>(batch), fits));
    result.arithmetic(
        "cnn_batch_not_double", cite(sources::paperspace, "you may frequently double your batch size"),
        "Half the bytes a number do not double this net's batch: the pools' 64-bit indices and the fp32 state of the "
        "parameters stay. (This project's trainer keeps no indices: mnist_cnn.planned_batch.)",
        below(2.0 * published_fp32_batch, static_cast<double>(batch), fits));
}

void figure_batch(const RunContext& context, Result& result) {
    const NetPlan plan{digit_cnn(420, 1000)};
    Figure figure{"batch", "How large a batch fits: the net with 420 and 1000 channels",
                  "Peak of a training step in GiB, planned: parameters, gradients, Adam, what autograd keeps, and the "
                  "gradients in flight. Marks: the published batches.",
                  "", ""};
    figure.meaning = fmt::format(
        "The dashed line is what fp32 takes with the published {} images. Mixed precision takes it with {}: the "
        "indices of the pools and the optimizer's state do not shrink.",
        published_fp32_batch,
        plan.largest_batch(plan.training_bytes(published_fp32_batch, 4), context.settings.integer("low_bytes")));
    const auto planned = [&](const std::string& name, std::int64_t low) {
        const auto gibibytes = [&, low](int batch) {
            return static_cast<double>(plan.training_bytes(batch, low)) / 0x1p30;
        };
        return curve(name, 0, 1200, gibibytes, 50);
    };
    const double budget = static_cast<double>(plan.training_bytes(published_fp32_batch, 4)) / 0x1p30;
    figure.series = {
        planned("fp32", 4),
        planned("mixed fp16", context.settings.integer("low_bytes")),
        {"published",
         formats::fp64,
         {{static_cast<double>(published_fp32_batch), budget}, {static_cast<double>(published_fp16_batch), budget}}}};
    figure.axes = {{.label = "images in a batch", .from = 0.0, .to = 1200.0}, {.label = "GiB", .from = 0.0}};
    figure.looks = {{}, {}, {.mark = Mark::points, .point = 7, .size = 1.6, .title = "published batches"}};
    figure.guides = {level(budget, fmt::format("published, {} and {}", published_fp32_batch, published_fp16_batch))};
    result.figure(std::move(figure));
}

// ---- BERT-base and U-Net as they were published ----

void claim_published_nets(Result& result) {
    const std::string devlin = cite("Devlin et al., BERT (2018)", "3: BERT-base, total parameters 110M");
    const NetAccount bert = bert_base_account(512);
    result.arithmetic(
        "bert_base_parameters", devlin,
        "BERT-base with its two heads has 110,106,428 parameters: the published 110 millions.",
        equal(110106428, bert.parameters) && equal(110, (bert.parameters + 500000) / 1000000, "millions"));
    result.arithmetic("bert_base_bytes", cite(sources::paperspace, "huggingface's bert-base-uncased"),
                      "In fp32 its parameters take 440 MB, as the published file does; in fp16 half. Training with "
                      "Adam takes 16 bytes per parameter either way: 1762 MB without activations.",
                      equal(440, 4 * bert.parameters / 1000000, "MB in fp32") &&
                          equal(220, 2 * bert.parameters / 1000000, "in fp16") &&
                          equal(1762, 16 * bert.parameters / 1000000 + 1, "in training, rounded up"));
    const UnetPlan unet = unet_plan();
    const std::string figure = cite("Ronneberger et al., U-Net (2015)", "figure 1: 572 to 388 pixels, 23 layers");
    result.arithmetic("unet_sizes", figure, "U-Net's 23 convolutional layers make 388 pixels of 572, by way of 28.",
                      equal(23, unet.layers, "layers") && equal(388, unet.side, "pixels") &&
                          equal(28, unet.smallest, "at the bottom"));
    result.arithmetic(
        "unet_bytes", figure, "U-Net has 31,030,658 parameters, which take 124 MB in fp32.",
        equal(31030658, unet.account.parameters) && equal(124, 4 * unet.account.parameters / 1000000, "MB"));
    const Quantity times{"", "times less memory", 1, 2};
    result.arithmetic("published_nets_gain", cite(sources::paperspace, "UNet benefited far more than BERT"),
                      "At their published sizes, one picture against one text of 512 tokens, mixed precision saves "
                      "U-Net more memory than BERT-base. Both are counted from their shapes.",
                      above(bert.gain(), unet.account.gain(), times).at("for U-Net"));
}

// ---- What the trainer itself holds ----

/// Bytes of one training step, by role.
struct Measured {
    std::int64_t parameters = 0;   // their number
    std::int64_t state = 0;        // weights, masters, gradients, optimizer
    std::int64_t activations = 0;  // bytes
    [[nodiscard]] std::int64_t total() const { return state + activations; }
};

/// The first update by Adam on a net that `build` makes; it gives the forward pass.
template <class Build>
Measured measure(const RunContext& context, const std::string& recipe, Build build) {
    const TaskBuilder task = [&](Model& model, std::uint64_t) -> Task {
        return {.loss = [forward = build(model)](Tape& tape, std::int64_t) { return forward(tape); }};
    };
    const std::string backend = recipe == "fp32" ? "soft:ieee" : mixed_backend(context);
    TrainingRun run({.arithmetic = {recipe, recipe_by_name(recipe), backend},
                     .task = task,
                     .optimizer = {.kind = OptimizerKind::adam, .learning_rate = 1e-3}},
                    1);
    while (run.step().skipped) {  // Adam's moments come into being with the first update
    }
    const auto bytes = run.trainer().bytes();
    const auto sum = bytes.weights.stored + bytes.masters.stored + bytes.gradients.stored + bytes.optimizer.stored;
    return {run.trainer().model().parameter_count(), static_cast<std::int64_t>(sum),
            static_cast<std::int64_t>(bytes.activations.stored)};
}

Tensor images(Index batch, Index size) {
    return {{batch, 1, size, size}, std::vector<float>(static_cast<std::size_t>(batch * size * size), 0.5F)};
}

/// The small U-Net with one number for each pixel, on square images.
Measured measure_unet(const RunContext& context, const std::string& recipe, Index batch) {
    constexpr Index size = 32;
    return measure(context, recipe, [&](Model& model) {
        const UNet net(model, 1, 8, 1);
        return [=](Tape& tape) {
            const Var x = tape.input(images(batch, size));
            return bce_with_logits(net(x), images(batch, size));
        };
    });
}

/// A Transformer encoder of two blocks that predicts tokens: BERT in small.
Measured measure_bert(const RunContext& context, const std::string& recipe, Index batch) {
    constexpr Index vocabulary = 4096;
    constexpr Index length = 16;
    constexpr Index width = 32;
    struct Block {
        LayerNorm norm1, norm2;
        MultiHeadAttention attention;
        Linear rise, fall;
        Block(Model& model, const std::string& name)
            : norm1(model, name + ".norm1", width),
              norm2(model, name + ".norm2", width),
              attention(model, name + ".attention", width, 4),
              rise(model, name + ".rise", width, 4 * width),
              fall(model, name + ".fall", 4 * width, width) {}
        Var operator()(Var x) const {
            x = add(x, attention(norm1(x), false));
            return add(x, fall(gelu(rise(norm2(x)))));
        }
    };
    return measure(context, recipe, [&](Model& model) {
        const Embedding embedding(model, "embedding", vocabulary, width);
        const Block block1(model, "block1");
        const Block block2(model, "block2");
        const Linear head(model, "head", width, vocabulary);
        return [=](Tape& tape) {
            const std::vector<int> ids(static_cast<std::size_t>(batch * length), 103);
            const Var x = embedding(tape, ids, {batch, length});
            // Fifteen hundredths of the places are predicted: two in each sentence.
            const Var masked = slice(block2(block1(x)), 1, 0, 2);
            return cross_entropy(head(reshape(masked, {batch * 2, width})),
                                 std::vector<int>(static_cast<std::size_t>(batch * 2), 7));
        };
    });
}

Measured measure_cnn(const RunContext& context, const std::string& recipe, const Layers& layers, Index batch) {
    return measure(context, recipe, [&](Model& model) {
        return [=, net = Net(model, layers, {1, 28, 28}, 10)](Tape& tape) {
            const Var x = tape.input(images(batch, 28));
            return cross_entropy(net(x), std::vector<int>(static_cast<std::size_t>(batch), 3));
        };
    });
}

/// The article's layers with 8 and 16 channels, and, at its own size, with 420 and 1000.
void claim_trainer(const RunContext& context, Result& result) {
    const std::int64_t half = context.settings.integer("low_bytes");
    const auto holds_plan = [&](const char* id, const char* recipe, std::int64_t low, Index first, Index second,
                                std::int64_t batch) {
        const Layers layers = digit_cnn(first, second);
        const NetPlan plan{layers};
        result.arithmetic(
            fmt::format("{}_{}", id, recipe),
            cite(sources::volta_talk, "Halve the size of activation and gradient tensors"),
            fmt::format(
                "The trainer holds as many bytes as the planner says: the net with {} and {} channels, {}, Adam, {}.",
                first, second, counted(batch, "image"), recipe),
            equal(plan.tape_bytes(batch, low), measure_cnn(context, recipe, layers, static_cast<Index>(batch)).total(),
                  "bytes"));
    };
    holds_plan("trainer", "fp32", 4, 8, 16, 4);
    holds_plan("trainer", "mixed_fp16", half, 8, 16, 4);
    const std::int64_t in_fp32 = context.settings.integer("article_images_fp32");
    const std::int64_t in_fp16 = context.settings.integer("article_images_fp16");
    if (in_fp32 > 0) holds_plan("article", "fp32", 4, 420, 1000, in_fp32);
    if (in_fp16 > 0) holds_plan("article", "mixed_fp16", half, 420, 1000, in_fp16);
}

double gain(const Measured& wide, const Measured& mixed) {
    return static_cast<double>(wide.total()) / static_cast<double>(mixed.total());
}

void gains(const RunContext& context, Result& result) {
    const std::string mixed = context.settings.integer("low_bytes") == 2 ? "mixed_fp16" : "fp32";
    Figure figure{"gain", "Why mixed precision saves a U-Net more memory than BERT",
                  "Bytes in fp32 over bytes in mixed precision, Adam; measured on small nets with 1, 2, 4 and 8 "
                  "samples a batch. Line: (16 + 4r) / (16 + 2r).",
                  "A parameter takes 16 bytes either way: in mixed precision its master, copy, gradient and Adam's two "
                  "moments add up to the same as in fp32. Activations halve.",
                  ""};
    Series unet{"small U-Net"};
    Series bert{"small BERT"};
    const auto point = [&](const Measured& wide, const Measured& low) {
        const double numbers = static_cast<double>(wide.activations) / 4;
        return Point{numbers / static_cast<double>(wide.parameters), gain(wide, low)};
    };
    for (Index batch = 1; batch <= context.settings.integer("largest_batch"); batch *= 2) {
        unet.points.push_back(point(measure_unet(context, "fp32", batch), measure_unet(context, mixed, batch)));
        bert.points.push_back(point(measure_bert(context, "fp32", batch), measure_bert(context, mixed, batch)));
    }
    const double of_unet = unet.points.back().y;
    const double of_bert = bert.points.back().y;
    double off = 0;
    for (const Series* net : {&unet, &bert}) {
        for (const Point& p : net->points) off = larger(off, std::fabs(p.y - gain_of_mixed_precision(p.x)));
    }
    figure.meaning += fmt::format(
        " With the largest batch the U-Net has {:.1f} activations for each parameter, BERT {:.1f}. No mark is farther "
        "than {:.2f} from the line.",
        unet.points.back().x, bert.points.back().x, off);
    figure.series = {curve("bytes by formula", 0, 60, gain_of_mixed_precision), std::move(unet), std::move(bert)};
    figure.headline =
        fmt::format("In mixed precision a small U-Net needs {:.2f} times less memory, a small BERT {:.2f} times.",
                    of_unet, of_bert);
    figure.axes = {{.label = "r, activations for each parameter", .from = 0.0, .to = 60.0},
                   {.label = "bytes in fp32 / bytes in mixed precision", .from = 1.0, .to = 2.0}};
    figure.looks = {{.colour = grey, .width = 2}, {.mark = Mark::points, .size = 1.8}};
    result.figure(std::move(figure));
    result.measured("unet_gains_more", cite(sources::paperspace, "UNet benefited far more than BERT"),
                    "Mixed precision saves a U-Net more memory than BERT, with the same number of samples in a batch: "
                    "a tenth of the whole at least.",
                    above(of_bert + 0.1, of_unet, {"", "times less memory", 1, 3}));
}

void run(const RunContext& context, Result& result) {
    claim_gpt2(context, result);
    claim_planner(context, result);
    claim_published_nets(result);
    claim_trainer(context, result);
    context.progress(0.2);
    figure_gpt2(context, result);
    gains(context, result);
    figure_batch(context, result);
}

}  // namespace

Experiment experiment() {
    return {
        "memory",
        "Memory: what each format saves, byte for byte",
        "How many bytes does training take in fp32 and in mixed precision, and what decides the gain?",
        {Chapter::hardware, 4},
        {integer_setting("low_bytes", "bytes of a low-precision number; 4 switches the saving off", 2, 2, 1, 4),
         integer_setting("largest_batch", "of the nets whose gain is measured", 8, 8, 1, 64).smoke(1),
         integer_setting("article_images_fp32", "of a step of the net with 4,275,210 parameters in fp32; 0: none", 1,
                         590, 0, 1000)
             .smoke(0),
         integer_setting("article_images_fp16", "of a step of that net in mixed precision; 0: none", 2, 1000, 0, 2000)
             .smoke(0)},
        run,
        {Control("low_bytes=4",
                 "gpt2_fp16 gpt2_fp16_mebibytes gpt2_int8 gpt2_int8_mebibytes cnn_batch_planned trainer_mixed_fp16 "
                 "unet_gains_more")}};
}

}  // namespace ulp::memory_experiment
