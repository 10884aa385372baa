"""Reference results of layers and losses, computed in float64 by PyTorch, against emulate("ieee") in fp32."""

import json

import numpy
import pytest

torch = pytest.importorskip("torch")

import ulplab.torch  # noqa: E402
from conftest import SHARED  # noqa: E402
from torch import nn  # noqa: E402


def conv(kind):
    def make(case, a):
        options = {name: case[name] for name in ("stride", "padding", "dilation", "groups") if name in case}
        w = a["weight"].shape
        transposed = kind is nn.ConvTranspose2d
        channels = w[:2] if transposed else (w[1] * options.get("groups", 1), w[0])
        return kind(*channels, case["kernel"], **options)
    return make


def attention(case, a):
    layer = nn.MultiheadAttention(a["x"].shape[-1], case["heads"], batch_first=True)
    time = a["x"].shape[1]
    mask = torch.ones(time, time).triu(1).bool() if case["causal"] else None
    return layer, lambda x: layer(x, x, x, attn_mask=mask)[0]


def recurrent(kind):
    def make(case, a):
        layer = kind(a["x"].shape[-1], a["out"].shape[-1])
        return layer, lambda x: layer(x)[0]
    return make


LAYERS = {
    "linear": lambda case, a: nn.Linear(*reversed(a["weight"].shape)),
    **{name: conv(nn.Conv2d) for name in ("conv2d", "conv2d_stride2", "conv2d_grouped", "conv2d_dilated")},
    "conv1d_dilated": conv(nn.Conv1d), "conv_transpose2d": conv(nn.ConvTranspose2d),
    "maxpool2d": lambda case, a: nn.MaxPool2d(case["kernel"]), "avgpool2d": lambda case, a: nn.AvgPool2d(case["kernel"]),
    "batchnorm2d_train": lambda case, a: nn.BatchNorm2d(len(a["weight"])),
    "layernorm": lambda case, a: nn.LayerNorm(len(a["weight"])),
    "groupnorm": lambda case, a: nn.GroupNorm(case["groups"], len(a["weight"])),
    "embedding": lambda case, a: nn.Embedding(*a["weight"].shape),
    "attention": attention, "attention_causal": attention, "lstm": recurrent(nn.LSTM), "gru": recurrent(nn.GRU),
    "activation_relu": lambda case, a: nn.ReLU(), "activation_gelu": lambda case, a: nn.GELU(),
    "activation_leaky_relu": lambda case, a: nn.LeakyReLU(0.2),
    "activation_sigmoid": lambda case, a: nn.Sigmoid(), "activation_tanh": lambda case, a: nn.Tanh(),
    "activation_softmax": lambda case, a: nn.Softmax(-1),
    "activation_log_softmax": lambda case, a: nn.LogSoftmax(-1)}
LOSSES = {"loss_mse": nn.MSELoss(), "loss_bce_with_logits": nn.BCEWithLogitsLoss(),
          "loss_cross_entropy": nn.CrossEntropyLoss(),
          "loss_ctc": lambda x, *others: nn.CTCLoss()(x.log_softmax(-1), *others)}

pytestmark = pytest.mark.skipif(SHARED is None or not (SHARED / "golden").exists(),
                                reason="skipped: no golden layers; emulation has tests without them, too")


def read(name):
    folder = SHARED / "golden" / name
    arrays = {file.stem: torch.from_numpy(numpy.load(file)) for file in folder.glob("*.npy")}
    return json.loads((folder / "case.json").read_text()), {
        key: x.float() if x.is_floating_point() else x for key, x in arrays.items()}


def near(found, expected, what):
    # fp32 sums of up to some hundred terms, relative to the largest entry
    assert (found.detach() - expected).abs().max() <= 1e-5 * expected.abs().max(), what


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name):
    case, a = read(name)
    made = LAYERS[name](case, a)
    layer, call = made if isinstance(made, tuple) else (made, made)
    with torch.no_grad():
        for key, parameter in layer.named_parameters():
            parameter.copy_(a[key.replace(".", "_")])
    x = a["x"].requires_grad_() if a["x"].is_floating_point() else a["x"]
    with ulplab.torch.emulate("ieee", "fp32"):
        y = call(x)
        y.backward(a["cotangent"])
    near(y, a["out"], "out")
    if x.is_floating_point():
        near(x.grad, a["grad_x"], "x")
    for key, parameter in layer.named_parameters():
        near(parameter.grad, a["grad_" + key.replace(".", "_")], key)


@pytest.mark.parametrize("name", LOSSES)
def test_losses(name):
    _, a = read(name)
    x = a["x"].requires_grad_()
    more = (a["input_lengths"], a["target_lengths"]) if name == "loss_ctc" else ()
    with ulplab.torch.emulate("ieee", "fp32"):
        loss = LOSSES[name](x, a["y"], *more)
        loss.backward()
    near(loss, a["loss"].reshape(()), "loss")
    near(x.grad, a["grad_x"], "x")
