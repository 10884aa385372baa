// Find the NaN: a solution.
#include <cmath>

#include "exercise.hpp"

namespace {

Cause cause_of(const Operation& operation) {
    const bool one_operand = operation.code == Code::square_root;
    if (!std::isfinite(operation.a) || (!one_operand && !std::isfinite(operation.b))) return Cause::bad_operand;
    if (std::isnan(operation.result)) return Cause::invalid;  // 0 / 0, the root of a negative number
    if (operation.code == Code::divide && operation.b == 0) return Cause::division_by_zero;
    return Cause::overflow;
}

}  // namespace

Finding find_first(const Operation* operations, int n) {
    for (int i = 0; i < n; ++i) {
        if (!std::isfinite(operations[i].result)) return {i, cause_of(operations[i])};
    }
    return {-1, Cause::none};
}
