// The loaders of files that others write, for the fuzzer and for the test that replays its corpus.
#pragma once

#include <span>
#include <string_view>

namespace ulp::fuzz {

struct Loader {
    std::string_view name;  // of its folder in corpus/
    /// Loads a file of these bytes, all of it. DataError is the good end of a bad file and stays inside; any other
    /// exception comes out.
    void (*load)(std::string_view bytes);
};
std::span<const Loader> loaders();

}  // namespace ulp::fuzz
