// A shared library that is loaded when it is needed.
#pragma once

#include <dlfcn.h>

#include <string>

#include "softfloat/errors.hpp"

namespace ulp::gpu {

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
