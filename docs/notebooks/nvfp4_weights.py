# # What NVFP4 costs a trained layer
#
# Answers: how many right answers does a net lose when a layer's weights, or its training, are of FP4?
#
# A net is trained by the library in bf16, on examples of its own: which of 4 parts of a vector has the largest sum.

# %%
import numpy

import ulplab

rng = numpy.random.default_rng(3)
x = rng.standard_normal((2200, 64)).astype("f4")
labels = x.reshape(-1, 4, 16).sum(2).argmax(1)
net = {"name": "parts", "task": "images", "input": {"shape": [64]}, "outputs": 4,
       "layers": [{"layer": "linear", "name": "hidden", "outputs": 64}, {"layer": "relu"},
                  {"layer": "linear", "name": "out"}]}
trained = ulplab.train(net, data=x, labels=labels, recipe="bf16", steps=400, learning_rate=0.1)
print("loss %.3f, right %.1f %%" % (trained.losses[-1], 100 * trained.accuracy))

# Its hidden layer's weight in block-scaled formats: how far the numbers are off, and how many answers are right with them.

# %%
unseen = rng.standard_normal((2000, 64)).astype("f4")
answers = unseen.reshape(-1, 4, 16).sum(2).argmax(1)
weight = trained.weights["hidden.weight"]


def right(weights):
    scores, _ = ulplab.gradients(net, unseen, numpy.zeros((2000, 4), "f4"), weights=weights, recipe="bf16")
    return 100 * (scores.argmax(1) == answers).mean()


def snr(values, of):
    return 10 * numpy.log10((of.astype("f8") ** 2).sum() / ((values.astype("f8") - of) ** 2).sum())


print("bf16                     right %.2f %%" % right(trained.weights))
for how in ("mxfp8", "nvfp4", "mxfp4"):
    values = ulplab.dequantize(ulplab.quantize(weight, how))
    print("%-7s weight %5.1f dB   right %.2f %%" % (how, snr(values, weight),
                                                   right({**trained.weights, "hidden.weight": values})))

# The same training with all products of NVFP4 from the first step on (the last layer stays in bf16, as the recipe says).

# %%
from_start = ulplab.train(net, data=x, labels=labels, recipe="nvfp4", steps=400, learning_rate=0.1)
print("loss %.3f, right %.1f %%" % (from_start.losses[-1], 100 * from_start.accuracy))

# The product of a Blackwell unit on the codes and scales themselves.

# %%
q, w = ulplab.quantize(unseen, "nvfp4"), ulplab.quantize(weight, "nvfp4")
d = ulplab.matmul(q.codes, w.codes.T, unit="sm_100:tcgen05.nvf4.e2m1.fp32", scales=(q.scales, w.scales.T))
d = d * numpy.float32(q.tensor_scale * w.tensor_scale)
print("product with both in nvfp4: %.1f dB" % snr(d, unseen @ weight.T))
