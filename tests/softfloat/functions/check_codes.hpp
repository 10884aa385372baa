// Runs implementations of a function over a format's codes in every mode. The judge is asked once.
#pragma once

#include "tests/softfloat/cases.hpp"
#include "tests/softfloat/check.hpp"
#include "tests/softfloat/functions/function_oracle.hpp"

namespace ulp::test {

class CodesCheck {
  public:
    /// Every `step`-th code.
    CodesCheck(std::string_view function, const FloatFormat& format, std::size_t step = 1) : oracle_(format) {
        const FunctionOracle judge(function);
        const std::vector<std::uint64_t> codes = all_codes(format);
        for (std::size_t i = 0; i < codes.size(); i += step) {
            cases_.push_back({codes[i], judge.locate(oracle_, codes[i])});
        }
    }

    /// call(format, bits, context) against the judge.
    template <class Call>
    [[nodiscard]] Mismatches run(Call call) const {
        Mismatches found;
        for (const Case& one : cases_) {
            check_modes(found, oracle_, one.place, {one.code},
                        [&](Context& context) { return call(oracle_.format(), one.code, context); });
        }
        return found;
    }

  private:
    struct Case {
        std::uint64_t code;
        Located place;
    };
    Oracle oracle_;
    std::vector<Case> cases_;
};

}  // namespace ulp::test
