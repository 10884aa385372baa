// 10^6 random blocks of every row.
#include "tests/engine/products/described_rows.hpp"

TEST_CASE("every row, written as a file and read back, gives the same bits on a million blocks") {
    ulp::test::check_described_rows(1'000'000);
}
