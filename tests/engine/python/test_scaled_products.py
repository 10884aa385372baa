"""Products with scales of blocks: of promoted sums, 1 x 128 and 128 x 128 in fp32 and UE8M0, and NVFP4's two levels; their
bounds, and who computed them.

ULPLAB_BLOCKS: how many elements are compared with their bounds (20,000)."""

import json
import os
import subprocess

import numpy
import pytest

import ulplab
from conftest import same_bits

HOPPER = "sm_90:wgmma.e4m3.fp32"
NVFP4 = "sm_100:tcgen05.nvf4.e2m1.fp32"
ELEMENTS = int(os.environ.get("ULPLAB_BLOCKS", 20_000))
f4 = numpy.float32


def quantised(m, k, seed, how="deepseek_1x128", **parts):
    """Lines of numbers whose binades differ from block to block."""
    rng = numpy.random.default_rng(seed)
    x = rng.standard_normal((m, k)) * numpy.exp2(rng.integers(-4, 5, (m, -(-k // 128))).repeat(128, 1)[:, :k])
    return ulplab.quantize(x.astype("f4"), how, **parts)


def in_the_written_order(a, b, sa, sb, block=128, unit=HOPPER, c=None):
    """Each promoted sum times the product of its scales, added: three operations of fp32."""
    total = numpy.zeros((a.shape[0], b.shape[1]), "f4") if c is None else c
    for p in range(-(-a.shape[1] // block)):
        part = slice(p * block, (p + 1) * block)
        sums = ulplab.matmul(a[:, part], b[part], unit=unit)
        total = total + sums * (sa[:, p:p + 1] * sb[p:p + 1])
    return total


def test_promoted_sums_are_multiplied_by_their_scales():
    for k in (128, 300, 512):
        x, w = quantised(9, k, 1), quantised(7, k, 2)
        a, b, sa, sb = x.elements, w.elements.T, x.scales, w.scales.T
        d = ulplab.matmul(a, b, unit=HOPPER, scales=(sa, sb))
        assert same_bits(d, in_the_written_order(a, b, sa, sb))
        c = numpy.random.default_rng(3).standard_normal(d.shape).astype("f4")
        assert same_bits(ulplab.matmul(a, b, c, unit=HOPPER, scales=(sa, sb)), in_the_written_order(a, b, sa, sb, c=c))
        assert same_bits(ulplab.matmul(a, b, unit=HOPPER, scales=(sa, None)),
                         in_the_written_order(a, b, sa, numpy.ones_like(sb)))
        assert same_bits(ulplab.matmul(x.codes, w.codes.T, unit=HOPPER, scales=(sa, sb)), d)
        batch = ulplab.matmul(numpy.stack([a, a]), b, unit=HOPPER, scales=(sa, sb))
        assert same_bits(batch[1].copy(), d)
    assert not same_bits(d, ulplab.matmul(ulplab.dequantize(x), ulplab.dequantize(w).T, unit=HOPPER, round=True))
    other = sum((ulplab.matmul(a[:, p * 128:p * 128 + 128], b[p * 128:p * 128 + 128], unit=HOPPER) * sa[:, p:p + 1])
                * sb[p:p + 1] for p in range(4))
    assert not same_bits(d, other)  # the scales one after the other
    x64 = ulplab.quantize(ulplab.dequantize(x), "deepseek_1x128", block="1x64")
    w64 = ulplab.quantize(ulplab.dequantize(w), "deepseek_1x128", block="1x64")
    assert same_bits(ulplab.matmul(x64.elements, w64.elements.T, unit=HOPPER, order={"promote": 64},
                                   scales=(x64.scales, w64.scales.T)),
                     in_the_written_order(x64.elements, w64.elements.T, x64.scales, w64.scales.T, 64))


def test_squares_and_ue8m0_codes(program, tmp_path):
    x = quantised(200, 256, 4, "deepseek_1x128_ue8m0")
    w = quantised(130, 256, 5, "deepseek_128x128_ue8m0")
    assert w.scales.shape == (2, 2)
    each = w.scales.repeat(128, 0)[:130].T
    expected = in_the_written_order(x.elements, w.elements.T, x.scales, each)
    for scales in ((x.scales, w.scales.T), (x.scale_codes, w.scale_codes.T), (x.scales, each)):
        assert same_bits(ulplab.matmul(x.elements, w.elements.T, unit=HOPPER, scales=scales), expected)
    numpy.save(tmp_path / "a.npy", x.codes)
    numpy.save(tmp_path / "b.npy", w.codes.T)
    numpy.save(tmp_path / "sa.npy", x.scale_codes)
    numpy.save(tmp_path / "sb.npy", w.scales.T)
    said = program("matmul", "--unit", HOPPER, tmp_path / "a.npy", tmp_path / "b.npy", "--out", tmp_path / "d.npy",
                   "--a-scales", tmp_path / "sa.npy", "--b-scales", tmp_path / "sb.npy")
    assert "scales of 128 k" in said
    assert same_bits(numpy.load(tmp_path / "d.npy"), expected)
    how = ("--unit", HOPPER, "--a", tmp_path / "a.npy", "--b", tmp_path / "b.npy", "--a-scales", tmp_path / "sa.npy",
           "--b-scales", tmp_path / "sb.npy", "--d", tmp_path / "d.npy", "--json")
    assert json.loads(program("bound", *how))["violations"] == 0
    explained = json.loads(program("explain", *how))
    assert explained["verdict"] == "explained" and "promoted every 128" in explained["candidates"][0]["order"]
    assert explained["candidates"][0]["unit"] == HOPPER
    # Without the scales D is another product, and its elements leave their bounds.
    with pytest.raises(subprocess.CalledProcessError) as refused:
        program("bound", *how[:6], *how[10:])
    assert refused.value.returncode == 1
    numpy.save(tmp_path / "sb.npy", w.scales)
    numpy.save(tmp_path / "sb.npy", numpy.ones((3, 2), "f4"))
    with pytest.raises(subprocess.CalledProcessError) as refused:
        program("bound", *how)
    assert refused.value.returncode == 3 and "blocks of 128 k have 2 x 130, and squares of them 2 x 2" in refused.value.stderr


def test_two_levels_of_nvfp4(program, tmp_path):
    rng = numpy.random.default_rng(6)
    x, w = (ulplab.quantize(rng.standard_normal((n, 192)).astype("f4") * 3, "nvfp4") for n in (5, 6))
    sums = ulplab.matmul(x.codes, w.codes.T, unit=NVFP4, scales=(x.scales, w.scales.T))
    expected = sums * (f4(x.tensor_scale) * f4(w.tensor_scale))
    both = ((x.scales, x.tensor_scale), (w.scales.T, w.tensor_scale))
    assert same_bits(ulplab.matmul(x.codes, w.codes.T, unit=NVFP4, scales=both), expected)
    exact = ulplab.dequantize(x).astype("f8") @ ulplab.dequantize(w).astype("f8").T
    assert numpy.abs(expected - exact).max() < 1e-5 * numpy.abs(exact).max()
    for name, array in (("a", x.codes), ("b", w.codes.T), ("sa", x.scale_codes), ("sb", w.scale_codes.T)):
        numpy.save(tmp_path / f"{name}.npy", array)
    alpha = f4(x.tensor_scale) * f4(w.tensor_scale)
    program("matmul", "--unit", NVFP4, tmp_path / "a.npy", tmp_path / "b.npy", "--out", tmp_path / "d.npy", "--a-scales",
            tmp_path / "sa.npy", "--b-scales", tmp_path / "sb.npy", "--alpha", repr(float(alpha)))
    assert same_bits(numpy.load(tmp_path / "d.npy"), expected)
    bounds = ulplab.bound(NVFP4, x.codes, w.codes.T, scales=both).bounds
    factors = x.elements.astype("f8") * x.scales.repeat(16, 1), w.elements.astype("f8") * w.scales.repeat(16, 1)
    assert (numpy.abs(expected - factors[0] @ factors[1].T * float(alpha)) <= bounds).all()
    with pytest.raises(ValueError, match="give one of the two"):
        ulplab.matmul(x.codes, w.codes.T, unit=NVFP4, scales=both, alpha=2.0)


def test_scales_that_do_not_fit_are_refused():
    a, b = numpy.ones((3, 256), "f4"), numpy.ones((256, 4), "f4")
    good = numpy.ones((3, 2), "f4"), numpy.ones((2, 4), "f4")
    for scales, why in (((good[0].T, good[1]), "the blocks are 3 x 2"), ((good[0], good[1].T), "the blocks are 2 x 4"),
                        ((numpy.full((3, 2), 0.1), good[1]), "is not a number of fp32")):
        with pytest.raises(ValueError, match=why):
            ulplab.matmul(a, b, unit=HOPPER, scales=scales)
    with pytest.raises(ValueError, match="one chain"):
        ulplab.matmul(a, b, unit=HOPPER, scales=good, order={"split_k": 2})
    with pytest.raises(ValueError, match="has no scales"):
        ulplab.matmul(a.astype("i1"), b.astype("i1"), unit="sm_90:wgmma.s8.s32", scales=good)
    for bad, why in ((-1.0, "scales have no sign"), (0.3, "is not a number of e4m3")):
        with pytest.raises(ValueError, match=why):
            ulplab.matmul(a, b, unit=NVFP4, scales=(numpy.full((3, 16), bad), None))
    with pytest.raises(ValueError, match="operands of up to 8 bits"):
        ulplab.bound("sm_90:wgmma.fp16.fp32", a, b, scales=good)


UNITS = (HOPPER, "sm_89:mma.e4m3.fp32", "sm_100:tcgen05.e4m3.fp32", NVFP4, "sm_120:mma.mxf4.e2m1.fp32",
         "sm_100:tcgen05.mxf8f6f4.e4m3.fp32")


@pytest.mark.parametrize("unit", UNITS)
def test_no_random_product_leaves_its_bound(unit, capsys):
    rng = numpy.random.default_rng(7)
    kind = ulplab.unit(unit)
    block_scaled = kind.kind == "block_scaled"
    compared, largest = 0, 0.0
    while compared < ELEMENTS / len(UNITS):
        m, n, k = 40, 50, int(rng.choice([1, 32, 64, 130, 256, 400]))
        codes = [rng.integers(0, 16 if "e2m1" in unit else 256, shape).astype("u1") for shape in ((m, k), (k, n))]
        if "e4m3" in unit and "e2m1" not in unit:
            for each in codes:
                each[(each & 127) == 127] = 1  # no NaN
                if rng.random() < 0.5:
                    each[rng.random(each.shape) < 0.7] &= 0x87  # mostly subnormal
        if rng.random() < 0.3:
            codes = [each & (7 if "e2m1" in unit else 127) for each in codes]  # of one sign
        width = int(rng.integers(1, 40))
        block = (16 if "nvf4" in unit else 32) if block_scaled else 128
        blocks = -(-k // block)
        scales = [numpy.exp2(rng.integers(-width, width, shape)) for shape in ((m, blocks), (blocks, n))]
        if not block_scaled:
            scales = [(s * rng.uniform(-2, 2, s.shape)).astype("f4") for s in scales]
        elif "nvf4" in unit:
            scales = [ulplab.encode(numpy.clip(s, 2.0**-9, 448), "e4m3") for s in scales]
        c = None if rng.random() < 0.5 else (rng.standard_normal((m, n)) * 2.0 ** int(rng.integers(-9, 9))).astype("f4")
        d = ulplab.matmul(*codes, c, unit=unit, scales=scales)
        answer = ulplab.bound(unit, *codes, c, d=d, scales=scales)
        assert answer.violations == 0
        largest = max(largest, answer.largest_ratio)
        compared += d.size
        finite = numpy.isfinite(answer.bounds)
        assert finite.mean() > 0.9
        off = d.copy()
        off[0, 0] += max(4 * answer.bounds[0, 0], abs(off[0, 0]) * 2.0**-20) if finite[0, 0] else 0
        assert not finite[0, 0] or ulplab.bound(unit, *codes, c, d=off, scales=scales).violations == 1
    with capsys.disabled():
        print(f"\n{unit}: {compared} elements, the largest error is {largest:.3f} of its bound", end="")
