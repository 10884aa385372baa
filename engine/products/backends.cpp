#include "engine/products/backends.hpp"

#include "engine/products/decorators.hpp"

namespace ulp {

std::vector<BackendFamily> built_in_backends() {
    std::vector<BackendFamily> families = {
        {"soft", tensor_core_arguments(), "a GPU's matrix unit, bit for bit as its model says",
         make_tensor_core_backend},
        {.prefix = "soft",
         .arguments = {},
         .description = "a matrix unit that a file describes (docs/unit_files.md)",
         .make = make_unit_file_backend,
         .suffix = ".json"},
        {"soft", {"ieee"}, "each step rounded, ascending k", [](std::string_view) { return make_ieee_backend(); }},
        {"eigen",
         {},
         "Eigen's fp32 product, for speed; claims no bits",
         [](std::string_view) { return make_eigen_backend(); }},
    };
    for (BackendFamily& family : decorator_families()) families.push_back(std::move(family));
    return families;
}

}  // namespace ulp
