#include "experiments/exit_codes.hpp"

#include <fmt/core.h>

#include <cstdio>
#include <exception>
#include <new>

#include "softfloat/errors.hpp"

namespace ulp {
namespace {

ExitCode report(ExitCode code, const std::exception& error) {
    std::fflush(stdout);
    fmt::print(stderr, "ulplab: {}\n", error.what());
    return code;
}

}  // namespace

ExitCode guarded(const std::function<ExitCode()>& action) {
    try {
        return action();
    } catch (const BitsDiffer& error) {
        return report(ExitCode::bits_differ, error);
    } catch (const std::invalid_argument& error) {
        return report(ExitCode::usage, error);
    } catch (const std::bad_alloc&) {
        return report(ExitCode::data, DataError("out of memory; use smaller sizes (--quick, --set)"));
    } catch (const std::exception& error) {
        return report(ExitCode::data, error);
    }
}

}  // namespace ulp
