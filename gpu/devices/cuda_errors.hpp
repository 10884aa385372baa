// Failures of CUDA calls as sentences. No CUDA needed, so that they can be tested anywhere.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <thread>

#include "softfloat/errors.hpp"

namespace ulp::gpu {

/// What failed and what to do about it: "cudaMalloc of 3 GiB failed: out of memory (cudaErrorMemoryAllocation); close
/// other programs on the GPU or use smaller sizes". `name` is cudaGetErrorName's, `text` cudaGetErrorString's.
std::string cuda_failure(std::string_view call, std::string_view name, std::string_view text);

/// Of an allocation: "cudaMalloc of 4096 bytes (1024 of 65536 free) failed: out of memory ...".
std::string memory_failure(std::uint64_t bytes, std::uint64_t free_bytes, std::uint64_t all_bytes);
/// Of a GPU that another program holds for itself alone.
std::string busy_failure(std::string_view call);

/// The sentence for a kernel that does not end.
std::string still_running(std::string_view what, double seconds);

/// The sentence where the program was built without CUDA.
std::string built_without_cuda();

// Waiting with a limit. No CUDA needed, so that it can be tested anywhere.

/// Asks `done` until it is true, at first without pauses, then with ones of up to a millisecond. False: `seconds`
/// passed.
template <class Done>
bool wait_for(const Done& done, double seconds) {
    using Clock = std::chrono::steady_clock;
    const auto start = Clock::now();
    for (int asked = 0; !done(); ++asked) {
        if (std::chrono::duration<double>(Clock::now() - start).count() > seconds) return false;
        if (asked > 1000) std::this_thread::sleep_for(std::chrono::microseconds(std::min(asked - 1000, 1000)));
    }
    return true;
}

// A shared library that is loaded when it is needed.

class SharedLibrary {
  public:
    /// Looks in the loader's paths, then in the folder given. Throws DataError that names the library.
    SharedLibrary(const std::string& name, const std::string& folder) : name_(name) {
        handle_ = dlopen(name.c_str(), RTLD_LAZY | RTLD_GLOBAL);
        if (handle_ == nullptr) handle_ = dlopen((folder + "/" + name).c_str(), RTLD_LAZY | RTLD_GLOBAL);
        if (handle_ == nullptr) {
            throw DataError("cannot load " + name + "; install it or put its folder into LD_LIBRARY_PATH");
        }
    }
    SharedLibrary(const SharedLibrary&) = delete;
    SharedLibrary& operator=(const SharedLibrary&) = delete;
    ~SharedLibrary() = default;  // stays loaded: CUDA's libraries do not like to be unloaded

    /// The function of that name, of type `Function`. Throws DataError.
    template <class Function>
    [[nodiscard]] Function* find(const char* function) const {
        void* const address = dlsym(handle_, function);
        if (address == nullptr) throw DataError(name_ + " has no " + function + "; install a newer one");
        return reinterpret_cast<Function*>(address);
    }

  private:
    std::string name_;
    void* handle_ = nullptr;
};

}  // namespace ulp::gpu
