#pragma once

enum class Code { add, subtract, multiply, divide, square_root };
enum class Cause { none, bad_operand, overflow, division_by_zero, invalid };

struct Operation {
    Code code;
    float a, b;
    float result;  // in halves
};

struct Finding {
    int index;
    Cause cause;
};

/// The first of operations[0] ... operations[n - 1] whose result is not finite.
Finding find_first(const Operation* operations, int n);
