# # What NVFP4 costs a layer
#
# A weight matrix in NVFP4: 4 bits an element, a scale for 16 of them.

# %%
import numpy

import ulplab

weight = numpy.random.default_rng(3).standard_normal((64, 256)).astype("f4") * numpy.float32(0.05)
x = ulplab.round(numpy.random.default_rng(4).standard_normal((32, 256)).astype("f4"), "bf16")


def snr(values, of):
    return 10 * numpy.log10((of.astype("f8") ** 2).sum() / ((values.astype("f8") - of) ** 2).sum())


for how in ("nvfp4", "mxfp4", "mxfp8"):
    if how in ulplab.quantizations():
        print(f"{how:<7} weight {snr(ulplab.dequantize(ulplab.quantize(weight, how)), weight):5.1f} dB")

# The product of a Blackwell unit on the codes and scales themselves.

# %%
q, w = ulplab.quantize(x, "nvfp4"), ulplab.quantize(weight, "nvfp4")
d = ulplab.matmul(q.codes, w.codes.T, unit="sm_100:tcgen05.nvf4.e2m1.fp32", scales=(q.scales, w.scales.T))
d = d * numpy.float32(q.tensor_scale * w.tensor_scale)
print("product with both in nvfp4: %.1f dB" % snr(d, x @ weight.T))
