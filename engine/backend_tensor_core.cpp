#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>
#include <stdexcept>

#include "engine/backends.hpp"
#include "softfloat/format_names.hpp"
#include "softfloat/matrix_units/gemm.hpp"
#include "softfloat/matrix_units/models.hpp"

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

class TensorCoreBackend final : public MatmulBackend {
  public:
    explicit TensorCoreBackend(std::string_view argument)
        : argument_(argument), unit_(unit_of(argument)), architecture_(architecture_of(unit_.gpu)) {}

    [[nodiscard]] std::string name() const override { return "soft:" + argument_; }
    [[nodiscard]] std::string promised_model(const ProductTypes& types) const override {
        const ModelRow* row = find(types);
        return row == nullptr ? std::string() : row->key();
    }
    [[nodiscard]] std::string path(const ProductTypes& types, Index, Index, Index k) const override {
        const ModelRow& row = row_of(types);
        const Index instructions = (k + row.model.instruction_k - 1) / row.model.instruction_k;
        return fmt::format("{}, {} chained instructions of k{}{}", row.key(), instructions, row.model.instruction_k,
                           k % row.model.instruction_k == 0 ? "" : ", the last filled up with zeros");
    }

  private:
    void compute(const Product& p) const override {
        soft_gemm(row_of(p.types).model, {p.a, p.b, p.c.value_or(MatrixView()), p.d});
    }

    [[nodiscard]] const ModelRow* find(const ProductTypes& types) const {
        for (const ModelRow& row : model_table()) {
            const bool instruction = unit_.instruction.empty() || row.instruction == unit_.instruction;
            if (row.architecture == architecture_ && instruction && row.model.a_format == types.input &&
                row.model.b_format == types.b_input && row.model.accumulator == types.accumulator) {
                return &row;
            }
        }
        return nullptr;
    }

    [[nodiscard]] const ModelRow& row_of(const ProductTypes& types) const {
        if (const ModelRow* row = find(types)) return *row;
        std::set<std::string> known;
        for (const ModelRow& row : model_table()) {
            if (row.architecture == architecture_) known.insert(row.input + "->" + row.output);
        }
        throw std::invalid_argument(fmt::format("{} has no {} product (it has {}); choose another recipe, or soft:ieee",
                                                name(), name_of(types), fmt::join(known, ", ")));
    }

    std::string argument_;
    Unit unit_;
    std::string architecture_;
};

}  // namespace

std::unique_ptr<MatmulBackend> make_tensor_core_backend(std::string_view argument) {
    return std::make_unique<TensorCoreBackend>(argument);
}

std::vector<std::string> tensor_core_arguments() {
    std::vector<std::string> arguments;
    for (const NamedGpu& gpu : named_gpus()) {
        const std::string name = lower(gpu.name);
        arguments.push_back(name);
        std::set<std::string> instructions;
        for (const ModelRow& row : model_table()) {
            if (row.architecture == gpu.architecture) instructions.insert(row.instruction);
        }
        if (instructions.size() < 2) continue;
        for (const std::string& instruction : instructions) arguments.push_back(name + "." + instruction);
    }
    return arguments;
}

}  // namespace ulp
