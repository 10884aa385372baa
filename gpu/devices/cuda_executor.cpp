// Runs products on the first CUDA device.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <mutex>
#include <string>

#include "gpu/devices/cuda_check.hpp"
#include "gpu/devices/executor.hpp"
#include "softfloat/errors.hpp"

namespace ulp::gpu {
namespace {

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

/// The driver's release by its kernel module: "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  ...". Empty
/// where the file is missing or looks otherwise.
std::string module_release() {
    std::ifstream file("/proc/driver/nvidia/version");
    for (std::string word; file >> word;) {
        const bool number =
            std::all_of(word.begin(), word.end(), [](char c) { return c == '.' || (c >= '0' && c <= '9'); });
        if (number && word.find('.') != std::string::npos) return word;
    }
    return "";
}

/// The driver's release, asked of the management library that comes with it.
std::string driver_release() {
    void* library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return module_release();
    std::array<char, 96> text{};
    const auto start = reinterpret_cast<int (*)()>(dlsym(library, "nvmlInit_v2"));
    const auto ask = reinterpret_cast<int (*)(char*, unsigned)>(dlsym(library, "nvmlSystemGetDriverVersion"));
    const auto stop = reinterpret_cast<int (*)()>(dlsym(library, "nvmlShutdown"));
    if (start != nullptr && ask != nullptr && stop != nullptr && start() == 0) {
        if (ask(text.data(), static_cast<unsigned>(text.size() - 1)) != 0) text.fill('\0');
        stop();
    }
    dlclose(library);
    return text.data();
}

DeviceInfo describe_device() {
    int count = 0;
    check(cudaGetDeviceCount(&count), "cudaGetDeviceCount");
    if (count == 0) throw DataError("cudaGetDeviceCount finds no GPU; run it on a machine with an NVIDIA GPU");
    check(cudaSetDevice(0), "cudaSetDevice");
    cudaDeviceProp properties{};
    check(cudaGetDeviceProperties(&properties, 0), "cudaGetDeviceProperties");
    int driver = 0;
    int runtime = 0;
    check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
    check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
    return {true,
            properties.name,
            properties.major * 10 + properties.minor,
            driver_release(),
            version_text(driver),
            version_text(runtime),
            properties.multiProcessorCount,
            properties.totalGlobalMem};
}

class CudaExecutor final : public Executor {
  public:
    CudaExecutor() : info_(describe_device()) {}
    [[nodiscard]] const DeviceInfo& info() const override { return info_; }

  private:
    void compute(HostProduct& product) const override {
        const std::string name = product.instruction->name();
        const Launch launch = find_launch(name);
        const std::lock_guard lock(mutex_);
        const auto put = [](DeviceArray<std::uint32_t>& array, const PackedMatrix& matrix) {
            array.require(matrix.words().size());
            array.upload(matrix.words());
            return matrix.empty() ? nullptr : array.data();
        };
        const auto* a = put(a_, product.a);
        const auto* b = put(b_, product.b);
        const auto* c = put(c_, product.c);
        const auto* x = put(x_, product.a_scales);
        const auto* y = put(y_, product.b_scales);
        d_.require(product.d.words().size());
        const auto run_over = [&](int poison) {
            check(cudaMemset(d_.data(), poison, product.d.words().size() * sizeof(std::uint32_t)), "cudaMemset");
            launch(product.extents, {a, b, c, d_.data(), x, y}, nullptr);
            check_launch(name);
            synchronise(name);
            d_.download(product.d.words());
        };
        run_over(0xA5);
        const auto is_poison = [](std::uint32_t word) { return word == 0xA5A5A5A5; };
        if (std::none_of(product.d.words().begin(), product.d.words().end(), is_poison)) return;
        // A result may look like the poison: then it does so over any other poison, too, unless it was never written.
        const auto first = product.d.words();
        run_over(0x5A);
        if (first != product.d.words()) throw DataError(name + " left parts of its result unwritten; report it");
    }

    DeviceInfo info_;
    // The GPU's memory stays from product to product: asking for it would take longer than a small one.
    mutable std::mutex mutex_;
    mutable DeviceArray<std::uint32_t> a_, b_, c_, x_, y_, d_;  // x, y: the scales
};

}  // namespace

std::unique_ptr<Executor> open_cuda_device() { return std::make_unique<CudaExecutor>(); }

}  // namespace ulp::gpu
