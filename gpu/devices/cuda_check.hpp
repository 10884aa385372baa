// Every CUDA call goes through check(). Only for sources built with CUDA.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <span>
#include <string_view>
#include <utility>

#include "gpu/kernels/launch.cuh"

namespace ulp::gpu {

/// Throws DataError with a sentence that names the call and a remedy, unless the status is success. Clears the error.
void check(cudaError_t status, std::string_view call);
/// The error of the launch just made (a bad configuration shows here, a failing kernel at the next synchronisation).
void check_launch(std::string_view kernel);

/// Memory of the GPU. Throws DataError that says how much of it is free where that is less.
void* allocated(std::size_t bytes);

/// Waits for all that was enqueued. Throws DataError where that fails, or has not ended after two minutes: no kernel of
/// this program takes a second. The GPU's memory is then left to the end of the process, because freeing it would wait,
/// too.
void synchronise(std::string_view after);
/// Whether a wait was given up.
bool gave_up_waiting();

// Finding the kernel of an instruction. Only for sources built with CUDA.

/// The tables of kernels.
std::array<std::span<const Launcher>, 8> all_launchers();

/// The launcher of the instruction of that name. Every row of the table has one (tests/gpu/test_launchers.cpp).
Launch find_launch(std::string_view instruction);

// Memory of the GPU, owned. Only for sources built with CUDA.

/// An array of `count` T in device memory, aligned to 256 bytes, not initialised.
template <class T>
class DeviceArray {
  public:
    DeviceArray() = default;
    explicit DeviceArray(std::size_t count) : count_(count) {
        if (count != 0) data_ = allocated(bytes());
    }
    explicit DeviceArray(std::span<const T> host) : DeviceArray(host.size()) { upload(host); }
    DeviceArray(DeviceArray&& other) noexcept
        : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
    DeviceArray& operator=(DeviceArray&& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(count_, other.count_);
        return *this;
    }
    ~DeviceArray() {
        if (!gave_up_waiting()) static_cast<void>(cudaFree(data_));  // a destructor must not throw
    }

    [[nodiscard]] T* data() const { return static_cast<T*>(data_); }
    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(T); }

    void upload(std::span<const T> host) const {
        if (host.empty()) return;
        check(cudaMemcpy(data_, host.data(), host.size_bytes(), cudaMemcpyHostToDevice), "cudaMemcpy to the device");
    }
    void download(std::span<T> host) const {
        if (host.empty()) return;
        check(cudaMemcpy(host.data(), data_, host.size_bytes(), cudaMemcpyDeviceToHost), "cudaMemcpy from the device");
    }
    void fill_bytes(int value) const { check(cudaMemset(data_, value, bytes()), "cudaMemset"); }

    /// At least that many T; what the array held is lost if it has to grow.
    void require(std::size_t count) {
        if (count <= count_) return;
        *this = DeviceArray();  // before the new one, not beside it
        *this = DeviceArray(count);
    }

  private:
    void* data_ = nullptr;
    std::size_t count_ = 0;
};

}  // namespace ulp::gpu
