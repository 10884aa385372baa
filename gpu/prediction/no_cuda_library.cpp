// What stands in for cublasLt where the build has no CUDA, or no headers of cuBLAS.
#include "gpu/prediction/library.hpp"
#include "softfloat/errors.hpp"

namespace ulp::gpu {

std::unique_ptr<Library> open_cuda_library() {
    throw DataError(
        "this ulplab was built without cuBLAS; build it where CUDA and its cuBLAS headers are installed, or use "
        "--device software:sm_90 for a dry run");
}

}  // namespace ulp::gpu
