// Units by key, file or description, and orders of summation, as Python names them.
#pragma once

#include <pybind11/pybind11.h>

#include <memory>
#include <optional>
#include <string>

#include "softfloat/matrix_units/product.hpp"
#include "softfloat/matrix_units/units.hpp"

namespace ulp::python {

/// A row's key, a file that describes a unit (its name ends in .json), or such a description itself (it begins with
/// "{"). Throws ValueError that names the nearest keys.
std::shared_ptr<const UnitRow> unit_named(const std::string& unit);

/// "sm_90" for "h100", in any case of letters; empty for what names no GPU.
std::string architecture_of_gpu(const std::string& name);

/// The row's floating-point model, with another policy set where one is named. Throws ValueError for other units.
TensorCoreModel floating_point_model(const UnitRow& row, const pybind11::object& policy);

/// What ulplab.Order holds: (split_k, piece_k, slice_k, tile_k, narrow_sums, promote_every), or None.
ProductOrder order_of(const pybind11::object& order);

/// alpha and beta, each None where it is not given. Throws ValueError for factors that are not finite in the format of
/// the epilogue (fp32, or fp64), and for a beta without C.
std::optional<LinearEpilogue> epilogue_of(const pybind11::object& alpha, const pybind11::object& beta, bool has_c,
                                          bool in_fp64);

}  // namespace ulp::python
