// The table of matrix units: one row per instruction, whatever it computes, and how to find a row.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "softfloat/matrix_units/aspects.hpp"
#include "softfloat/matrix_units/block_scaled.hpp"
#include "softfloat/matrix_units/integer_model.hpp"
#include "softfloat/matrix_units/model.hpp"

namespace ulp {

/// What a unit computes: floating-point products, integers, or floating-point products with block scales.
using UnitModel = std::variant<TensorCoreModel, IntegerModel, BlockScaledModel>;

/// The name of a row. Its key is "<architecture>:<instruction>.<input>.<output>": "sm_90:wgmma.fp16.fp32",
/// "sm_80:mma.s8_u8.s32.satfinite", "sm_100:tcgen05.mxf8f6f4.e4m3.fp32".
struct UnitName {
    std::string architecture;  // "sm_90"
    std::string instruction;   // "mma", "wmma", "wgmma", "tcgen05", "tcgen05.mxf4"
    std::string input;         // "fp16"; "e4m3_e5m2" where a and b differ
    std::string output;        // "fp32", "s32.satfinite": the accumulator
    std::string file{};        // of a unit that a file describes: its name, which is the key then

    [[nodiscard]] std::string key() const;
};

/// A row of the table.
struct UnitRow : UnitName {
    UnitModel model;
    std::string policies;                 // name of the policy set (policies.hpp); empty where the unit has none
    Evidence evidence;                    // of ordinary values
    std::string proof;                    // what proves them, or who published them
    std::vector<AspectEvidence> aspects;  // each aspect that the unit has

    /// The model if it is of that kind, or null.
    template <class Model>
    [[nodiscard]] const Model* as() const {
        return std::get_if<Model>(&model);
    }
};

/// The aspects that a unit with this model has: only those that align terms have a floor, integers have no zeros.
AspectSet aspects_of(const UnitModel& model);

/// The row's evidence in a sentence, aspects with the same evidence together: "ordinary values: recorded (...); zeros,
/// exponent floor: published, policy set B (...)".
std::string evidence_text(const UnitRow& row);

/// All rows by vendor, oldest architecture first, those that are copies of another architecture's last. Of the rows of
/// one architecture with the same formats the first is the one that find_unit takes when no instruction is named.
std::span<const UnitRow> unit_table();

/// The rows whose models are of one kind.
template <class Model>
struct RowOf {
    const UnitRow& row;
    const Model& model;
};
template <class Model>
std::vector<RowOf<Model>> rows_of() {
    std::vector<RowOf<Model>> rows;
    for (const UnitRow& row : unit_table()) {
        if (const Model* model = row.as<Model>()) rows.push_back({row, *model});
    }
    return rows;
}

/// The row with that key, or null.
const UnitRow* unit_or_null(std::string_view key);

/// The row with that key. Throws std::invalid_argument that names the nearest keys.
const UnitRow& find_unit(std::string_view key);

/// The row of a GPU ("H100", "a100"), generation ("hopper") or architecture ("sm_90") for these formats, in any case of
/// letters; of that instruction if one is named. Throws std::invalid_argument that names the nearest rows of that GPU.
const UnitRow& find_unit(std::string_view gpu, std::string_view input, std::string_view output,
                         std::string_view instruction = {});

/// Throws std::invalid_argument: the row's model is of another kind.
[[noreturn]] void throw_other_kind(std::string_view key);

/// The model of the row with that key. Throws std::invalid_argument if there is no such row, or if its model is of
/// another kind.
template <class Model>
const Model& unit_model(std::string_view key) {
    const Model* model = find_unit(key).as<Model>();
    if (model == nullptr) throw_other_kind(key);
    return *model;
}

// GPUs and generations by name.

/// "sm_90" for "H100", "hopper", "sm_90". Throws std::invalid_argument that lists the names.
std::string architecture_of(std::string_view gpu);

/// The GPUs and generations that architecture_of knows, with their architectures.
struct NamedGpu {
    std::string_view name;
    std::string_view architecture;
};
std::span<const NamedGpu> named_gpus();

}  // namespace ulp
