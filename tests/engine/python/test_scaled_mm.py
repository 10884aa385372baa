"""torch._scaled_mm and torch.nn.functional.scaled_mm inside emulate: scales by tensor, row and block, as a card reads them."""

import copy
import importlib

import numpy
import pytest

torch = pytest.importorskip("torch")

import ulplab  # noqa: E402
import ulplab.torch  # noqa: E402
from torch.nn.functional import ScalingType, SwizzleType, scaled_mm  # noqa: E402

E4M3, E5M2, E8M0, FP4 = torch.float8_e4m3fn, torch.float8_e5m2, torch.float8_e8m0fnu, torch.float4_e2m1fn_x2
TILES = SwizzleType.SWIZZLE_32_4_4


def codes(*shape, seed=0):
    return torch.randint(0, 256, shape, dtype=torch.uint8, generator=torch.Generator().manual_seed(seed))


def numbers(*shape, type=E4M3, seed=0):
    """FP8 numbers of many sizes, with some that are zero and none that is NaN."""
    x = torch.randn(shape, generator=torch.Generator().manual_seed(seed))
    return (x * 2.0 ** (codes(*shape, seed=seed + 1).float() / 32 - 4)).to(type)


def in_tiles(scales):
    """Where cuBLAS expects each scale: number 16 (r mod 32) + 4 (r mod 128 / 32) + c mod 4 of the tile that holds row r and
    column c, tiles in the order of rows. What no element has is filled with a NaN's code."""
    rows, columns = scales.shape
    across = (columns + 3) // 4
    found = torch.full(((rows + 127) // 128 * across * 512,), 255, dtype=torch.uint8)
    for r in range(rows):
        for c in range(columns):
            found[(r // 128 * across + c // 4) * 512 + r % 32 * 16 + r % 128 // 32 * 4 + c % 4] = scales[r, c]
    return found


def bits_of(product, unit="h100", **options):
    with ulplab.torch.emulate(unit, **options) as run:
        d = product()
    assert int(run.report().products) == 1 and not run.report().not_emulated
    return d, run.report().path


@pytest.mark.parametrize("gpu, row", [("b200", "sm_100:tcgen05.mxf8f6f4.e4m3.fp32"), ("rtx5090", "sm_120:mma.mxf8f6f4.e4m3.fp32")])
def test_mxfp8_scales_lie_in_tiles(gpu, row):
    a, b = numbers(160, 160), numbers(144, 160, seed=3)
    sa, sb = codes(160, 5) // 16 + 119, codes(144, 5, seed=1) // 16 + 119
    expected = ulplab.matmul(a.float().numpy(), b.float().numpy().T, unit=row, scales=(sa.numpy(), sb.numpy().T))
    tiles = in_tiles(sa).view(E8M0), in_tiles(sb).view(E8M0)
    d, path = bits_of(lambda: torch._scaled_mm(a, b.t(), *tiles, out_dtype=torch.float32), gpu)
    assert numpy.array_equal(d.numpy(), expected) and path == "1 in " + row
    block = ScalingType.BlockWise1x32
    d, _ = bits_of(lambda: scaled_mm(a, b.t(), tiles[0], block, tiles[1], block, TILES, TILES, output_dtype=torch.float32), gpu)
    assert numpy.array_equal(d.numpy(), expected)
    exact = (a.double() * 2.0 ** (sa.double() - 127).repeat_interleave(32, 1)) @ (
        b.double() * 2.0 ** (sb.double() - 127).repeat_interleave(32, 1)).t()
    assert (d - exact).abs().max() <= 1e-4 * exact.abs().max()


@pytest.mark.parametrize("globals_", [None, (0.3, 7.0)])
def test_nvfp4_has_packed_elements_and_two_levels_of_scales(globals_):
    a, b, sa, sb = codes(48, 64), codes(32, 64, seed=1), codes(48, 8) % 127, codes(32, 8, seed=1) % 127
    tiles = [in_tiles(s).view(E4M3) for s in (sa, sb)]
    factors = [s.numpy() if globals_ is None else (s.numpy(), g) for s, g in zip((sa, sb.t()), globals_ or (0, 0))]
    row = "sm_100:tcgen05.nvf4.e2m1.fp32"
    expected = torch.from_numpy(ulplab.matmul(a.numpy(), b.numpy().T, unit=row, scales=tuple(factors), packed=True))
    types = ScalingType.BlockWise1x16 if globals_ is None else [ScalingType.BlockWise1x16, ScalingType.TensorWise]
    given = tiles if globals_ is None else [[s, torch.tensor(g)] for s, g in zip(tiles, globals_)]
    d, path = bits_of(lambda: scaled_mm(a.view(FP4), b.view(FP4).t(), given[0], types, given[1], types, TILES, TILES), "b200")
    assert torch.equal(d, expected.bfloat16()) and path == "1 in " + row and d.isfinite().all()
    if globals_ is None:
        d, _ = bits_of(lambda: torch._scaled_mm(a.view(FP4), b.view(FP4).t(), *tiles, out_dtype=torch.bfloat16), "b200")
        assert torch.equal(d, expected.bfloat16())


def test_fp32_scales_of_128_enter_at_each_promotion():
    a, b = numbers(160, 384), numbers(144, 384, seed=3)
    line, square = torch.rand(160, 3) + 0.5, torch.rand(2, 3) + 0.5
    row = "sm_90:wgmma.e4m3.fp32"
    for first, second in ((line, square), (square, torch.rand(144, 3)), (line, torch.rand(144, 3))):
        expected = ulplab.matmul(a.float().numpy(), b.float().numpy().T, unit=row, order=ulplab.Order(promote=128),
                                 scales=(first.numpy(), second.numpy().T))
        kinds = [ScalingType.BlockWise128x128 if s.shape[0] == 2 else ScalingType.BlockWise1x128 for s in (first, second)]
        for product in (lambda: torch._scaled_mm(a, b.t(), first, second.t(), out_dtype=torch.float32),
                        lambda: scaled_mm(a, b.t(), first, kinds[0], second.t(), kinds[1], output_dtype=torch.float32)):
            d, path = bits_of(product)
            assert numpy.array_equal(d.numpy(), expected) and path == f"1 in {row}, promoted every 128"
            with pytest.raises(ValueError, match="every 128 of k; the order says promote=64"):
                bits_of(product, order=ulplab.Order(promote=64))


def test_rows_scales_and_a_bias_are_an_epilogue_in_fp32():
    a, b, bias = numbers(32, 64, type=E5M2), numbers(48, 64), torch.randn(48).bfloat16()
    sa, sb = torch.rand(32, 1), torch.rand(1, 48)
    sums = ulplab.matmul(a.float().numpy(), b.float().numpy().T, unit="sm_90:wgmma.e5m2_e4m3.fp32")
    expected = (torch.from_numpy(sums) * sa * sb + bias.float()).bfloat16()
    assert torch.equal(bits_of(lambda: torch._scaled_mm(a, b.t(), sa, sb, bias=bias, out_dtype=torch.bfloat16))[0], expected)
    row = ScalingType.RowWise
    assert torch.equal(bits_of(lambda: scaled_mm(a, b.t(), sa, row, sb, row, bias=bias))[0], expected)


def test_without_fast_accumulation_hopper_promotes_its_partial_sums():
    a, b, one = numbers(16, 4096), numbers(16, 4096, seed=3), torch.tensor(1.0)
    found = {}
    for fast, order in ((False, ulplab.Order(promote=128)), (True, None)):
        d, path = bits_of(lambda fast=fast: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.float32, use_fast_accum=fast))
        expected = ulplab.matmul(a.float().numpy(), b.float().numpy().T, unit="sm_90:wgmma.e4m3.fp32", order=order)
        assert numpy.array_equal(d.numpy(), expected) and path.endswith("promoted every 128") is not fast
        found[fast] = d
    assert not torch.equal(found[False], found[True])
    split = ulplab.Order(split_k=4)
    d, _ = bits_of(lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.float32), order=split)
    assert numpy.array_equal(d.numpy(), ulplab.matmul(a.float().numpy(), b.float().numpy().T, unit="sm_90:wgmma.e4m3.fp32",
                                                      order=split))
    d, path = bits_of(lambda: torch._scaled_mm(a, b.t(), one, one, out_dtype=torch.float32), "b200")
    assert path == "1 in sm_100:tcgen05.e4m3.fp32"


@pytest.mark.parametrize("of", ["rows", "columns", "k", "matrices"])
def test_a_grouped_product_is_one_for_each_group(of):
    extents = {"rows": ((48, 64), (3, 64, 32)), "columns": ((3, 16, 64), (64, 64)), "k": ((16, 96), (96, 32)),
               "matrices": ((3, 16, 64), (3, 64, 32))}[of]
    a, b = numbers(*extents[0]), numbers(*extents[1], seed=3)
    ends = {"rows": [16, 16, 40], "columns": [16, 16, 64], "k": [32, 48, 96], "matrices": None}[of]
    sa = torch.rand({"rows": (48,), "k": (48,)}.get(of, (3, 16))) + 0.5
    sb = torch.rand({"columns": (64,), "k": (96,)}.get(of, (3, 32))) + 0.5
    offs = None if ends is None else torch.tensor(ends, dtype=torch.int32)
    found = {}
    with ulplab.torch.emulate("h100") as run:
        found["v1"] = torch._scaled_grouped_mm(a, b, sa, sb, offs=offs, out_dtype=torch.bfloat16)
        row = ScalingType.RowWise
        found["v2"] = torch.nn.functional.scaled_grouped_mm(a, b, sa, row, sb, row, offs=offs)
    assert int(run.report().products) == 2 * (2 if of in ("rows", "columns") else 3)
    with ulplab.torch.emulate("h100"):
        for i in range(3):
            s = slice(ends[i - 1] if i else 0, ends[i]) if ends else None
            x = {"rows": lambda: a[s], "k": lambda: a[:, s]}.get(of, lambda: a[i])()
            y = {"columns": lambda: b[:, s], "k": lambda: b[s]}.get(of, lambda: b[i])()
            if x.numel() == 0 or y.numel() == 0:
                continue
            fa = {"rows": lambda: sa[s], "k": lambda: sa.reshape(3, 16)[i]}.get(of, lambda: sa[i])()
            fb = {"columns": lambda: sb[s], "k": lambda: sb.reshape(3, 32)[i]}.get(of, lambda: sb[i])()
            expected = torch._scaled_mm(x, y, fa[:, None], fb[None], out_dtype=torch.bfloat16)
            for d in found.values():
                part = d[s] if of == "rows" else d[:, s] if of == "columns" else d[i]
                assert torch.equal(part, expected)
    assert of != "rows" or (found["v1"][40:] == 0).all()


def test_a_result_in_float8_saturates():
    a, b = torch.full((16, 16), 448.0).to(E4M3), torch.full((16, 16), 448.0).to(E4M3)
    one, small = torch.tensor(1.0), torch.tensor(2.0**-13)
    assert (bits_of(lambda: torch._scaled_mm(a, b, one, one, out_dtype=E4M3))[0].float() == 448).all()
    assert (bits_of(lambda: torch._scaled_mm(a, b, one, one, scale_result=small))[0].float() == 384).all()  # 392 rounded


def test_a_module_has_its_own_unit():
    class Product(torch.nn.Module):
        def forward(self, x):
            return torch._scaled_mm(x, x.t(), torch.tensor(1.0), torch.tensor(1.0), out_dtype=torch.bfloat16).float().to(E4M3)

    with ulplab.torch.emulate("h100", modules={"1": {"unit": "b200"}, "2": {"unit": "sm_90:mma.e4m3.fp32"}}) as run:
        torch.nn.Sequential(Product(), Product(), Product())(numbers(16, 16))
    assert dict(run.ways()) == {"sm_90:wgmma.e4m3.fp32, promoted every 128": 1, "sm_100:tcgen05.e4m3.fp32": 1,
                                "sm_90:mma.e4m3.fp32, promoted every 128": 1}


@pytest.mark.parametrize("gpu, product, message", [
    ("b200", lambda a, s: torch._scaled_mm(a, a.t(), torch.ones(1024).to(E8M0), torch.tensor(1.0)), "BlockWise1x32 and TensorWise"),
    ("b200", lambda a, s: torch._scaled_mm(a, a.t(), torch.ones(4), torch.ones(4)), "fits none of TensorWise"),
    ("h100", lambda a, s: torch._scaled_mm(a, a.t(), torch.ones(1024).to(E8M0), torch.ones(1024).to(E8M0)), "choose b200"),
    ("a100", lambda a, s: torch._scaled_mm(a, a.t(), s, s), "a100 multiplies no e4m3 by e4m3"),
    ("ieee", lambda a, s: torch._scaled_mm(a, a.t(), s, s), "ieee multiplies no e4m3 by e4m3"),
    ("b200", lambda a, s: torch._scaled_mm(a, a.t(), torch.ones(64, 2), torch.ones(2, 64)), "choose h100"),
    ("h100", lambda a, s: torch._scaled_mm(a[:, :8], a[:, :8].t(), s, s), "multiples of 16"),
    ("h100", lambda a, s: torch._scaled_mm(a.float().to(E5M2), a.float().to(E5M2).t(), s, s), "two float8_e5m2"),
    ("h100", lambda a, s: torch._scaled_mm(a.float(), a.float().t(), s, s), "float8 and float4_e2m1fn_x2"),
    ("b200", lambda a, s: scaled_mm(a, a.t(), torch.ones(1024).to(E8M0), ScalingType.BlockWise1x32, torch.ones(1024).to(E8M0),
                                    ScalingType.BlockWise1x32), "give swizzle_a"),
    ("b200", lambda a, s: torch._scaled_mm(codes(64, 128).view(FP4), a.t(), *[torch.ones(1024).to(E8M0)] * 2), "quantise both"),
    ("h100", lambda a, s: scaled_mm(a, a.t(), s, ScalingType.RowWise, s, ScalingType.RowWise), "which is not RowWise"),
    ("h100", lambda a, s: scaled_mm(a, a.t(), [s, s], [ScalingType.TensorWise] * 2, s, ScalingType.TensorWise), "NVFP4 alone"),
])
def test_what_a_card_refuses_is_refused(gpu, product, message):
    with ulplab.torch.emulate(gpu), pytest.raises(ValueError, match=message):
        product(numbers(64, 256), torch.tensor(1.0))


def test_float8_training_of_torchao_multiplies_in_the_units_rows():
    float8 = pytest.importorskip("torchao.float8")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128, bias=False), torch.nn.GELU(), torch.nn.Linear(128, 32, bias=False))
    model = float8.convert_to_float8_training(model.bfloat16())
    with ulplab.torch.emulate("h100") as run:
        y = model(torch.randn(48, 64).bfloat16())
        y.float().square().mean().backward()
    counts = {path: dict(each.products) for path, each in run.rounding.modules.items() if each.products}
    assert counts == dict.fromkeys(("0", "2"), {"forward": 1, "input gradient": 1, "weight gradient": 1})
    assert dict(run.ways()) == {"sm_90:wgmma.e4m3.fp32": 2, "sm_90:wgmma.e5m2_e4m3.fp32, promoted every 128": 4}


def test_mxfp8_inference_of_torchao_is_the_product_of_its_blocks():
    formats = pytest.importorskip("torchao.prototype.mx_formats")
    quantization = importlib.import_module("torchao.quantization")
    emulated = importlib.import_module("torchao.quantization.quantize_.common.kernel_preference").KernelPreference.EMULATED
    torch.manual_seed(0)
    layer, x = torch.nn.Sequential(torch.nn.Linear(160, 144, bias=False)).bfloat16(), torch.randn(160, 160).bfloat16()  # 5 scales a line: padded to 8
    both = []
    for options in ({}, {"kernel_preference": emulated}):
        both.append(copy.deepcopy(layer))
        quantization.quantize_(both[-1], formats.MXDynamicActivationMXWeightConfig(**options))
    d, path = bits_of(lambda: both[0](x), "b200")
    wide = both[1](x).double()
    assert path == "1 in sm_100:tcgen05.mxf8f6f4.e4m3.fp32"
    assert ((d - wide).abs() <= 2.0**-7 * wide.abs() + 2.0**-12).all()  # two roundings to bf16 of sums in two orders
