// `ulplab testfloat OP`: a filter between testfloat_gen and testfloat_ver.
#include "softfloat/lab/testfloat.hpp"

#include <iostream>
#include <memory>

#include "experiments/cli/command.hpp"
#include "softfloat/errors.hpp"
#include "softfloat/names.hpp"

namespace ulp {
namespace {

struct TestfloatOptions {
    std::string operation;
    std::string rounding = "near_even";
    std::string tininess = "after";
    bool not_exact = false;
};

ExitCode filter(const TestfloatOptions& options) {
    const testfloat::Operation operation = testfloat::operation_by_name(options.operation);
    const Rounding rounding = rounding_by_name(options.rounding);
    if (is_stochastic(rounding)) throw UsageError("TestFloat has no stochastic rounding; choose another mode");
    const Tininess tininess = options.tininess == "before" ? Tininess::before_rounding : Tininess::after_rounding;
    std::ios::sync_with_stdio(false);
    testfloat::filter(operation, {rounding, tininess, !options.not_exact}, std::cin, std::cout);
    if (std::cin.bad()) throw DataError("the operands could not be read from the standard input");
    std::cout.flush();
    if (!std::cout) throw DataError("the results could not be written to the standard output");
    return ExitCode::good;
}

Action declare_testfloat(OptionParser& app) {
    const auto options = std::make_shared<TestfloatOptions>();
    app.add_option("OP", options->operation,
                   "operation by TestFloat's name, of any format: f16_add, e4m3_mulAdd, f32_to_bf16")
        .required();
    app.add_option("--rounding", options->rounding,
                   "near_even, near_maxMag, minMag, min, max or odd, or the names that `ulplab show` takes");
    app.add_option("--tininess", options->tininess, "underflow is detected before or after rounding")
        .one_of({"before", "after"});
    app.add_flag("--notexact", options->not_exact, "roundings to an integer raise no inexact flag");
    return [options] { return filter(*options); };
}

}  // namespace

Command testfloat_command() {
    return {"testfloat", "operands in, results and flags out, in the text format of Berkeley TestFloat",
            declare_testfloat};
}

}  // namespace ulp
