#include "experiments/framework/side_by_side.hpp"

#include <exception>

namespace ulp {

bool may_run_side_by_side(const std::string& backend) {
    constexpr std::string_view wrapper = "with_ieee(";
    if (backend.starts_with(wrapper))
        return may_run_side_by_side(backend.substr(wrapper.size(), backend.size() - wrapper.size() - 1));
    return backend.starts_with("soft:") || backend == "eigen";
}

void run_side_by_side(std::size_t count, bool parallel, const std::function<void(std::size_t)>& run,
                      const std::function<void(double)>& progress) {
    std::exception_ptr error;
    std::size_t done = 0;
#pragma omp parallel for schedule(dynamic, 1) if (parallel)
    for (std::size_t i = 0; i < count; ++i) {
        try {
            run(count - 1 - i);
        } catch (...) {  // none may leave the threads' region
#pragma omp critical(side_by_side)
            if (!error) error = std::current_exception();
        }
#pragma omp critical(side_by_side)
        progress(static_cast<double>(++done) / static_cast<double>(count));
    }
    if (error) std::rethrow_exception(error);
}

}  // namespace ulp
