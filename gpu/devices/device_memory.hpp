// Memory of the GPU, owned. Only for sources built with CUDA.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "gpu/devices/cuda_check.hpp"

namespace ulp::gpu {

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
