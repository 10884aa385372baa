// Faults of kernels that no way of multiplying explains.
#include "tests/experiments/random_product_faults.hpp"

TEST_CASE("none of 200 random faults is explained, and those of k and of memory are named") {
    ulp::test::check_random_faults(100, 200);
}
