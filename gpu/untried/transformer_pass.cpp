#include "gpu/untried/transformer_pass.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <numeric>

#include "engine/tensor/random.hpp"
#include "gpu/devices/reference.hpp"
#include "gpu/instructions/input_classes.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/functions/catalog.hpp"
#include "softfloat/functions/evaluate.hpp"
#include "softfloat/matrix_units/gemm.hpp"

namespace ulp::gpu {
namespace {

bool is_operand_format(const FloatFormat& format) { return format == formats::fp16 || format == formats::bf16; }

}  // namespace

void require_attention(const AttentionProblem& p) {
    if (!is_operand_format(p.format)) throw UsageError("attention takes fp16 or bf16; choose one of them");
    if (p.q.cols != p.k.cols || p.k.cols != p.v.cols || p.k.rows != p.v.rows) {
        throw UsageError(
            fmt::format("Q is {} x {}, K {} x {} and V {} x {}: they need one width, and K as many rows as V", p.q.rows,
                        p.q.cols, p.k.rows, p.k.cols, p.v.rows, p.v.cols));
    }
    if (p.q.cols < 16 || p.q.cols % 16 != 0 || p.q.cols > largest_head) {
        throw UsageError(fmt::format("a head of {} is not a multiple of 16 from 16 to {}", p.q.cols, largest_head));
    }
    if (p.tile_keys < 16 || p.tile_keys % 16 != 0 || p.tile_keys > largest_tile_keys) {
        throw UsageError(
            fmt::format("a tile of {} keys is not a multiple of 16 from 16 to {}", p.tile_keys, largest_tile_keys));
    }
    if (p.q.rows < 1 || p.k.rows < 1) throw UsageError("attention needs at least one query and one key");
    if (p.splits != 1 || p.rescale_threshold != 0 || p.weights.value_or(p.format) != p.format) {
        throw UsageError("the attention kernel takes one split, no threshold and P in the operands' format");
    }
}

std::vector<float> attend(const TensorCoreModel& model, const AttentionProblem& problem) {
    require_attention(problem);
    return tiled_attention(model, problem).out;
}
std::vector<float> attend_plain(const TensorCoreModel& model, const AttentionProblem& problem) {
    require_attention(problem);
    return tiled_attention(model, problem, gemm_plain).out;
}

const Instruction& attention_instruction(const Executor& device, const FloatFormat& format) {
    const bool halves = format == formats::fp16;
    const Instruction& row = instruction_by_name(halves ? "mma.m16n8k16.fp16.fp32" : "mma.m16n8k16.bf16.fp32");
    if (!device.has(row)) {
        throw UsageError(fmt::format("{} has no {}, which the attention kernel needs; take a GPU from {} on",
                                     device.info().name, row.name(), architecture_name(row.availability.minimum)));
    }
    return row;
}

TensorCoreModel attention_model(const Executor& device, const FloatFormat& format) {
    const Instruction& row = attention_instruction(device, format);
    const auto promised = promised_model(row, device.info().architecture);
    if (!promised) {
        throw UsageError(
            fmt::format("no row of the table says what {} computes on {}", row.name(), device.info().name));
    }
    return promised->model;
}

std::vector<float> attend_on(const Executor& device, const AttentionProblem& problem) {
    if (device.info().hardware) return attend_on_cuda(problem);
    return attend_plain(attention_model(device, problem.format), problem);
}

namespace {

std::vector<float> on_grid(std::vector<float> numbers) {
    for (float& x : numbers) {
        Context context;
        x = static_cast<float>(round_to(formats::fp16, x, context));
    }
    return numbers;
}

/// Weights, rows by columns, on fp16's grid.
std::vector<float> weights(std::uint64_t seed, const std::string& name, std::int64_t rows, std::int64_t columns) {
    constexpr double deviation = 0.02;
    Random random(seed, name);
    std::vector<float> numbers(static_cast<std::size_t>(rows * columns));
    for (float& x : numbers) x = static_cast<float>(deviation * random.normal());
    return on_grid(std::move(numbers));
}

/// Each row less its mean, divided by its deviation: sums in double, ascending.
std::vector<float> normed(const std::vector<float>& x, std::int64_t width) {
    constexpr double epsilon = 1e-5;
    std::vector<float> out(x.size());
    for (std::size_t first = 0; first < x.size(); first += static_cast<std::size_t>(width)) {
        double sum = 0;
        double squares = 0;
        for (std::size_t i = first; i < first + static_cast<std::size_t>(width); ++i) sum += double{x[i]};
        const double mean = sum / static_cast<double>(width);
        for (std::size_t i = first; i < first + static_cast<std::size_t>(width); ++i) {
            squares += (double{x[i]} - mean) * (double{x[i]} - mean);
        }
        const double deviation = std::sqrt(squares / static_cast<double>(width) + epsilon);
        for (std::size_t i = first; i < first + static_cast<std::size_t>(width); ++i) {
            out[i] = static_cast<float>((double{x[i]} - mean) / deviation);
        }
    }
    return on_grid(std::move(out));
}

/// GPT-2's approximation by tanh.
float gelu(float x) {
    const float inner = 0.7978845608F * (x + 0.044715F * x * x * x);
    return 0.5F * x * (1 + evaluate_fp32<functions::Tanh>(inner));
}

void add(std::vector<float>& x, const std::vector<float>& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
}

/// The pass, product by product.
class Pass {
  public:
    Pass(const TransformerShape& shape, std::uint64_t seed, const TransformerProducts& products)
        : shape_(shape), seed_(seed), products_(products) {}

    TransformerPass run() {
        const std::vector<float> words = weights(seed_, "words", shape_.vocabulary, shape_.width);
        std::vector<float> x = weights(seed_, "positions", shape_.tokens, shape_.width);
        Random random(seed_, "tokens");
        const auto width = static_cast<std::size_t>(shape_.width);
        for (std::size_t t = 0; t < static_cast<std::size_t>(shape_.tokens); ++t) {
            const auto token = static_cast<std::size_t>(random.uniform() * static_cast<double>(shape_.vocabulary));
            for (std::size_t i = 0; i < width; ++i) x[t * width + i] += words[token * width + i];
        }
        for (std::int64_t layer = 0; layer < shape_.layers; ++layer) add_layer(x, fmt::format("layer {} ", layer));
        pass_.logits = multiply("logits", normed(x, shape_.width), words, shape_.vocabulary, shape_.width);
        return std::move(pass_);
    }

  private:
    void add_layer(std::vector<float>& x, const std::string& layer) {
        const std::int64_t width = shape_.width;
        const std::vector<float> projected = on_grid(times(layer + "QKV", normed(x, width), 3 * width, width));
        add(x, times(layer + "projection", attention(layer, projected), width, width));
        std::vector<float> inner = times(layer + "MLP in", normed(x, width), 4 * width, width);
        for (float& each : inner) each = gelu(each);
        add(x, times(layer + "MLP out", on_grid(std::move(inner)), width, 4 * width));
    }

    /// All heads of Q, K and V that lie beside each other in a row.
    std::vector<float> attention(const std::string& layer, const std::vector<float>& qkv) {
        const std::int64_t head = shape_.width / shape_.heads;
        std::vector<float> out(static_cast<std::size_t>(shape_.tokens * shape_.width));
        for (std::int64_t h = 0; h < shape_.heads; ++h) {
            const auto part = [&](std::int64_t which) {
                return MatrixView(qkv.data() + which * shape_.width + h * head, shape_.tokens, head, 3 * shape_.width,
                                  1);
            };
            const AttentionProblem problem{.q = part(0),
                                           .k = part(1),
                                           .v = part(2),
                                           .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head))),
                                           .tile_keys = shape_.tile_keys,
                                           .causal = true,
                                           .format = formats::fp16};
            const std::vector<float> result = products_.attend(problem);
            note(fmt::format("{}attention, head {}", layer, h), result);
            for (std::int64_t t = 0; t < shape_.tokens; ++t) {
                std::copy_n(result.data() + t * head, head, out.data() + t * shape_.width + h * head);
            }
        }
        return on_grid(std::move(out));
    }

    std::vector<float> times(const std::string& name, const std::vector<float>& x, std::int64_t out, std::int64_t in) {
        return multiply(name, x, weights(seed_, name, out, in), out, in);
    }
    std::vector<float> multiply(const std::string& name, const std::vector<float>& x, const std::vector<float>& by,
                                std::int64_t out, std::int64_t in) {
        std::vector<float> d = products_.multiply(name, shape_.tokens, out, in, x, by);
        note(name, d);
        return d;
    }
    void note(const std::string& name, const std::vector<float>& result) {
        std::uint64_t sum = 0;
        for (std::size_t i = 0; i < result.size(); ++i) {
            sum += digest_term(i, std::bit_cast<std::uint32_t>(result[i]));
        }
        pass_.products.emplace_back(name, sum);
    }

    const TransformerShape& shape_;
    std::uint64_t seed_;
    const TransformerProducts& products_;
    TransformerPass pass_;
};

LibraryProblem problem_of_layer(std::int64_t m, std::int64_t n, std::int64_t k) {
    LibraryProblem p;
    p.type = &problem_type("fp16");
    p.m = m;
    p.n = n;
    p.k = k;
    return p;
}

/// All rows and columns.
ProblemSample whole_sample(const LibraryProblem& p, const std::vector<float>& a, const std::vector<float>& b) {
    const auto codes = [](const std::vector<float>& numbers) {
        std::vector<std::uint32_t> words(numbers.size());
        for (std::size_t i = 0; i < numbers.size(); ++i) words[i] = operand_code(formats::fp16, numbers[i]);
        return words;
    };
    ProblemSample sample{.rows = std::vector<std::int64_t>(static_cast<std::size_t>(p.m)),
                         .columns = std::vector<std::int64_t>(static_cast<std::size_t>(p.n)),
                         .a = codes(a),
                         .b = codes(b),
                         .c = {}};
    std::iota(sample.rows.begin(), sample.rows.end(), 0);
    std::iota(sample.columns.begin(), sample.columns.end(), 0);
    return sample;
}

std::vector<float> numbers_of(const std::vector<std::uint32_t>& words) {
    std::vector<float> numbers(words.size());
    for (std::size_t i = 0; i < words.size(); ++i) numbers[i] = std::bit_cast<float>(words[i]);
    return numbers;
}

}  // namespace

void require_shape(const TransformerShape& s) {
    const auto require = [](bool holds, const std::string& text) {
        if (!holds) throw UsageError(text);
    };
    require(s.layers >= 1 && s.layers <= 1000, fmt::format("layers is {}; give 1 to 1000", s.layers));
    require(s.heads >= 1 && s.width >= 1 && s.width % s.heads == 0,
            fmt::format("width={} is not divided by heads={}", s.width, s.heads));
    const std::int64_t head = s.width / s.heads;
    require(head % 16 == 0 && head <= largest_head,
            fmt::format("a head is {} wide; give a multiple of 16, at most {}", head, largest_head));
    require(s.vocabulary >= 1 && s.vocabulary <= 1'000'000,
            fmt::format("vocabulary is {}; give 1 to 1000000", s.vocabulary));
    require(s.tokens >= 1 && s.tokens <= 65536, fmt::format("tokens is {}; give 1 to 65536", s.tokens));
}

TransformerProducts products_on(Library& library, const Executor& device) {
    return {[&library](const std::string&, std::int64_t m, std::int64_t n, std::int64_t k, const std::vector<float>& a,
                       const std::vector<float>& b) {
                const LibraryProblem p = problem_of_layer(m, n, k);
                return numbers_of(library.run(p, whole_sample(p, a, b)));
            },
            [&device](const AttentionProblem& problem) { return attend_on(device, problem); }};
}

TransformerProducts predicted_products(Library& library, const Executor& device) {
    const TensorCoreModel model = attention_model(device, formats::fp16);
    return {[&library](const std::string& name, std::int64_t m, std::int64_t n, std::int64_t k,
                       const std::vector<float>& a, const std::vector<float>& b) {
                const LibraryProblem p = problem_of_layer(m, n, k);
                const auto answer = library.ask(p);
                if (!answer) throw DataError(fmt::format("{}: the library has no product {}", name, p.text()));
                const KernelPlan plan = plan_of(*answer, p, library.info());
                if (const auto* declined = std::get_if<Declined>(&plan)) {
                    throw DataError(fmt::format("{} ({}): {}", name, p.text(), declined->reason));
                }
                return numbers_of(ordered_product(std::get<LibraryKernel>(plan), p, whole_sample(p, a, b)));
            },
            [model](const AttentionProblem& problem) { return attend(model, problem); }};
}

TransformerPass transformer_pass(const TransformerShape& shape, std::uint64_t seed,
                                 const TransformerProducts& products) {
    require_shape(shape);
    return Pass(shape, seed, products).run();
}

}  // namespace ulp::gpu
