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

/// One unit or several of one GPU: each product is computed by the first row that has its types.
class UnitBackend final : public MatmulBackend {
  public:
    /// `has`: the types of its products, for people.
    UnitBackend(std::string name, std::string identity, std::vector<UnitRow> rows, std::string has)
        : name_(std::move(name)), identity_(std::move(identity)), rows_(std::move(rows)), has_(std::move(has)) {}

    [[nodiscard]] std::string name() const override { return name_; }
    [[nodiscard]] std::string identity() const override { return identity_; }
    [[nodiscard]] bool has_product(const ProductTypes& types) const override { return find(types) != rows_.end(); }
    [[nodiscard]] std::string promised_model(const ProductTypes& types) const override {
        const auto row = find(types);
        return row == rows_.end() ? std::string() : row->key();
    }
    [[nodiscard]] std::string path(const ProductTypes& types, Index m, Index n, Index k) const override {
        const UnitRow& row = row_of(types);
        const Index step = unscaled(row)->instruction_k;
        const GemmPath way = std::visit([&](const auto& model) { return choose_path(model, m, n, k); }, row.model);
        return fmt::format("{}, {} chained instructions of k{}{}, kernel {}", row.key(), (k + step - 1) / step, step,
                           k % step == 0 ? "" : ", the last filled up with zeros", name_of(way.kernel));
    }

  private:
    void compute(const Product& p) const override {
        const UnitRow& row = row_of(p.types);
        const GemmProblem problem{p.a, p.b, p.c.value_or(MatrixView()), p.d};
        if (const auto* scaled = row.as<BlockScaledModel>()) return gemm(*scaled, {problem, p.a_scales, p.b_scales});
        gemm(*row.as<TensorCoreModel>(), problem);
    }
    [[nodiscard]] bool runs_at_once() const override { return true; }

    [[nodiscard]] std::vector<UnitRow>::const_iterator find(const ProductTypes& types) const {
        return std::ranges::find_if(rows_, [&](const UnitRow& row) { return computes(row, types); });
    }
    [[nodiscard]] const UnitRow& row_of(const ProductTypes& types) const {
        if (const auto row = find(types); row != rows_.end()) return *row;
        throw std::invalid_argument(fmt::format("{} has no {} product (it has {}); choose another recipe, or soft:ieee",
                                                name_, name_of(types), has_));
    }

    std::string name_, identity_;
    std::vector<UnitRow> rows_;
    std::string has_;
};

}  // namespace

std::unique_ptr<MatmulBackend> make_unit_file_backend(std::string_view file) {
    UnitRow row = read_unit_file(std::string(file));
    const TensorCoreModel* model = unscaled(row);
    if (model == nullptr || model->accumulator == formats::fp64) {
        throw std::invalid_argument(fmt::format(
            "{} has {} operands; a backend's unit has floating-point formats that fit fp32", file, row.input));
    }
    const std::string name = "soft:" + row.file;
    const std::string digest = sha256_of(unit_json({.name = "unit", .model = row.model}));
    std::string has = row.input + "->" + row.output;
    return std::make_unique<UnitBackend>(name, fmt::format("{} of SHA-256 {}", name, digest),
                                         std::vector{std::move(row)}, std::move(has));
}

/// Kinds of an instruction count as it: "tcgen05.mxf8f6f4" as tcgen05.
std::unique_ptr<MatmulBackend> make_tensor_core_backend(std::string_view argument) {
    const auto [gpu, instruction] = unit_of(argument);
    const std::string architecture = architecture_of(gpu);
    std::vector<UnitRow> rows;
    std::set<std::string> known;
    for (const UnitRow& row : unit_table()) {
        if (row.architecture != architecture) continue;
        if (row.as<TensorCoreModel>() != nullptr) known.insert(row.input + "->" + row.output);
        if (instruction.empty() || row.instruction == instruction || row.instruction.starts_with(instruction + ".")) {
            rows.push_back(row);
        }
    }
    const std::string name = "soft:" + std::string(argument);
    return std::make_unique<UnitBackend>(name, name, std::move(rows), fmt::format("{}", fmt::join(known, ", ")));
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

std::string spelled_tensor_core_argument(std::string_view text) {
    const auto [gpu, instruction] = unit_of(text);
    std::string architecture;
    try {
        architecture = architecture_of(gpu);
    } catch (const std::invalid_argument&) {
        return {};
    }
    const auto row = std::ranges::find(named_gpus(), std::string_view(architecture), &NamedGpu::architecture);
    if (row == named_gpus().end()) return {};
    const std::string rest = instruction.empty() ? "" : "." + lower(instruction);
    const std::vector<std::string> listed = tensor_core_arguments();
    if (std::ranges::find(listed, lower(row->name) + rest) == listed.end()) return {};
    std::string name = lower(gpu) + rest;
    std::erase(name, ' ');
    return name;
}

}  // namespace ulp
