#include "engine/python/unit_lookup.hpp"

#include <fmt/format.h>

#include <cmath>
#include <unordered_map>

#include "engine/products/unit_file.hpp"
#include "softfloat/matrix_units/policies.hpp"
#include "softfloat/support/nearest_names.hpp"

namespace ulp::python {

namespace py = pybind11;

std::shared_ptr<const UnitRow> unit_named(const std::string& unit) {
    static const std::unordered_map<std::string, const UnitRow*> by_key = [] {
        std::unordered_map<std::string, const UnitRow*> rows;
        for (const UnitRow& row : unit_table()) rows.emplace(row.key(), &row);
        return rows;
    }();
    const auto found = by_key.find(unit);
    if (found != by_key.end()) return {std::shared_ptr<const UnitRow>(), found->second};
    if (unit.starts_with("{")) {
        const DescribedUnit described = unit_from_json(unit, "the description");
        return std::make_shared<UnitRow>(
            UnitRow{{"", "", "", "", described.name}, described.model, "", Evidence::described, described.name, {}});
    }
    if (is_unit_file(unit)) return std::make_shared<UnitRow>(read_unit_file(unit));
    std::vector<std::string> keys;
    for (const UnitRow& row : unit_table()) keys.push_back(row.key());
    throw py::value_error(fmt::format("there is no unit '{}'; nearest are {}, and ulplab.units() lists all {}", unit,
                                      nearest_names(unit, keys), keys.size()));
}

TensorCoreModel floating_point_model(const UnitRow& row, const py::object& policy) {
    const auto* model = row.as<TensorCoreModel>();
    if (model == nullptr) {
        throw py::value_error(row.key() + " multiplies integers or block-scaled numbers; give a floating-point unit");
    }
    return policy.is_none() ? *model : with_policies(*model, policy_set(policy.cast<std::string>()));
}

ProductOrder order_of(const py::object& order) {
    if (order.is_none()) return {};
    const auto fields = order.cast<py::tuple>();
    return {.split_k = fields[0].cast<int>(),
            .piece_k = fields[1].cast<std::int64_t>(),
            .slice_k = fields[2].cast<std::int64_t>(),
            .tile_k = fields[3].cast<std::int64_t>(),
            .narrow_sums = fields[4].cast<bool>(),
            .promote_every = fields[5].cast<std::int64_t>()};
}

std::optional<LinearEpilogue> epilogue_of(const py::object& alpha, const py::object& beta, bool has_c) {
    if (alpha.is_none() && beta.is_none()) return std::nullopt;
    const LinearEpilogue epilogue{alpha.is_none() ? 1.0F : alpha.cast<float>(),
                                  beta.is_none() ? (has_c ? 1.0F : 0.0F) : beta.cast<float>()};
    if (!std::isfinite(epilogue.alpha)) throw py::value_error("alpha is not a finite number");
    if (!std::isfinite(epilogue.beta)) throw py::value_error("beta is not a finite number");
    if (epilogue.beta != 0 && !has_c) throw py::value_error("beta scales c; give c, too");
    return epilogue;
}

}  // namespace ulp::python
