// The sweep's own parts: a few rows of it, its two references, and that it sees a single wrong bit.
#include <doctest/doctest.h>

#include "softfloat/round.hpp"
#include "tests/softfloat/sweep/pairs.hpp"

namespace ulp::sweep {

TEST_CASE("a few rows of every format and operation equal the reference and the oracle") {
    for (const FloatFormat& format : {formats::fp16, formats::bf16}) {
        for (const Operation operation : operations) {
            Difference found;
            Row expected, got;
            for (const int code : {0x0000, 0x0001, 0x83FF, 0x3C01, 0x7BFF, 0xFC00, 0x7C01, 0x5A5A}) {
                const auto a = static_cast<std::uint16_t>(code);
                reference_row(format, operation, a, expected);
                plain_row(format, operation, a, got);
                compare_rows(format, a, got, expected, found);
                check_sample(format, operation, a, got, found);
                if (operator_row(format, operation, a, got)) compare_rows(format, a, got, expected, found);
            }
            INFO(name_of(operation) << ": " << found.first);
            CHECK(found.count == 0);
        }
    }
}

TEST_CASE("one wrong bit in a row is found and named") {
    Row row, wrong;
    plain_row(formats::fp16, Operation::add, 0x3C00, row);
    wrong = row;
    wrong[0x4000] ^= 1;
    Difference found;
    compare_rows(formats::fp16, 0x3C00, wrong, row, found);
    CHECK(found.count == 1);
    CHECK(found.first == "3C00 4000: 4201, expected 4200");
}

TEST_CASE("the sample against the oracle finds an operation taken for another") {
    Row row;
    Difference found;
    plain_row(formats::bf16, Operation::add, 0x3F81, row);
    check_sample(formats::bf16, Operation::multiply, 0x3F81, row, found);
    CHECK(found.count > 8);
}

}  // namespace ulp::sweep
