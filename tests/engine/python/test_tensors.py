"""Tensors of PyTorch's narrow types through the functions of numbers: casts, kinds, gradients."""

import numpy
import pytest
import torch

import ulplab
from conftest import beside_midpoints

# PyTorch 2.3 and newer have the words, 2.1 FP8, later ones the rest.
TYPES = [name for name in ("bfloat16", "float16", "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz",
                           "float8_e8m0fnu") if hasattr(torch, name)]


@pytest.mark.parametrize("name", TYPES)
def test_casts_are_those_of_pytorch(name, capsys):
    kind = getattr(torch, name)
    x = torch.from_numpy(beside_midpoints(name, "f4"))
    if name == "float8_e8m0fnu":  # PyTorch takes magnitudes, and zero for the smallest
        x = x[x >= 2.0**-126]
    theirs = x.to(kind)
    saturates = bool(torch.isfinite(torch.tensor(torch.inf).to(kind).float()))  # float8_e4m3fn since PyTorch 2.13, say
    ours = torch.from_numpy(ulplab.encode(x.numpy(), kind, saturate=saturates))
    word = torch.int16 if ours.dtype == torch.uint16 else torch.uint8
    a, b = theirs.view(word), ours.view(word)
    nan = torch.isnan(theirs.float()) & torch.isnan(torch.from_numpy(ulplab.decode(ours.numpy(), name)).float())
    wrong = (a != b) & ~nan
    assert not wrong.any(), (x[wrong][:4], a[wrong][:4], b[wrong][:4])
    with capsys.disabled():
        print(f"\n{name}: {x.numel()} casts", end="")


def test_the_kind_that_goes_in_comes_out():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="skipped: no ml_dtypes")
    assert ml_dtypes
    for name in TYPES:
        x = torch.tensor([0.5, 1.0, 4.0]).to(getattr(torch, name))
        assert ulplab.round(x, name).dtype == x.dtype and torch.equal(ulplab.round(x, name).float(), x.float())
        assert ulplab.decode(ulplab.encode(x, name), name).tolist() == [0.5, 1, 4]
        if name != "float8_e8m0fnu":
            assert ulplab.multiply(x, x).dtype == x.dtype and ulplab.multiply(x, x).float().tolist() == [0.25, 1, 16]
    if hasattr(torch, "float4_e2m1fn_x2"):
        pairs = torch.tensor([0x73, 0x22], dtype=torch.uint8)
        x = pairs.view(torch.float4_e2m1fn_x2)
        rounded = ulplab.round(x, "e2m1")
        assert rounded.dtype == x.dtype and torch.equal(rounded.view(torch.uint8), pairs)
        assert ulplab.decode(pairs, x.dtype).tolist() == ulplab.round(x, "fp32").tolist() == [1.5, 6, 1, 1]


def test_gradients_pass_straight_through_round():
    x = torch.tensor([0.1, 3.3, 1000.0], requires_grad=True)
    y = ulplab.round(x, "e4m3", saturate=True)
    assert y.requires_grad and y.tolist() == ulplab.round(x.detach(), "e4m3", saturate=True).tolist()
    (y * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert x.grad.tolist() == [1, 2, 3]
    with torch.no_grad():
        assert not ulplab.round(x, "e4m3").requires_grad


def test_arrays_of_others_come_through_dlpack():
    class Array:
        def __init__(self, tensor):
            self.__dlpack__, self.__dlpack_device__ = tensor.__dlpack__, tensor.__dlpack_device__

    for kind in (torch.float32, torch.bfloat16, torch.float16):
        x = torch.tensor([0.5, 1.5], dtype=kind)
        assert ulplab.encode(Array(x), "fp16").tolist() == [0x3800, 0x3E00]
        assert ulplab.round(Array(x), "e4m3").astype("f4").tolist() == [0.5, 1.5]
