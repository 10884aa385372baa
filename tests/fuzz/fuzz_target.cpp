// A target of libFuzzer for one loader, ULPLAB_FUZZ_LOADER. See CMakeLists.txt.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/loaders.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    for (const ulp::fuzz::Loader& loader : ulp::fuzz::loaders()) {
        if (loader.name == ULPLAB_FUZZ_LOADER) loader.load({reinterpret_cast<const char*>(data), size});
    }
    return 0;
}
