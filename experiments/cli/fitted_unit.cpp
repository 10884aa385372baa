#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "engine/files/whole_file.hpp"
#include "engine/products/unit_file.hpp"
#include "experiments/cli/black_box.hpp"
#include "experiments/cli/product_options.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/lab/model_fit.hpp"
#include "softfloat/names.hpp"
#include "softfloat/text.hpp"

namespace ulp {
namespace {

std::string codes(const FloatFormat& format, const std::vector<std::uint64_t>& words) {
    std::string text;
    for (const std::uint64_t word : words) text += (text.empty() ? "#" : ",#") + to_hex_bits(format, word);
    return text;
}

using Fields = nlohmann::ordered_json;

Fields fields_of(const TensorCoreModel& model) {
    Fields fields = Fields::parse(unit_json({"unit", model}));
    for (const char* key : {"ulplab_unit", "name", "kind"}) fields.erase(key);
    return fields;
}

int differing_fields(const Fields& x, const Fields& y) {
    int count = 0;
    for (const auto& [key, value] : x.items()) count += y.contains(key) && y[key] == value ? 0 : 1;
    return count;
}

/// The row with the unit's formats whose description has most fields in common with the model's.
const UnitRow* nearest_row(const TensorCoreModel& model) {
    const UnitRow* nearest = nullptr;
    int fewest = std::numeric_limits<int>::max();
    for (const auto& [row, other] : rows_of<TensorCoreModel>()) {
        if (other.a_format != model.a_format || other.b_format != model.b_format ||
            other.accumulator != model.accumulator) {
            continue;
        }
        const int count = differing_fields(fields_of(model), fields_of(other));
        if (count < fewest) nearest = &row;
        fewest = std::min(fewest, count);
    }
    return nearest;
}

/// The fields of a description, and where the nearest row has others.
void print_description(const TensorCoreModel& model) {
    const UnitRow* row = nearest_row(model);
    const Fields fields = fields_of(model);
    const Fields theirs = row == nullptr ? Fields::object() : fields_of(*row->as<TensorCoreModel>());
    fmt::print("description{}\n",
               row == nullptr ? "" : fmt::format(", beside that of the nearest row, {}", row->key()));
    for (const auto& [key, value] : fields.items()) {
        const bool same = row == nullptr || (theirs.contains(key) && theirs[key] == value);
        const std::string other = same ? "" : theirs.contains(key) ? "  (" + theirs[key].dump() + ")" : "  (has none)";
        fmt::print("  {:<21} {}{}\n", key, value.dump(), other);
    }
}

void print_undecided(const ModelFit& fit) {
    if (fit.undecided.empty()) return;
    fmt::print("\nnot decided: with any one of these changes the description gives the same results on all of them\n");
    for (const std::string& name : fit.undecided) fmt::print("  {}\n", name);
}

}  // namespace

void print_check(const DotUnit& unit, const std::string& key, const MatchCheck& check) {
    if (check.differ == 0) return fmt::print("  {}: none differs\n", key);
    fmt::print("  {}: {} differ (", key, check.differ);
    for (std::size_t i = 0, shown = 0; i < check.differ_by_class.size(); ++i) {
        if (check.differ_by_class[i] == 0) continue;
        fmt::print("{}{} {}", shown++ == 0 ? "" : ", ", name_of(all_classes[i]), check.differ_by_class[i]);
    }
    const Contradiction& first = *check.first;
    fmt::print(")\n    the first, {}: unit {}, row {}: --a {} --b {} --c #{}\n", name_of(first.data),
               to_hex_bits(unit.accumulator, first.unit), to_hex_bits(unit.accumulator, first.model),
               codes(unit.a_format, first.a), codes(unit.b_format, first.b), to_hex_bits(unit.accumulator, first.c));
}

void write_description(const std::string& file, const std::string& name, const UnitModel& model) {
    if (file.empty()) return;
    replace_whole_file(file, unit_json({name, model}));
    fmt::print("\ndescription written to {}\n", file);
}

ExitCode fit_unit(const DotUnit& unit, const FitRequest& request) {
    const FitOptions how{.blocks = std::max(request.blocks, 1000),
                         .seed = request.seed,
                         .allowed = [](const auto& model) { return limit_of(model).empty(); }};
    const std::vector<TensorCoreModel> starts = fit_starts(unit);
    const ModelFit fit = fit_model(unit, starts, how);
    if (fit.check.unstable > 0) {
        fmt::print(
            "\n{} of {} dot products gave two different results when asked twice: the unit is not deterministic, and "
            "no description is given\n",
            fit.check.unstable, fit.check.blocks);
        return ExitCode::bits_differ;
    }
    fmt::print("\n");
    if (fit.found()) {
        print_description(fit.model);
        fmt::print("\n{} random dot products of all classes, each asked twice\n  this description: none differs\n",
                   fit.check.blocks);
        print_undecided(fit);
        write_description(request.write, request.name, fit.model);
        return ExitCode::good;
    }
    fmt::print(
        "no description of a unit (docs/unit_files.md) was found that gives this unit's results: something in it lies "
        "outside of them. The nearest found differs on {} of {} random dot products\n",
        fit.check.differ, fit.check.blocks);
    print_check(unit, "nearest found", fit.check);
    print_description(fit.model);
    return ExitCode::bits_differ;
}

ExitCode check_against(const DotUnit& unit, const std::string& model_or_file, const FitRequest& request) {
    const UnitRow row = unit_named(model_or_file);
    const auto* model = row.as<TensorCoreModel>();
    if (model == nullptr || model->a_format != unit.a_format || model->b_format != unit.b_format ||
        model->accumulator != unit.accumulator || unit.k % model->instruction_k != 0) {
        throw UsageError(fmt::format("{} is {} -> {}, and the unit asked is {} x {} -> {} with k = {}", row.key(),
                                     row.input, row.output, name_of(unit.a_format), name_of(unit.b_format),
                                     name_of(unit.accumulator), unit.k));
    }
    const MatchCheck check = check_match(unit, *model, request.blocks, request.seed);
    fmt::print("{} random dot products of all classes, each asked twice\n", check.blocks);
    print_check(unit, row.key(), check);
    if (check.unstable > 0)
        fmt::print("  {} of them gave two different results: the unit is not deterministic\n", check.unstable);
    return check.agrees() ? ExitCode::good : ExitCode::bits_differ;
}

}  // namespace ulp
