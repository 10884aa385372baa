// Runs an implementation of a function over a format's codes in every mode.
#pragma once

#include "tests/softfloat/cases.hpp"
#include "tests/softfloat/check.hpp"
#include "tests/softfloat/functions/function_oracle.hpp"

namespace ulp::test {

/// call(format, bits, context) against the judge at every `step`-th code.
template <class Call>
Mismatches check_codes(std::string_view function, const FloatFormat& format, Call call, std::size_t step = 1) {
    const Oracle oracle(format);
    const FunctionOracle judge(function);
    const std::vector<std::uint64_t> codes = all_codes(format);
    Mismatches found;
    for (std::size_t i = 0; i < codes.size(); i += step) {
        const std::uint64_t code = codes[i];
        check_modes(found, oracle, judge.locate(oracle, code), {code},
                    [&](Context& context) { return call(format, code, context); });
    }
    return found;
}

}  // namespace ulp::test
