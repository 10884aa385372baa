# # A product that differs between two GPUs, explained
#
# Answers: why does one product have other bits on another GPU, and is one of them wrong?
#
# The same fp16 operands, on an A100 and on an H100: both accumulate in fp32, and their results differ in the last bits.

# %%
import numpy

import ulplab

a = ulplab.round(numpy.random.default_rng(1).standard_normal((4, 64)).astype("f4"), "fp16")
b = ulplab.round(numpy.random.default_rng(2).standard_normal((64, 4)).astype("f4"), "fp16")
a100 = ulplab.matmul(a, b, unit="sm_80:mma.fp16.fp32")
h100 = ulplab.matmul(a, b, unit="sm_90:mma.fp16.fp32")
print("elements that differ:", int((a100 != h100).sum()), "of", a100.size)

# The A100 adds 8 products at once and keeps 24 bits below the largest; the H100 adds 16 and keeps 25.

# %%
dot = [1.0, 2.0**-12, 2.0**-12], [1.0, 2.0**-13, 2.0**-12]
for unit in ("sm_80:mma.fp16.fp32", "sm_90:mma.fp16.fp32"):
    group = ulplab.explain(*dot, unit=unit).steps[0]
    print(unit, "F =", group["fraction_bits"], "aligned:", [term["aligned"] for term in group["terms"][:3]],
          "cut:", [term["cut"] for term in group["terms"][:3]])

# Neither is wrong: both errors lie within the bounds of their units.

# %%
for name, d in (("sm_80:mma.fp16.fp32", a100), ("sm_90:mma.fp16.fp32", h100)):
    bound = ulplab.bound(name, a, b, d=d)
    print(name, "violations:", bound.violations, "largest error / bound: %.2f" % bound.largest_ratio)
