# # A unit of one's own, discovered
#
# Answers: how does an unknown unit add, and is it one that is known?
#
# Any function of (a, b, c) is a unit. This one adds 4 products at once, to nearest, after c.

# %%
import numpy

import ulplab


def unit(a, b, c):
    products = [float(x) * float(y) for x, y in zip(a, b)]
    total = numpy.float32(c)
    for first in range(0, len(products), 4):
        with numpy.errstate(all="ignore"):
            total = numpy.float32(float(total) + sum(products[first:first + 4]))
    return total


found = ulplab.discover(unit, k=8, blocks=200, fit=False)
print(found.summation_tree, "| terms at once:", found.fused_terms, "| rounding:", found.rounding)

# A unit of the table is recognised, and its description multiplies.

# %%
found = ulplab.discover(lambda a, b, c: ulplab.dot(a, b, c, unit="sm_75:mma.fp16.fp32"), k=8, blocks=200)
print(found.agreeing)
a = numpy.ones((2, 8), "f2")
print(ulplab.matmul(a, a.T, unit=found.description))
