// What stands in for cuBLAS where the build has no headers of it.
#include "gpu/library/cublas.hpp"
#include "softfloat/errors.hpp"

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
