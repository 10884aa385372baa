// Memory for tensors, handed on from one tensor to the next: a training step makes the same tensors again and again,
// and fresh pages from the system cost more than the arithmetic on them.
//
// What is kept for later raises the memory above its peak so far by a sixteenth at most.
#pragma once

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>
#include <vector>

namespace ulp {

/// 64-byte aligned memory, contents arbitrary. Throws std::bad_alloc.
void* take_storage(std::size_t bytes);
/// `bytes` as it was asked for.
void give_storage_back(void* memory, std::size_t bytes) noexcept;

struct StorageBytes {
    std::int64_t live = 0;  // in tensors now
    std::int64_t peak = 0;  // the most since the last restart
    std::int64_t kept = 0;  // for later
};
StorageBytes storage_bytes();
/// The peak starts again at what is live, and what is kept goes back to the system.
void restart_storage_peak();

/// For std::vector: elements made without a value are left as the memory is.
template <class T>
struct StorageAllocator {
    using value_type = T;
    StorageAllocator() = default;
    template <class U>
    StorageAllocator(const StorageAllocator<U>&) {}  // NOLINT: any two are equal

    T* allocate(std::size_t count) { return static_cast<T*>(take_storage(count * sizeof(T))); }
    void deallocate(T* memory, std::size_t count) noexcept { give_storage_back(memory, count * sizeof(T)); }
    template <class U>
    void construct(U* place) noexcept {
        ::new (static_cast<void*>(place)) U;
    }
    template <class U, class... Arguments>
    void construct(U* place, Arguments&&... arguments) {
        ::new (static_cast<void*>(place)) U(std::forward<Arguments>(arguments)...);
    }
    template <class U>
    bool operator==(const StorageAllocator<U>&) const {
        return true;
    }
};

template <class T>
using Storage = std::vector<T, StorageAllocator<T>>;

}  // namespace ulp
