#include "engine/backends.hpp"

namespace ulp {

std::vector<BackendFamily> built_in_backends() {
    return {
        {"soft", tensor_core_arguments(), "a GPU's matrix unit, bit for bit as its model says",
         make_tensor_core_backend},
        {"soft", {"ieee"}, "each step rounded, ascending k", [](std::string_view) { return make_ieee_backend(); }},
        {"eigen",
         {},
         "Eigen's fp32 product, for speed; claims no bits",
         [](std::string_view) { return make_eigen_backend(); }},
    };
}

}  // namespace ulp
