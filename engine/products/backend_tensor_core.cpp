#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <stdexcept>

#include "engine/files/sha256.hpp"
#include "engine/products/backends.hpp"
#include "engine/products/unit_file.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/gemm_path.hpp"
#include "softfloat/matrix_units/units.hpp"
#include "softfloat/names.hpp"

namespace ulp {
namespace {

std::string lower(std::string_view text) {
    std::string result(text);
    std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return result;
}

/// "h100" or, with an instruction other than the architecture's first, "h100.wgmma".
struct Unit {
    std::string gpu;
    std::string instruction;  // empty: the first that has the types
};

Unit unit_of(std::string_view argument) {
    const std::size_t dot = argument.find('.');
    if (dot == std::string_view::npos) return {std::string(argument), {}};
    return {std::string(argument.substr(0, dot)), std::string(argument.substr(dot + 1))};
}

/// A row's arithmetic without its scales; null for integers.
const TensorCoreModel* unscaled(const UnitRow& row) {
    const auto* scaled = row.as<BlockScaledModel>();
    return scaled != nullptr ? &scaled->unscaled : row.as<TensorCoreModel>();
}

bool computes(const UnitRow& row, const ProductTypes& types) {
    const TensorCoreModel* model = unscaled(row);
    const auto* scaled = row.as<BlockScaledModel>();
    if (model == nullptr || (scaled != nullptr) != types.scaling.has_value()) return false;
    if (scaled != nullptr && *types.scaling != BlockScaling{scaled->scale_format, scaled->scale_block}) return false;
    return model->a_format == types.input && model->b_format == types.b_input &&
           model->accumulator == types.accumulator;
}

void compute_by(const UnitRow& row, const Product& p) {
    const GemmProblem problem{p.a, p.b, p.c.value_or(MatrixView()), p.d};
    if (const auto* scaled = row.as<BlockScaledModel>()) return gemm(*scaled, {problem, p.a_scales, p.b_scales});
    gemm(*row.as<TensorCoreModel>(), problem);
}

std::string path_of(const UnitRow& row, Index m, Index n, Index k) {
    const Index step = unscaled(row)->instruction_k;
    const GemmPath way = std::visit([&](const auto& model) { return choose_path(model, m, n, k); }, row.model);
    return fmt::format("{}, {} chained instructions of k{}{}, kernel {}", row.key(), (k + step - 1) / step, step,
                       k % step == 0 ? "" : ", the last filled up with zeros", name_of(way.kernel));
}

class TensorCoreBackend final : public MatmulBackend {
  public:
    explicit TensorCoreBackend(std::string_view argument)
        : argument_(argument), unit_(unit_of(argument)), architecture_(architecture_of(unit_.gpu)) {
        for (const UnitRow& row : unit_table()) {
            if (is_of_unit(row)) rows_.push_back(&row);
        }
    }

    [[nodiscard]] std::string name() const override { return "soft:" + argument_; }
    [[nodiscard]] bool has_product(const ProductTypes& types) const override { return find(types) != nullptr; }
    [[nodiscard]] std::string promised_model(const ProductTypes& types) const override {
        const UnitRow* row = find(types);
        return row == nullptr ? std::string() : row->key();
    }
    [[nodiscard]] std::string path(const ProductTypes& types, Index m, Index n, Index k) const override {
        return path_of(row_of(types), m, n, k);
    }

  private:
    void compute(const Product& p) const override { compute_by(row_of(p.types), p); }
    void compute_each(std::span<const Product> products) const override { compute_at_once(products); }

    /// Kinds of an instruction count as it: "tcgen05.mxf8f6f4" as tcgen05.
    [[nodiscard]] bool is_of_unit(const UnitRow& row) const {
        const std::string& wanted = unit_.instruction;
        return row.architecture == architecture_ &&
               (wanted.empty() || row.instruction == wanted || row.instruction.starts_with(wanted + "."));
    }
    [[nodiscard]] const UnitRow* find(const ProductTypes& types) const {
        const auto row = std::ranges::find_if(rows_, [&](const UnitRow* r) { return computes(*r, types); });
        return row == rows_.end() ? nullptr : *row;
    }
    [[nodiscard]] const UnitRow& row_of(const ProductTypes& types) const {
        if (const UnitRow* row = find(types)) return *row;
        std::set<std::string> known;
        for (const UnitRow& row : unit_table()) {
            const bool plain = row.as<TensorCoreModel>() != nullptr;
            if (row.architecture == architecture_ && plain) known.insert(row.input + "->" + row.output);
        }
        throw std::invalid_argument(fmt::format("{} has no {} product (it has {}); choose another recipe, or soft:ieee",
                                                name(), name_of(types), fmt::join(known, ", ")));
    }

    std::string argument_;
    Unit unit_;
    std::string architecture_;
    std::vector<const UnitRow*> rows_;  // of this unit: every product looks its own up
};

/// The one unit that a file describes.
class UnitFileBackend final : public MatmulBackend {
  public:
    explicit UnitFileBackend(std::string_view file) : row_(read_unit_file(std::string(file))) {
        const TensorCoreModel* model = unscaled(row_);
        if (model == nullptr || model->accumulator == formats::fp64) {
            throw std::invalid_argument(fmt::format(
                "{} has {} operands; a backend's unit has floating-point formats that fit fp32", file, row_.input));
        }
    }

    [[nodiscard]] std::string name() const override { return "soft:" + row_.file; }
    [[nodiscard]] std::string identity() const override {
        return fmt::format("{} of SHA-256 {}", name(), sha256_of(unit_json({.name = "unit", .model = row_.model})));
    }
    [[nodiscard]] bool has_product(const ProductTypes& types) const override { return computes(row_, types); }
    [[nodiscard]] std::string promised_model(const ProductTypes& types) const override {
        return has_product(types) ? row_.key() : std::string();
    }
    [[nodiscard]] std::string path(const ProductTypes& types, Index m, Index n, Index k) const override {
        require(types);
        return path_of(row_, m, n, k);
    }

  private:
    void compute(const Product& p) const override {
        require(p.types);
        compute_by(row_, p);
    }
    void compute_each(std::span<const Product> products) const override { compute_at_once(products); }
    void require(const ProductTypes& types) const {
        if (has_product(types)) return;
        throw std::invalid_argument(
            fmt::format("{} has no {} product (it has {}->{}); choose another recipe, or "
                        "soft:ieee",
                        name(), name_of(types), row_.input, row_.output));
    }

    UnitRow row_;
};

}  // namespace

std::unique_ptr<MatmulBackend> make_unit_file_backend(std::string_view file) {
    return std::make_unique<UnitFileBackend>(file);
}

std::unique_ptr<MatmulBackend> make_tensor_core_backend(std::string_view argument) {
    return std::make_unique<TensorCoreBackend>(argument);
}

std::vector<std::string> tensor_core_arguments() {
    std::vector<std::string> arguments;
    for (const NamedGpu& gpu : named_gpus()) {
        const std::string name = lower(gpu.name);
        arguments.push_back(name);
        std::set<std::string> instructions;
        for (const UnitRow& row : unit_table()) {
            const bool plain = row.as<TensorCoreModel>() != nullptr;
            if (row.architecture == gpu.architecture && plain) instructions.insert(row.instruction);
        }
        if (instructions.size() < 2) continue;
        for (const std::string& instruction : instructions) arguments.push_back(name + "." + instruction);
    }
    return arguments;
}

}  // namespace ulp
