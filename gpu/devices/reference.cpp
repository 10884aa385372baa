#include "gpu/devices/reference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "gpu/kernels/decoded_dot.hpp"
#include "gpu/kernels/exact_dot.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/matrix_units/chain_dot.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace ulp::gpu {
namespace {

/// "sm_90:mma.fp16.fp32", with that family's name in place of the instruction's.
std::string key_of(const Instruction& instruction, int architecture, Family family) {
    return fmt::format("{}:{}.{}.{}", architecture_name(architecture), name_of(family), instruction.input_name(),
                       name_of(instruction.accumulator));
}

/// The model of the row with that key, if there is such a row and its model is of that kind.
template <class Model>
const Model* model_or_null(const std::string& key) {
    const UnitRow* row = unit_or_null(key);
    return row == nullptr ? nullptr : row->as<Model>();
}

std::uint64_t integer_dot(const HostProduct& p, std::uint64_t row, std::uint64_t column, std::uint64_t c) {
    const Instruction& instruction = *p.instruction;
    const auto k = static_cast<std::uint64_t>(instruction.shape.k);
    auto sum = static_cast<std::uint32_t>(c);
    for (std::uint64_t first = 0; first < p.a.columns(); first += k) {
        std::int64_t products = 0;
        for (std::uint64_t i = first; i < first + k; ++i) {
            products += integer_product(instruction, p.a.get(row, i), p.b.get(column, i));
        }
        sum = integer_accumulate(instruction, products, sum);
    }
    return sum;
}

std::uint64_t fp64_dot(const HostProduct& p, std::uint64_t row, std::uint64_t column, std::uint64_t c) {
    for (std::uint64_t i = 0; i < p.a.columns(); ++i) c = fp64_step(p.a.get(row, i), p.b.get(column, i), c);
    return c;
}

/// The codes of every row, unpacked: chain_dot reads plain arrays.
std::vector<std::uint32_t> unpacked(const PackedMatrix& matrix) {
    std::vector<std::uint32_t> codes;
    codes.reserve(static_cast<std::size_t>(matrix.rows() * matrix.columns()));
    for (std::uint64_t i = 0; i < matrix.rows(); ++i) {
        for (std::uint64_t j = 0; j < matrix.columns(); ++j) {
            codes.push_back(static_cast<std::uint32_t>(matrix.get(i, j)));
        }
    }
    return codes;
}

/// Calls f(row of A and D, column of D, row of the packed B) for every element of D.
template <class F>
void for_each_element(const HostProduct& p, F&& f) {
    const std::uint64_t rows_per_matrix = p.d.rows() / p.extents.batch;
    for (std::uint64_t row = 0; row < p.d.rows(); ++row) {
        const std::uint64_t first_column = row / rows_per_matrix * p.d.columns();
        for (std::uint64_t column = 0; column < p.d.columns(); ++column) f(row, column, first_column + column);
    }
}

void plain_product(HostProduct& p, const TensorCoreModel& model) {
    const auto a = unpacked(p.a);
    const auto b = unpacked(p.b);
    const std::uint64_t k = p.a.columns();
    for_each_element(p, [&](std::uint64_t row, std::uint64_t column, std::uint64_t b_row) {
        const auto c = static_cast<std::uint32_t>(p.c.empty() ? 0 : p.c.get(row, column));
        p.d.set(row, column,
                chain_dot(model, a.data() + row * k, b.data() + b_row * k, c, static_cast<std::int64_t>(k)));
    });
}

/// The codes of every row, decoded and in the order of the decoded path.
template <class Decode>
std::vector<Int32Operand> decoded_rows(const DecodedModel& model, const std::vector<std::uint32_t>& codes,
                                       Decode decode_one) {
    std::vector<Int32Operand> rows(codes.size());
    const auto k = static_cast<std::uint64_t>(model.k);
    for (std::uint64_t i = 0; i < codes.size(); ++i) {
        const std::uint64_t step = i / k * k;
        rows[step + static_cast<std::uint64_t>(decoded_position(model, static_cast<int>(i % k)))] =
            decode_one(model, codes[i]);
    }
    return rows;
}

template <int Group>
void decoded_product(HostProduct& p, const TensorCoreModel& model) {
    const DecodedModel decoded = decoded_model(model);
    const auto a = unpacked(p.a);
    const auto b = unpacked(p.b);
    const std::uint64_t k = p.a.columns();
    const auto x = decoded_rows(decoded, a, decode_a);
    const auto y = decoded_rows(decoded, b, decode_b);
    for_each_element(p, [&](std::uint64_t row, std::uint64_t column, std::uint64_t b_row) {
        const auto c = static_cast<std::uint32_t>(p.c.empty() ? 0 : p.c.get(row, column));
        std::uint32_t sum = c;
        bool done = true;
        for (std::uint64_t step = 0; done && step < k; step += static_cast<std::uint64_t>(model.instruction_k)) {
            done = decoded_instruction<Group>(decoded, x.data() + row * k + step, y.data() + b_row * k + step, sum);
        }
        if (!done) sum = chain_dot(model, a.data() + row * k, b.data() + b_row * k, c, static_cast<std::int64_t>(k));
        p.d.set(row, column, sum);
    });
}

}  // namespace

void product_by_model(HostProduct& p, const TensorCoreModel& model) {
    const int group = has_decoded_path(model) ? decoded_model(model).model.group_size : 0;
    switch (group) {
        case 4: return decoded_product<4>(p, model);
        case 8: return decoded_product<8>(p, model);
        case 16: return decoded_product<16>(p, model);
        case 32: return decoded_product<32>(p, model);
        default: return plain_product(p, model);
    }
}

std::optional<PromisedModel> promised_model(const Instruction& instruction, int architecture) {
    if (!is_float(instruction.a) || instruction.a == Element::fp64) return std::nullopt;
    std::string key = key_of(instruction, architecture, instruction.family);
    const auto* model = model_or_null<TensorCoreModel>(key);
    // The compiler turns wmma into mma instructions of k = 16, or of the row that the table has for it.
    if (model == nullptr && instruction.family == Family::wmma) {
        key = key_of(instruction, architecture, Family::mma);
        model = model_or_null<TensorCoreModel>(key);
    }
    if (model == nullptr) return std::nullopt;
    PromisedModel claimed{key, *model, model->instruction_k == instruction.shape.k};
    claimed.model.a_format = format_of(instruction.a);  // with a register's padding
    claimed.model.b_format = format_of(instruction.b);
    claimed.model.instruction_k = instruction.shape.k;
    claimed.model.group_size = std::min(claimed.model.group_size, instruction.shape.k);
    return claimed;
}

std::optional<ClaimedScaledModel> claimed_scaled_model(const Instruction& instruction, int architecture) {
    if (instruction.scaling == Scaling::none) return std::nullopt;
    const std::string key = key_of(instruction, architecture, instruction.family);
    const auto* model = model_or_null<BlockScaledModel>(key);
    if (model == nullptr) return std::nullopt;
    ClaimedScaledModel claimed{key, *model};
    claimed.model.unscaled.a_format = format_of(instruction.a);
    claimed.model.unscaled.b_format = format_of(instruction.b);
    return claimed;
}

std::string claimed_key(const Instruction& instruction, int architecture) {
    if (const auto claimed = promised_model(instruction, architecture)) return claimed->key;
    if (const auto claimed = claimed_scaled_model(instruction, architecture)) return claimed->key;
    // Integers and fp64, whose wmma is mma.
    const Family family = instruction.family == Family::wmma ? Family::mma : instruction.family;
    const std::string key = key_of(instruction, architecture, family) + (instruction.saturates ? ".satfinite" : "");
    return unit_or_null(key) != nullptr ? key : "";
}

void product_by_model(HostProduct& p, const BlockScaledModel& model) {
    const auto a = unpacked(p.a);
    const auto b = unpacked(p.b);
    const auto x = unpacked(p.a_scales);
    const auto y = unpacked(p.b_scales);
    const std::uint64_t k = p.a.columns();
    const std::uint64_t scales = p.a_scales.columns();
    const auto steps = p.extents.steps_k;
    for_each_element(p, [&](std::uint64_t row, std::uint64_t column, std::uint64_t b_row) {
        auto sum = static_cast<std::uint32_t>(p.c.empty() ? 0 : p.c.get(row, column));
        for (std::uint64_t step = 0; step < steps; ++step) {
            sum = block_scaled_dot(model, &a[row * k + step * k / steps], &b[b_row * k + step * k / steps],
                                   &x[row * scales + step * scales / steps], &y[b_row * scales + step * scales / steps],
                                   sum);
        }
        p.d.set(row, column, sum);
    });
}

void product_by_dot(HostProduct& p, const InstructionDot& dot) {
    const auto length = static_cast<std::size_t>(p.instruction->shape.k);
    std::vector<std::uint64_t> a(p.a.columns()), b(a.size());
    for_each_element(p, [&](std::uint64_t row, std::uint64_t column, std::uint64_t b_row) {
        for (std::size_t k = 0; k < a.size(); ++k) a[k] = p.a.get(row, k);
        for (std::size_t k = 0; k < a.size(); ++k) b[k] = p.b.get(b_row, k);
        std::uint64_t sum = p.c.empty() ? 0 : p.c.get(row, column);
        for (std::size_t k = 0; k < a.size(); k += length) {
            sum = dot(std::span(a).subspan(k, length), std::span(b).subspan(k, length), sum);
        }
        p.d.set(row, column, sum);
    });
}

bool has_reference(const Instruction& instruction, int architecture) {
    return !is_float(instruction.a) || instruction.a == Element::fp64 ||
           !claimed_key(instruction, architecture).empty();
}

namespace {

void exact_product(HostProduct& product, int architecture) {
    const Instruction& row = *product.instruction;
    if (is_float(row.a) && row.a != Element::fp64) {
        throw UsageError(
            fmt::format("the model table has no row for {} on {}", row.name(), architecture_name(architecture)));
    }
    for_each_element(product, [&](std::uint64_t i, std::uint64_t j, std::uint64_t b_row) {
        const std::uint64_t c = product.c.empty() ? 0 : product.c.get(i, j);
        product.d.set(i, j,
                      row.a == Element::fp64 ? fp64_dot(product, i, b_row, c) : integer_dot(product, i, b_row, c));
    });
}

}  // namespace

void expected_product(HostProduct& product, int architecture, bool plain) {
    if (const auto claimed = promised_model(*product.instruction, architecture)) {
        plain ? plain_product(product, claimed->model) : product_by_model(product, claimed->model);
    } else if (const auto scaled = claimed_scaled_model(*product.instruction, architecture)) {
        product_by_model(product, scaled->model);
    } else {
        exact_product(product, architecture);
    }
}

}  // namespace ulp::gpu
