// Memory for tensors, handed on from one tensor to the next: a training step makes the same tensors again and again,
// and fresh pages from the system cost more than the arithmetic on them.
//
// What is kept for later raises the memory above its peak so far by a sixteenth at most.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <type_traits>
#include <utility>

namespace ulp {

/// 64-byte aligned memory, contents arbitrary. Throws std::bad_alloc.
void* take_storage(std::size_t bytes);
/// `bytes` as it was asked for.
void give_storage_back(void* memory, std::size_t bytes) noexcept;
/// The same memory for the containers of the standard library.
std::pmr::memory_resource* storage_resource();

struct StorageBytes {
    std::int64_t live = 0;  // in tensors now
    std::int64_t peak = 0;  // the most since the last restart
    std::int64_t kept = 0;  // for later
};
StorageBytes storage_bytes();
/// The peak starts again at what is live, and what is kept goes back to the system.
void restart_storage_peak();

/// `count` numbers, left as the memory is. (A std::vector with an allocator of its own goes through its elements when
/// it is destroyed, in a loop that does nothing: a tenth of a step that has large tensors.)
template <class T>
class Storage {
    static_assert(std::is_trivially_copyable_v<T>);

  public:
    Storage() = default;
    explicit Storage(std::size_t count)
        : numbers_(count == 0 ? nullptr : static_cast<T*>(take_storage(count * sizeof(T)))), count_(count) {}
    Storage(const Storage& other) : Storage(other.count_) { std::copy_n(other.numbers_, count_, numbers_); }
    Storage(Storage&& other) noexcept
        : numbers_(std::exchange(other.numbers_, nullptr)), count_(std::exchange(other.count_, 0)) {}
    Storage& operator=(Storage other) noexcept {
        std::swap(numbers_, other.numbers_);
        std::swap(count_, other.count_);
        return *this;
    }
    ~Storage() {
        if (numbers_ != nullptr) give_storage_back(numbers_, count_ * sizeof(T));
    }

    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] bool empty() const { return count_ == 0; }
    [[nodiscard]] T* data() { return numbers_; }
    [[nodiscard]] const T* data() const { return numbers_; }
    [[nodiscard]] T* begin() { return numbers_; }
    [[nodiscard]] T* end() { return numbers_ + count_; }
    [[nodiscard]] const T* begin() const { return numbers_; }
    [[nodiscard]] const T* end() const { return numbers_ + count_; }
    T& operator[](std::size_t i) { return numbers_[i]; }
    const T& operator[](std::size_t i) const { return numbers_[i]; }

  private:
    T* numbers_ = nullptr;
    std::size_t count_ = 0;
};

// What fits into the memory of this machine, said before the system kills the process for it.

/// Throws a std::bad_alloc whose what() is "out of memory: <what> of 26.2 GB beside 1.3 GB in tensors, on a machine
/// with 16.8 GB; use smaller sizes" if `bytes` and `beside` are more than memory and swap. `always`: throws in any
/// case.
void require_memory(double bytes, const char* what, double beside = 0, bool always = false);

}  // namespace ulp
