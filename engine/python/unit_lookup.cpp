#include "engine/python/unit_lookup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <iterator>
#include <unordered_map>

#include "engine/products/matmul.hpp"
#include "engine/products/unit_file.hpp"
#include "engine/python/numpy_arrays.hpp"
#include "softfloat/matrix_units/policies.hpp"
#include "softfloat/support/nearest_names.hpp"

namespace ulp::python {

namespace py = pybind11;

namespace {

std::string in_lower_case(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
}

/// For the name of a GPU, which has several units, that of its fp16 products; else empty.
std::string unit_of_gpu(const std::string& name) {
    try {
        return make_backend("soft:" + name)->promised_model({formats::fp16, formats::fp32, formats::fp16});
    } catch (const std::exception&) {
        return {};
    }
}

std::string complaint_about(const std::string& unit) {
    if (const std::string key = unit_of_gpu(unit); key.find(':') != std::string::npos) {
        return fmt::format("'{0}' is a GPU with several units; give one, '{1}' say; ulplab.units('{0}') lists them",
                           unit, key);
    }
    std::vector<std::string> keys, containing;
    for (const NamedGpu& gpu : named_gpus()) keys.emplace_back(gpu.name);
    for (const UnitRow& row : unit_table()) keys.push_back(row.key());
    std::ranges::copy_if(keys, std::back_inserter(containing), [&](const std::string& key) {
        return unit.size() > 2 && key.find(in_lower_case(unit)) != std::string::npos;
    });
    return fmt::format("there is no unit '{}'; nearest are {}, and ulplab.units() lists all {}", unit,
                       nearest_names(unit, containing.empty() ? keys : containing), unit_table().size());
}

}  // namespace

std::string architecture_of_gpu(const std::string& name) {
    const std::string key = unit_of_gpu(name);
    return key.find(':') == std::string::npos ? "" : key.substr(0, key.find(':'));
}

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
    throw py::value_error(complaint_about(unit));
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
    const auto format = [&](std::size_t i) -> std::optional<FloatFormat> {
        if (fields[i].is_none()) return std::nullopt;
        return format_of(fields[i]);
    };
    return {.split_k = fields[0].cast<int>(),
            .piece_k = fields[1].cast<std::int64_t>(),
            .slice_k = fields[2].cast<std::int64_t>(),
            .tile_k = fields[3].cast<std::int64_t>(),
            .sum_format = format(4),
            .promote_every = fields[5].cast<std::int64_t>(),
            .total_format = format(6),
            .reduction = sum_order_by_name(fields[7].cast<std::string>())};
}

std::optional<LinearEpilogue> epilogue_of(const py::object& alpha, const py::object& beta, bool has_c, bool in_fp64) {
    if (alpha.is_none() && beta.is_none()) return std::nullopt;
    const LinearEpilogue epilogue{alpha.is_none() ? 1 : alpha.cast<double>(),
                                  beta.is_none() ? (has_c ? 1 : 0) : beta.cast<double>()};
    const auto finite = [&](double x) { return in_fp64 ? std::isfinite(x) : std::isfinite(static_cast<float>(x)); };
    if (!finite(epilogue.alpha)) throw py::value_error("alpha is not a finite number");
    if (!finite(epilogue.beta)) throw py::value_error("beta is not a finite number");
    if (epilogue.beta != 0 && !has_c) throw py::value_error("beta scales c; give c, too");
    return epilogue;
}

}  // namespace ulp::python
