# # 14 bits or 22: how Hopper's FP8 products add
#
# Answers: how exact are sums of FP8 products on an H100, and what does promotion to fp32 bring?
#
# An H100 has two instructions for FP8: wgmma, which keeps 13 fraction bits of a sum, and mma, which goes by way of fp16
# instructions that keep more.

# %%
import numpy

import ulplab

rng = numpy.random.default_rng(5)
x = ulplab.round(rng.random((1, 4096)).astype("f4"), "e4m3")
y = ulplab.round(rng.random((4096, 1)).astype("f4"), "e4m3")
exact = float((x.astype("f8") @ y.astype("f8")).item())
for unit in ("sm_90:wgmma.e4m3.fp32", "sm_90:mma.e4m3.fp32"):
    d = ulplab.matmul(x, y, unit=unit).item()
    print(f"{unit:<24} {d:10.3f}  exact {exact:.3f}  relative error {(d - exact) / exact:+.1e}")

# Promotion to fp32 after 128 products, as FP8 training does it, removes most of the error.

# %%
d = ulplab.matmul(x, y, unit="sm_90:wgmma.e4m3.fp32", order=ulplab.Order(promote=128)).item()
print(f"promoted every 128       {d:10.3f}  relative error {(d - exact) / exact:+.1e}")
for order in (None, ulplab.Order(promote=128)):
    print("bound at k = 4096:", "%.4f" % ulplab.bound("sm_90:wgmma.e4m3.fp32", k=4096, order=order).gamma)
