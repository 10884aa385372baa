// Arrays that begin on a cache line: a vector load that crosses lines costs two.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#pragma GCC visibility push(hidden)
namespace ulp::gemm_kernels {

inline constexpr std::size_t cache_line = 64;

template <class T>
struct LineAllocator {
    using value_type = T;
    LineAllocator() = default;
    template <class U>
    LineAllocator(const LineAllocator<U>&) {}  // NOLINT: allocators convert

    T* allocate(std::size_t count) {
        return static_cast<T*>(::operator new (count * sizeof(T), std::align_val_t{cache_line}));
    }
    void deallocate(T* p, std::size_t) { ::operator delete (p, std::align_val_t{cache_line}); }
    template <class U>
    bool operator==(const LineAllocator<U>&) const {
        return true;
    }
};

template <class T>
using AlignedVector = std::vector<T, LineAllocator<T>>;

}  // namespace ulp::gemm_kernels
#pragma GCC visibility pop
