// CUPTI's side of gpu/library/cublas.hpp. CUPTI is loaded when it is needed.
#include <cupti.h>
#include <fmt/format.h>

#include <cstdlib>

#include "gpu/devices/cuda_errors.hpp"
#include "gpu/library/cublas.hpp"

namespace ulp::gpu {
namespace {

struct Functions {
    SharedLibrary library{fmt::format("libcupti.so.{}", ULPLAB_CUDA_MAJOR), ULPLAB_CUPTI_LIBRARIES};
#define ULPLAB_FIND(function) decltype(::function)* function = library.find<decltype(::function)>(#function)
    ULPLAB_FIND(cuptiActivityRegisterCallbacks);
    ULPLAB_FIND(cuptiActivityEnable);
    ULPLAB_FIND(cuptiActivityDisable);
    ULPLAB_FIND(cuptiActivityFlushAll);
    ULPLAB_FIND(cuptiActivityGetNextRecord);
#undef ULPLAB_FIND
};

/// CUPTI's callbacks have no argument of ours.
Functions* functions = nullptr;
std::vector<std::string>* names = nullptr;

constexpr std::size_t alignment = 8;  // of CUPTI's records
constexpr std::size_t buffer_bytes = std::size_t{1} << 20;

void CUPTIAPI buffer_wanted(std::uint8_t** buffer, std::size_t* size, std::size_t* records) {
    *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(alignment, buffer_bytes));
    *size = *buffer == nullptr ? 0 : buffer_bytes;
    *records = 0;
}

void CUPTIAPI buffer_full(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t valid) {
    CUpti_Activity* record = nullptr;
    while (functions->cuptiActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS) {
        if (record->kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL || names == nullptr) continue;
        names->push_back(readable_kernel_name(reinterpret_cast<const ULPLAB_CUPTI_KERNEL*>(record)->name));
    }
    std::free(buffer);
}

}  // namespace

std::vector<std::string> kernels_run_by(const std::function<void()>& work) {
    std::vector<std::string> found;
    try {
        static Functions loaded;
        functions = &loaded;
        static const CUptiResult registered = loaded.cuptiActivityRegisterCallbacks(buffer_wanted, buffer_full);
        if (registered != CUPTI_SUCCESS ||
            loaded.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) != CUPTI_SUCCESS) {
            functions = nullptr;
        }
    } catch (const DataError&) {
        functions = nullptr;
    }
    struct Collecting {  // also where `work` throws
        explicit Collecting(std::vector<std::string>& into) { names = &into; }
        ~Collecting() { names = nullptr; }
    } collecting(found);
    work();
    if (functions != nullptr) {
        static_cast<void>(functions->cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
        static_cast<void>(functions->cuptiActivityDisable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
    }
    return found;
}

}  // namespace ulp::gpu
