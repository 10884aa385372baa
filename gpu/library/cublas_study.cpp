#include "gpu/library/cublas_study.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/instructions/input_classes.hpp"
#include "gpu/instructions/instruction.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/gemm.hpp"

namespace ulp::gpu {
namespace {

/// A model that may explain a product, and its key.
struct Candidate {
    std::string key;
    TensorCoreModel model;
};

/// The rows of the architecture for these formats: mma and wgmma, each with its own k; mma also with half of it.
std::vector<Candidate> candidates(const LibraryProduct& product, int architecture) {
    std::vector<Candidate> list;
    if (!is_float(product.a)) return list;
    for (const auto& [row, model] : rows_of<TensorCoreModel>()) {
        if (row.architecture != architecture_name(architecture)) continue;
        if (model.a_format != format_of(product.b) || model.b_format != format_of(product.a) ||
            model.accumulator != format_of(product.accumulator)) {
            continue;
        }
        list.push_back({row.key(), model});
        if (row.instruction != "mma") continue;
        TensorCoreModel half = model;
        half.instruction_k /= 2;
        half.group_size = std::min(half.group_size, half.instruction_k);
        list.push_back({fmt::format("{}.k{}", row.key(), half.instruction_k), half});
    }
    return list;
}

/// The huge and the unit operand of a probe: their products with one are 2^25 and more apart, or 2^14 for FP8, so that
/// aligning drops the unit.
struct ProbeOperands {
    std::uint32_t huge;
    std::uint32_t unit;
    std::uint32_t one;
    int unit_exponent;
};
ProbeOperands probe_operands(const LibraryProduct& product) {
    const FloatFormat a = format_of(product.a);
    const FloatFormat b = format_of(product.b);
    const int huge = std::min(a.emax(), 60) - (a.emax() < 60 ? 1 : 0);
    const int unit = std::max(a.emin(), huge - (bits_of(product.a) == 8 ? 14 : 26));
    const auto power = [](const FloatFormat& format, int exponent) {
        return static_cast<std::uint32_t>(
            pack(format, false, static_cast<std::uint64_t>(exponent + format.bias) << format.fraction_bits));
    };
    return {power(a, huge), power(a, unit), power(b, 0), unit};
}

struct Data {
    PackedMatrix a;
    PackedMatrix b;
    PackedMatrix d;
};

Data empty_data(const LibraryProduct& product, const StudyCase& c) {
    return {PackedMatrix(c.m, c.k, bits_of(product.a)), PackedMatrix(c.n, c.k, bits_of(product.b)),
            PackedMatrix(c.m, c.n, bits_of(product.accumulator))};
}

/// Row j of A: huge at k = 0, -huge at k = j + 1, units elsewhere; all columns of B: ones.
Data probe_data(const LibraryProduct& product, const StudyCase& c) {
    Data data = empty_data(product, c);
    const ProbeOperands operands = probe_operands(product);
    const auto minus = static_cast<std::uint32_t>(pack(format_of(product.a), true, 0));
    for (std::uint64_t row = 0; row < c.m; ++row) {
        for (std::uint64_t k = 0; k < c.k; ++k) data.a.set(row, k, operands.unit);
        data.a.set(row, 0, operands.huge);
        data.a.set(row, 1 + row % (c.k - 1), operands.huge ^ minus);
    }
    for (std::uint64_t column = 0; column < c.n; ++column) {
        for (std::uint64_t k = 0; k < c.k; ++k) data.b.set(column, k, operands.one);
    }
    return data;
}

Data random_data(const LibraryProduct& product, const StudyCase& c) {
    Data data = empty_data(product, c);
    const auto fill = [&](PackedMatrix& matrix, Element element, OperandName name) {
        for (std::uint64_t i = 0; i < matrix.rows(); ++i) {
            for (std::uint64_t k = 0; k < matrix.columns(); ++k) {
                matrix.set(i, k, operand_code(InputClass::ordinary, element, {77, name, i, k}));
            }
        }
    };
    fill(data.a, product.a, OperandName::a);
    fill(data.b, product.b, OperandName::b);
    return data;
}

/// `most` of 0 ... count - 1, spread evenly; all where there are no more.
std::vector<std::uint64_t> spread(std::uint64_t count, std::uint64_t most) {
    std::vector<std::uint64_t> chosen;
    const std::uint64_t number = std::min(count, most);
    for (std::uint64_t i = 0; i < number; ++i) chosen.push_back(i * count / number);
    return chosen;
}

/// Those rows of codes as values.
std::vector<float> values_of(const PackedMatrix& matrix, const std::vector<std::uint64_t>& rows,
                             const FloatFormat& format) {
    std::vector<float> values;
    for (const std::uint64_t row : rows) {
        for (std::uint64_t k = 0; k < matrix.columns(); ++k) {
            values.push_back(in_fp32_container(format, static_cast<std::uint32_t>(matrix.get(row, k))));
        }
    }
    return values;
}

/// Rows and columns of a library's product at which predictions are looked at: `side` of each, or all.
class Sample {
  public:
    Sample(const LibraryProduct& product, const Data& data, std::uint64_t side)
        : data_(data),
          rows_(spread(data.d.rows(), side)),
          columns_(spread(data.d.columns(), side)),
          a_(values_of(data.a, rows_, format_of(product.a))),
          b_(values_of(data.b, columns_, format_of(product.b))) {}

    [[nodiscard]] std::uint64_t elements() const { return rows_.size() * columns_.size(); }
    /// Elements at which a model and an order give the library's bits.
    [[nodiscard]] std::uint64_t count_equal(const TensorCoreModel& model, const ProductOrder& order) const {
        const auto m = static_cast<std::int64_t>(columns_.size());
        const auto n = static_cast<std::int64_t>(rows_.size());
        const auto k = static_cast<std::int64_t>(data_.a.columns());
        std::vector<float> d(static_cast<std::size_t>(elements()));
        // The library multiplies D' = B' * A': its A is our B.
        soft_product(model, order, {{b_.data(), m, k, k, 1}, {a_.data(), k, n, 1, k}, {}, {d.data(), m, n, n, 1}});
        std::uint64_t equal = 0;
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            for (std::size_t j = 0; j < columns_.size(); ++j) {
                const std::uint32_t predicted = ulp::operand_code(model.accumulator, d[j * rows_.size() + i]);
                equal += predicted == data_.d.get(rows_[i], columns_[j]) ? 1 : 0;
            }
        }
        return equal;
    }

  private:
    const Data& data_;
    std::vector<std::uint64_t> rows_, columns_;
    std::vector<float> a_, b_;
};

/// Survivors of column 0 as "1-15: 1008, 16-31: 992, ...": runs of equal counts over j, the first `most_runs`.
std::string survivors_of(const LibraryProduct& product, const Data& probe, int most_runs) {
    const FloatFormat format = format_of(product.accumulator);
    const int unit = probe_operands(product).unit_exponent;
    const std::uint64_t rows = std::min(probe.d.rows(), probe.a.columns() - 1);
    std::string text;
    int runs = 0;
    for (std::uint64_t first = 0; first < rows;) {
        std::uint64_t last = first;
        while (last + 1 < rows && probe.d.get(last + 1, 0) == probe.d.get(first, 0)) ++last;
        if (++runs > most_runs) return text + ", ...";
        const auto value = decode<std::uint64_t>(format, probe.d.get(first, 0));
        std::string count = "?";
        if (value.kind == Kind::zero) count = "0";
        if (value.kind == Kind::finite && !value.sign) {
            const int shift = value.exponent - unit;
            count = shift >= 0 ? std::to_string(value.significand << shift)
                               : std::to_string(value.significand >> std::min(-shift, 63));
        }
        text += fmt::format("{}{}-{}: {}", text.empty() ? "" : ", ", first + 1, last + 1, count);
        first = last + 1;
    }
    return text;
}

}  // namespace

std::vector<StudyCase> study_cases(bool quick) {
    std::vector<StudyCase> cases;
    const std::vector<std::uint64_t> sizes =
        quick ? std::vector<std::uint64_t>{64, 256} : std::vector<std::uint64_t>{16, 64, 128, 256, 512};
    const std::vector<std::uint64_t> depths =
        quick ? std::vector<std::uint64_t>{64, 512} : std::vector<std::uint64_t>{16, 64, 128, 512, 784, 2048};
    for (const NamedLibraryProduct& row : library_products()) {
        if (row.name == "fp32" || row.name == "s8") continue;  // not a floating-point matrix unit's product
        for (const bool fixed_algorithm : {true, false}) {
            if (!fixed_algorithm && bits_of(row.product.a) == 8) continue;
            for (const std::uint64_t size : sizes) {
                for (const std::uint64_t depth : depths)
                    cases.push_back({row.name, fixed_algorithm, size, size, depth});
            }
        }
    }
    return cases;
}

std::optional<StudiedProduct> studied_product(std::string_view product, std::int64_t m, std::int64_t n,
                                              std::int64_t k) {
    struct Split {
        std::string_view product;
        std::int64_t size, k;
        ProductOrder order;
        int instruction_k = 0;  // where it is not the row's
    };
    const auto pieces = [](std::int64_t length, std::int64_t tile = 0) {
        return ProductOrder{.piece_k = length, .tile_k = tile};
    };
    const auto narrow = [](std::int64_t length) {
        return ProductOrder{.piece_k = length, .sum_format = formats::fp16};
    };
    static const std::vector<Split> splits = {{"tf32", 16, 16, {.split_k = 4}, 4},
                                              {"tf32", 16, 64, {.split_k = 2}},
                                              {"tf32", 16, 128, {.split_k = 4}},
                                              {"tf32", 16, 512, {.split_k = 16}},
                                              {"tf32", 16, 784, pieces(36, 16)},
                                              {"tf32", 16, 2048, pieces(96)},
                                              {"tf32", 64, 16, {.split_k = 4}, 4},
                                              {"tf32", 64, 64, {.split_k = 2}},
                                              {"tf32", 64, 128, {.split_k = 4}},
                                              {"tf32", 64, 512, {.split_k = 8}},
                                              {"tf32", 64, 784, pieces(68, 16)},
                                              {"tf32", 64, 2048, pieces(64)},
                                              {"tf32", 128, 16, {.split_k = 4}, 4},
                                              {"tf32", 128, 64, {.split_k = 2}},
                                              {"tf32", 128, 512, {.split_k = 8}},
                                              {"tf32", 128, 784, pieces(68, 16)},
                                              {"tf32", 128, 2048, pieces(96)},
                                              {"tf32", 256, 16, {.split_k = 4}, 4},
                                              {"tf32", 256, 512, {.split_k = 8}},
                                              {"tf32", 256, 784, pieces(100, 16)},
                                              {"tf32", 256, 2048, {.promote_every = 128}},
                                              {"fp16_fp16", 64, 16, {.split_k = 2, .slice_k = 8}},
                                              {"fp16_fp16", 64, 128, {.split_k = 2}},
                                              {"fp16_fp16", 64, 784, narrow(72)},
                                              {"fp16_fp16", 64, 2048, narrow(128)},
                                              {"fp16_fp16", 128, 2048, narrow(128)},
                                              {"fp16_fp16", 256, 2048, narrow(256)}};
    const auto is_one_of = [](std::int64_t x, std::initializer_list<std::int64_t> list) {
        return std::find(list.begin(), list.end(), x) != list.end();
    };
    if (m != n || !is_one_of(m, {16, 64, 128, 256, 512}) || !is_one_of(k, {16, 64, 128, 512, 784, 2048})) {
        return std::nullopt;
    }
    StudiedProduct found;
    for (const auto& [name, key] : {std::pair{"tf32", "sm_90:mma.tf32.fp32"},
                                    {"bf16", "sm_90:mma.bf16.fp32"},
                                    {"fp16", "sm_90:mma.fp16.fp32"},
                                    {"fp16_fp16", "sm_90:mma.fp16.fp16"},
                                    {"e4m3", "sm_90:wgmma.e4m3.fp32"},
                                    {"e5m2", "sm_90:wgmma.e4m3_e5m2.fp32"}}) {
        if (product == name) found.key = key;
    }
    if (found.key.empty()) return std::nullopt;
    found.model = unit_model<TensorCoreModel>(found.key);
    for (const Split& split : splits) {
        if (split.product != product || split.size != m || split.k != k) continue;
        found.order = split.order;
        if (split.instruction_k > 0) found.model.instruction_k = found.model.group_size = split.instruction_k;
    }
    return found;
}

std::vector<StudyCase> simt_cases() {
    std::vector<StudyCase> cases;
    for (const char* product : {"fp32", "fp16", "bf16"}) {
        for (const bool fixed_algorithm : {true, false}) {
            for (const std::uint64_t m : {64ULL, 512ULL, 4096ULL}) {
                for (std::uint64_t k = 32; k <= 4096; k *= 2) cases.push_back({product, fixed_algorithm, m, 1, k});
            }
        }
    }
    for (const bool fixed_algorithm : {true, false}) {
        for (const std::uint64_t size : {64ULL, 256ULL, 512ULL}) {
            for (const std::uint64_t k : {64ULL, 512ULL, 2048ULL})
                cases.push_back({"fp32", fixed_algorithm, size, size, k});
        }
    }
    return cases;
}

namespace {

/// A case's two products, on operands that show the order of the sum and on random ones.
struct Multiplied {
    LibraryProduct product;
    Data probe, random;
    std::string skipped;  // why the library did not compute them; empty: it did
};

Multiplied multiplied(const LibraryCall& call, const StudyCase& study_case) {
    LibraryProduct product = library_product(study_case.product);
    product.fixed_algorithm = study_case.fixed_algorithm;
    Multiplied result{product, probe_data(product, study_case), random_data(product, study_case), {}};
    try {
        for (Data* data : {&result.probe, &result.random}) call(product, data->a, data->b, data->d);
    } catch (const UsageError& error) {
        result.skipped = error.what();
    }
    return result;
}

}  // namespace

SimtTraces simt_traces(const LibraryCall& call, const StudyCase& study_case) {
    SimtTraces traces;
    const auto [product, probe, random, skipped] = multiplied(call, study_case);
    traces.skipped = skipped;
    if (!skipped.empty()) return traces;
    traces.survivors = survivors_of(product, probe, 256);
    for (std::uint64_t row = 0; row < std::min<std::uint64_t>(random.d.rows(), 8); ++row) {
        traces.words += fmt::format("{}{:08X}", row == 0 ? "" : " ", random.d.get(row, 0));
    }
    return traces;
}

StudyResult study(const LibraryCall& call, const StudyCase& study_case, int architecture) {
    StudyResult result;
    result.study_case = study_case;
    const auto [product, probe, random, skipped] = multiplied(call, study_case);
    result.skipped = skipped;
    if (!skipped.empty()) return result;
    result.survivors = survivors_of(product, probe, 12);
    // A few elements tell the candidates apart; only the best one is asked for many.
    const Sample few_random(product, random, 5);
    const Sample few_probes(product, probe, 5);
    std::uint64_t best = 0;
    const Candidate* best_candidate = nullptr;
    ProductOrder best_order;
    const std::vector<Candidate> all = candidates(product, architecture);
    const auto try_orders = [&](const Candidate& candidate, const std::vector<ProductOrder>& orders) {
        for (const ProductOrder& order : orders) {
            const std::uint64_t score =
                few_random.count_equal(candidate.model, order) + few_probes.count_equal(candidate.model, order);
            if (best_candidate != nullptr && score <= best) continue;
            best = score;
            best_candidate = &candidate;
            best_order = order;
        }
    };
    for (const Candidate& candidate : all) try_orders(candidate, candidate_orders());
    // Kernels that split k and round their pieces' length in ways of their own: many orders, tried only where needed.
    const auto k = static_cast<std::int64_t>(study_case.k);
    for (const bool narrow : {false, true}) {
        for (const Candidate& candidate : all) {
            const bool done = best == few_random.elements() + few_probes.elements();
            if (done || (narrow && candidate.model.accumulator == formats::fp32)) continue;
            try_orders(candidate, split_orders(k, narrow ? std::optional(candidate.model.accumulator) : std::nullopt));
        }
    }
    if (best_candidate == nullptr) {
        result.skipped = fmt::format("the model table has no row of {} for it", architecture_name(architecture));
        return result;
    }
    result.prediction = fmt::format("{}, {}", best_candidate->key, name_of(best_order));
    const Sample many_random(product, random, 64);
    const Sample many_probes(product, probe, 64);
    result.total = many_random.elements();
    result.equal = many_random.count_equal(best_candidate->model, best_order);
    result.probe_equal = many_probes.count_equal(best_candidate->model, best_order) == many_probes.elements();
    return result;
}

}  // namespace ulp::gpu
