// Stand-ins for cuBLAS and cublasLt where the build has no CUDA, or no headers of cuBLAS. By qualified names, as in
// gpu/no_cuda.cpp.
#include "gpu/library/cublas.hpp"
#include "gpu/untried/library.hpp"
#include "softfloat/errors.hpp"

std::unique_ptr<ulp::gpu::Library> ulp::gpu::open_cuda_library() {
    throw DataError(
        "this ulplab was built without cuBLAS; build it where CUDA and its cuBLAS headers are installed, or use "
        "--device software:sm_90 for a dry run");
}

namespace ulp::gpu {

class Cublas::Implementation {};

Cublas::Cublas() {
    throw DataError("this ulplab was built without cuBLAS; install its headers beside CUDA's and build again");
}
Cublas::~Cublas() = default;
void Cublas::matmul(const LibraryProduct&, const PackedMatrix&, const PackedMatrix&, PackedMatrix&) {}
LibraryTiming Cublas::time(const LibraryProduct&, std::uint64_t, std::uint64_t, std::uint64_t, int) { return {}; }
std::string Cublas::version() const { return ""; }

}  // namespace ulp::gpu
