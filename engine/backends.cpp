#include "engine/backends.hpp"

namespace ulp {

std::vector<BackendFamily> built_in_backends() {
    return {
        {"soft", {"ieee"}, "each step rounded, ascending k", [](std::string_view) { return make_ieee_backend(); }},
        {"eigen",
         {},
         "Eigen's fp32 product, for speed; claims no bits",
         [](std::string_view) { return make_eigen_backend(); }},
    };
}

}  // namespace ulp
