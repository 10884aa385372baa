// Stands in for cublasLt where the build has no CUDA, or no headers of cuBLAS. By its qualified name, as in
// gpu/no_cuda.cpp.
#include "gpu/untried/library.hpp"
#include "softfloat/errors.hpp"

std::unique_ptr<ulp::gpu::Library> ulp::gpu::open_cuda_library() {
    throw DataError(
        "this ulplab was built without cuBLAS; build it where CUDA and its cuBLAS headers are installed, or use "
        "--device software:sm_90 for a dry run");
}
