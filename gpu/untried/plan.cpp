#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>

#include "gpu/instructions/instruction.hpp"
#include "gpu/untried/library.hpp"
#include "softfloat/arithmetic.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/product.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace ulp::gpu {
namespace {

constexpr int nvjet = 66;
constexpr int simt_chain = 16;
constexpr int simt_chunks = 11;
constexpr std::array cutlass{21, 23, 24};
constexpr std::string_view fma_chain = "fp32 fma";

// What is known of a family of kernels (attribute ID), and from where:
//
//     66          nvjet                         triton pull requests 2752, 2767, 2769; our study of 300 shapes without
//                                               split-k
//     21, 23, 24  CUTLASS                       triton pull request 2753, params_universal_base.h; our study's 28 split
//                                               shapes
//     21          CUTLASS without Tensor Cores  CUTLASS's mma_simt, fp32: fma over ascending k; nobody has tried it
//     16          SIMT, one chain               triton pull request 2757, for fp16 and bf16 alone
//     11          SIMT, chunks of k             triton pull requests 2757 and 2768, for fp16 and bf16 alone, options 0
//                                               and 1

std::int64_t round_up(std::int64_t x, std::int64_t unit) { return (x + unit - 1) / unit * unit; }

/// k of a kernel's tile by its number of stages (cublasLt.h, cublasLtMatmulStages_t: 16x1 ... 128x6, 32x10, auto of 64
/// and 128); 0: unknown.
std::int64_t block_k(int stages, bool fp8) {
    if (stages >= 1 && stages <= 24) return std::int64_t{16} << ((stages - 1) / 6);
    if (stages == 25) return 32;
    if (stages == 35) return fp8 ? 0 : 64;
    if (stages == 36) return fp8 ? 128 : 0;
    return 0;
}

bool is_fp8(const ProblemType& type) { return bits_of(type.a) == 8; }

std::string unit_key(const ProblemType& type, const LibraryInfo& info, std::string_view instruction) {
    const std::string inputs =
        type.a == type.b ? std::string(name_of(type.a)) : fmt::format("{}_{}", name_of(type.a), name_of(type.b));
    return fmt::format("{}:{}.{}.{}", architecture_name(info.architecture), instruction, inputs,
                       name_of(type.accumulator));
}

bool in_table(const std::string& key) {
    try {
        static_cast<void>(unit_model<TensorCoreModel>(key));
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

/// cublasLt.h, cublasLtReductionScheme_t: 0 none, 1 in place, 2 compute type, 4 output type.
std::variant<Merge, Declined> merge_of(const HeuristicAnswer& answer, const ProblemType& type) {
    if (answer.split <= 1) return Merge::none;
    if (type.accumulator == Element::fp16) return Merge::accumulator;
    switch (answer.reduction) {
        case 0:
        case 1: return Merge::serial;
        case 2: return Merge::fp32;
        case 4: return Merge::rounded;
        default: return Declined{fmt::format("reduction scheme {} is unknown", answer.reduction)};
    }
}

/// Where split nvjet kernels were seen to lose the tail of k (triton pull request 2767): a fault of these versions on
/// this GPU, which another version may not have. It was seen on GB200 and GB300, too, whose kernels no model here
/// knows.
struct TailFault {
    std::string_view gpu;  // a word of its name; empty: any
    std::string_view version;
};
constexpr std::array tail_faults{
    TailFault{"H100", "12.8.5"}, TailFault{"H100", "13.1.1"}, TailFault{"", "0.0.0"}  // the stand-in, on purpose
};

bool is_tail_lost(const LibraryInfo& info) {
    return std::any_of(tail_faults.begin(), tail_faults.end(), [&](const TailFault& fault) {
        const bool same_gpu = fault.gpu.empty() ||
                              fmt::format(" {} ", info.gpu).find(fmt::format(" {} ", fault.gpu)) != std::string::npos;
        return same_gpu && fault.version == info.version;
    });
}

KernelPlan nvjet_plan(const HeuristicAnswer& answer, const LibraryProblem& p, const LibraryInfo& info,
                      LibraryKernel kernel, std::int64_t block) {
    const bool fp8 = is_fp8(*p.type);
    if (fp8 && !p.type->fast_accumulation) kernel.order.promote_every = 128;
    if (answer.split <= 1) return kernel;
    const std::int64_t tail = p.k % 64;
    if (p.type->a == Element::tf32) return Declined{"the tile of split tf32 products is unknown"};
    if (fp8 && tail != 0) return Declined{"the tail of split FP8 products is unknown"};
    // By the source such a tail is never added. That the pieces are then those of the shorter k is our reading of why
    // it is lost.
    if (!fp8 && tail > 0 && p.k / 64 % answer.split == 0 && answer.split > tail) {
        if (!is_tail_lost(info)) {
            return Declined{
                fmt::format("whether cuBLAS {} on {} loses such a tail of split k is unknown", info.version, info.gpu)};
        }
        kernel.dropped = tail;
    }
    kernel.order.piece_k = round_up(round_up(p.k - kernel.dropped, block) / block, answer.split) / answer.split * block;
    return kernel;
}

KernelPlan cutlass_plan(const HeuristicAnswer& answer, const LibraryProblem& p, LibraryKernel kernel,
                        std::int64_t block) {
    if (kernel.unit != fma_chain) kernel.order.tile_k = block;  // the rest first is ascending k, too
    if (answer.split <= 1) return kernel;
    const std::int64_t bits = bits_of(p.type->a);
    const std::int64_t wide = 1024 / bits;
    const bool aligned = (p.a_along_k() || p.b_along_k()) && p.k % wide == 0;
    kernel.order.piece_k = round_up((p.k + answer.split - 1) / answer.split, aligned ? wide : 128 / bits);
    return kernel;
}

/// Chunks of k, one after the other; from a length of 512 on, each in blocks. All sums go from left to right.
KernelPlan chunks_plan(const HeuristicAnswer& answer, const LibraryProblem& p) {
    if (bits_of(p.type->a) != 16 || p.type->accumulator != Element::fp32) {
        return Declined{"family 11 is known for fp16 and bf16 with fp32 sums alone"};
    }
    if (answer.split > 1) return Declined{"family 11 with split-k is unknown"};
    if (answer.custom != 0 && answer.custom != 1) {
        return Declined{fmt::format("option {} of family 11 is unknown", answer.custom)};
    }
    const std::int64_t chunks = answer.custom == 0 ? 2 : 4;
    LibraryKernel kernel;
    kernel.unit = fma_chain;
    kernel.order.piece_k = (p.k + chunks - 1) / chunks;
    kernel.merge = Merge::fp32;
    if (p.k > 512) kernel.order.promote_every = answer.custom == 0 ? 256 : 128;
    return kernel;
}

float to_float(std::uint64_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits)); }
std::uint64_t to_bits(float x) { return std::bit_cast<std::uint32_t>(x); }
float positive_nan(std::uint64_t bits) { return to_float((bits & 0x7FFFFFFF) > 0x7F800000 ? 0x7FFFFFFF : bits); }
float fma32(float x, float y, float z) {
    Context context;
    return positive_nan(fma_bits<std::uint64_t>(formats::fp32, to_bits(x), to_bits(y), to_bits(z), context));
}
float product32(float x, float y) {
    Context context;
    return positive_nan(multiply_bits<std::uint64_t>(formats::fp32, to_bits(x), to_bits(y), context));
}
float sum32(float x, float y) { return fma32(1, x, y); }

/// fp32 to D's type and back.
float rounded_to(Element d, float x) {
    const FloatFormat format = format_of(d);
    return in_fp32_container(format, ulp::operand_code(format, x));
}

std::vector<float> values_of_codes(std::span<const std::uint32_t> codes, Element element) {
    std::vector<float> values;
    values.reserve(codes.size());
    for (const std::uint32_t code : codes) values.push_back(in_fp32_container(format_of(element), code));
    return values;
}

/// Rows and columns of a sample as fp32 values, and the model that multiplies them.
struct SampleProduct {
    const LibraryKernel& kernel;
    std::int64_t m, n, k;  // k without what the kernel drops; `length` is a row's
    std::int64_t length;
    std::vector<float> a, b;

    /// The sums over k in [first, first + count).
    [[nodiscard]] std::vector<float> piece(std::int64_t first, std::int64_t count) const {
        std::vector<float> sums(static_cast<std::size_t>(m * n));
        if (kernel.unit == fma_chain) {
            for (std::int64_t at = 0; at < m * n; ++at) {
                const float* x = &a[static_cast<std::size_t>(at / n * length)];
                const float* y = &b[static_cast<std::size_t>(at % n * length)];
                const std::int64_t block = kernel.order.promote_every > 0 ? kernel.order.promote_every : count;
                float total = 0;
                for (std::int64_t start = 0; start < count; start += block) {
                    float sum = 0;
                    const std::int64_t end = first + std::min(start + block, count);
                    for (std::int64_t i = first + start; i < end; ++i) sum = fma32(x[i], y[i], sum);
                    total = start == 0 ? sum : sum32(total, sum);
                }
                sums[static_cast<std::size_t>(at)] = total;
            }
            return sums;
        }
        const auto model = unit_model<TensorCoreModel>(kernel.unit);
        ProductOrder inside = kernel.order;
        inside.piece_k = 0;
        soft_product(model, inside,
                     {{a.data() + first, m, count, length, 1},
                      {b.data() + first, count, n, 1, length},
                      {},
                      {sums.data(), m, n}});
        return sums;
    }
};

float merged(const LibraryKernel& kernel, const LibraryProblem& p, float total, float next) {
    switch (kernel.merge) {
        case Merge::rounded: return sum32(total, rounded_to(p.type->d, next));
        case Merge::serial: return rounded_to(p.type->d, fma32(p.alpha, next, total));
        case Merge::accumulator: return rounded_to(Element::fp16, sum32(total, next));
        default: return sum32(total, next);
    }
}

}  // namespace

std::string HeuristicAnswer::text() const {
    return fmt::format("{}.{}.{}.{}.{}.{}.{}.{}.{}", id, tile, stages, split, reduction, swizzling, custom, inner_shape,
                       cluster);
}

HeuristicAnswer heuristic_answer_of(std::string_view text, const std::string& where) {
    HeuristicAnswer answer;
    const std::string_view whole = text;
    const std::array fields{&answer.id,        &answer.tile,   &answer.stages,      &answer.split,  &answer.reduction,
                            &answer.swizzling, &answer.custom, &answer.inner_shape, &answer.cluster};
    for (std::size_t i = 0; i < fields.size(); ++i) {
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *fields[i]);
        const bool last = i + 1 == fields.size();
        const bool ended = end == text.data() + text.size();
        if (error != std::errc{} || ended != last || (!last && *end != '.')) {
            throw DataError(
                fmt::format("{}'{}' is not an answer of nine numbers with points between them", where, whole));
        }
        text.remove_prefix(static_cast<std::size_t>(end - text.data()) + (last ? 0 : 1));
    }
    if (answer.split < 0) throw DataError(fmt::format("{}'{}' splits k into {} pieces", where, whole, answer.split));
    return answer;
}

std::string LibraryInfo::text() const {
    return fmt::format("cuBLAS {} on {}{}", version, gpu, hardware ? "" : " (no evidence of cuBLAS)");
}

std::string LibraryKernel::text() const {
    std::string text = unit;
    if (order.tile_k > 0) text += fmt::format(", the rest of tiles of {} first", order.tile_k);
    if (order.promote_every > 0) text += fmt::format(", promoted every {}", order.promote_every);
    if (order.piece_k > 0) {
        static constexpr std::string_view ways[] = {"", "in fp32", "in fp32 after rounding to D", "serially in D",
                                                    "in the accumulator's type"};
        text += fmt::format(", pieces of {} added {}", order.piece_k, ways[static_cast<std::size_t>(merge)]);
    }
    if (dropped > 0) text += fmt::format(", the last {} never added", dropped);
    return text;
}

KernelPlan plan_of(const HeuristicAnswer& answer, const LibraryProblem& p, const LibraryInfo& info) {
    const bool by_cutlass = std::find(cutlass.begin(), cutlass.end(), answer.id) != cutlass.end();
    LibraryKernel kernel;
    if (answer.id == simt_chain) {
        if (bits_of(p.type->a) != 16 || p.type->accumulator != Element::fp32) {
            return Declined{"family 16 is known for fp16 and bf16 with fp32 sums alone"};
        }
        if (answer.split > 1) return Declined{"family 16 with split-k is unknown"};
        kernel.unit = fma_chain;
        return kernel;
    }
    if (answer.id == simt_chunks) return chunks_plan(answer, p);
    if (answer.id != nvjet && !by_cutlass) {
        return Declined{fmt::format("nothing is known of kernels of family {}", answer.id)};
    }
    const bool simt = p.type->a == Element::fp32;
    if (simt && !by_cutlass) return Declined{"fp32 kernels without Tensor Cores are known of CUTLASS alone"};
    if (answer.inner_shape != 0) return Declined{fmt::format("inner shape {} is unknown", answer.inner_shape)};
    const std::int64_t block = block_k(answer.stages, is_fp8(*p.type));
    if (block == 0) return Declined{fmt::format("the tile of stages {} is unknown", answer.stages)};
    const auto merge = merge_of(answer, *p.type);
    if (const auto* declined = std::get_if<Declined>(&merge)) return *declined;
    kernel.merge = std::get<Merge>(merge);
    if (kernel.merge == Merge::serial && p.beta != 0) return Declined{"a serial split with beta is unknown"};
    kernel.unit = simt ? std::string(fma_chain) : unit_key(*p.type, info, by_cutlass ? "mma" : "wgmma");
    if (!simt && !in_table(kernel.unit)) return Declined{fmt::format("the model table has no {}", kernel.unit)};
    return by_cutlass ? cutlass_plan(answer, p, kernel, block) : nvjet_plan(answer, p, info, kernel, block);
}

std::vector<std::uint32_t> ordered_product(const LibraryKernel& kernel, const LibraryProblem& p,
                                           const ProblemSample& sample) {
    const SampleProduct product{kernel,
                                static_cast<std::int64_t>(sample.rows.size()),
                                static_cast<std::int64_t>(sample.columns.size()),
                                p.k - kernel.dropped,
                                p.k,
                                values_of_codes(sample.a, p.type->a),
                                values_of_codes(sample.b, p.type->b)};
    const std::int64_t length = kernel.order.piece_k > 0 ? kernel.order.piece_k : product.k;
    std::vector<float> total = product.piece(0, std::min(length, product.k));
    const bool serial = kernel.merge == Merge::serial;
    if (kernel.merge == Merge::rounded || serial) {
        for (float& x : total) x = rounded_to(p.type->d, serial ? product32(p.alpha, x) : x);
    }
    for (std::int64_t first = length; first < product.k; first += length) {
        const std::vector<float> next = product.piece(first, std::min(length, product.k - first));
        for (std::size_t i = 0; i < total.size(); ++i) total[i] = merged(kernel, p, total[i], next[i]);
    }
    const auto c = values_of_codes(sample.c, p.type->d);
    std::vector<std::uint32_t> words;
    for (std::size_t i = 0; i < total.size(); ++i) {
        float d = serial ? total[i] : product32(p.alpha, total[i]);
        if (p.beta != 0) d = fma32(p.alpha, total[i], product32(p.beta, c[i]));
        words.push_back(ulp::operand_code(format_of(p.type->d), d));
    }
    return words;
}

std::array<LibraryKernel, 3> mutants_of(const LibraryKernel& kernel, const LibraryProblem& p) {
    const auto pieces = [&](std::int64_t length) {
        LibraryKernel changed = kernel;
        changed.dropped = 0;
        changed.order.piece_k = std::max<std::int64_t>(length, 1);
        if (changed.merge == Merge::none) changed.merge = Merge::fp32;
        return changed;
    };
    const std::int64_t unit = 128;
    const std::int64_t now = kernel.order.piece_k > 0 ? (p.k + kernel.order.piece_k - 1) / kernel.order.piece_k : 1;
    LibraryKernel one_chain = kernel;
    one_chain.order.piece_k = 0;
    one_chain.dropped = 0;
    one_chain.merge = Merge::none;
    const LibraryKernel other = kernel.order.piece_k > 0 ? one_chain : pieces(round_up((p.k + 1) / 2, unit));
    const std::int64_t half = kernel.order.piece_k > 0 ? kernel.order.piece_k / 2 : (p.k + 3) / 4;
    return {other, pieces(round_up(half, 32)), pieces(round_up((p.k + now) / (now + 1), 64))};
}

}  // namespace ulp::gpu
