// Tensors that cannot be.
#include <doctest/doctest.h>

#include <new>
#include <stdexcept>
#include <string>

#include "engine/tensor/tensor.hpp"

namespace {

using namespace ulp;

TEST_CASE("a tensor that no machine holds is refused with its gigabytes, and nothing is taken for it") {
    const StorageBytes before = storage_bytes();
    std::string text;
    try {
        const Tensor huge({Index{1} << 20, Index{1} << 24});
    } catch (const std::bad_alloc& error) {
        text = error.what();
    }
    CHECK(text.starts_with("out of memory: a tensor of 70368.7 GB"));
    CHECK(storage_bytes().live == before.live);
    CHECK_THROWS_WITH_AS(Tensor({Index{1} << 40, Index{1} << 40}), doctest::Contains("more than 2^48 numbers"),
                         std::invalid_argument);
    CHECK_THROWS_AS(Tensor({-1, 2}), std::invalid_argument);
}

}  // namespace
