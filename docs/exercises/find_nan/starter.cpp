#include "exercise.hpp"

Finding find_first(const Operation* operations, int n) {
    (void)operations;
    (void)n;
    return {0, Cause::none};  // to be written
}
