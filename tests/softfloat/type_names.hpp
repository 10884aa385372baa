// Short names of the types in the names of typed tests.
#pragma once

#include <doctest/doctest.h>

#include "softfloat/float.hpp"

TYPE_TO_STRING(ulp::fp64);
TYPE_TO_STRING(ulp::fp32);
TYPE_TO_STRING(ulp::tf32);
TYPE_TO_STRING(ulp::bf16);
TYPE_TO_STRING(ulp::fp16);
TYPE_TO_STRING(ulp::e5m2);
TYPE_TO_STRING(ulp::e4m3);
TYPE_TO_STRING(ulp::e5m2fnuz);
TYPE_TO_STRING(ulp::e4m3fnuz);
TYPE_TO_STRING(ulp::e3m2);
TYPE_TO_STRING(ulp::e2m3);
TYPE_TO_STRING(ulp::e2m1);
TYPE_TO_STRING(ulp::e8m0);
