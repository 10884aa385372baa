"""Every rule of `quantize` against the packages that have it, and against its formula written anew in NumPy with
ml_dtypes' roundings: on blocks whose largest magnitude lies on, just below and just above the rule's thresholds.

ULPLAB_BLOCKS: how many blocks of each rule (20,000); ULPLAB_TABLE: a file for the table of docs/quantize.md."""

import importlib.metadata
import os
import re

import ml_dtypes
import numpy
import pytest

import ulplab
from peers import MX_ELEMENTS, mx_quantized

BLOCKS = int(os.environ.get("ULPLAB_BLOCKS", 20_000))
f4 = numpy.float32
FP8, E5M2, FP4 = ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn
LARGEST = {FP8: 448, E5M2: 57344, FP4: 6, ml_dtypes.float6_e3m2fn: 28, ml_dtypes.float6_e2m3fn: 7.5}
FLT_MAX = numpy.finfo(f4).max
TABLE = {}  # (rule, package with its version) -> [blocks, of which other scales, elements, of which others]


@pytest.fixture(scope="module", autouse=True)
def table():
    yield
    if os.environ.get("ULPLAB_TABLE"):
        with open(os.environ["ULPLAB_TABLE"], "w") as file:
            file.write("| rule | compared with | blocks | other scales | elements | other elements |\n")
            file.write("|---|---|---|---|---|---|\n")
            for (rule, package), counts in TABLE.items():
                file.write(f"| `{rule}` | {package} | " + " | ".join(f"{n:,}" for n in counts) + " |\n")


def package(name):
    return f"{name} {importlib.metadata.version(name)}"


def batches(width, thresholds, seed, **how):
    """BLOCKS blocks, in arrays that need little memory."""
    for first in range(0, BLOCKS, 20_000):
        yield blocks(width, thresholds, [seed, first], min(20_000, BLOCKS - first), **how)


def blocks(width, thresholds, seed, count, exponents=(-20, 20), element=FP8):
    """count blocks. Their largest magnitudes: each threshold's significand and its two neighbours in turn, every fourth
    a random one, times powers of two. The other numbers: random, half of them close to the middles of the elements' numbers."""
    rng = numpy.random.default_rng(seed)
    on = numpy.array(thresholds, f4)
    on = numpy.concatenate([on, numpy.nextafter(on, f4(0)), numpy.nextafter(on, f4(9e9))])
    at = numpy.arange(count)
    amax = numpy.where(at % 4 < 3, on[(at // 4 * 3 + at % 4) % on.size], rng.uniform(1, 2, count).astype(f4))
    amax = numpy.ldexp(amax, rng.integers(*exponents, count)).astype(f4)
    x = (amax[:, None] * rng.uniform(-1, 1, (count, width))).astype(f4)
    grid = numpy.arange(256 if element is not FP4 else 16, dtype="u1").view(element).astype(f4)
    grid = numpy.unique(numpy.abs(grid[numpy.isfinite(grid)]))
    middles = (grid[1:] + grid[:-1]) / 2
    near = numpy.ldexp(middles[rng.integers(0, middles.size, x.shape)],
                       (numpy.frexp(amax)[1] - 1 - int(numpy.log2(grid[-1])))[:, None]).astype(f4)
    near = numpy.nextafter(near, (near * rng.choice(numpy.array([0, 1, 2], f4), x.shape)).astype(f4))
    x = numpy.where((rng.random(x.shape) < 0.5) & (near < amax[:, None]), near * numpy.sign(x), x)
    x[numpy.arange(count), rng.integers(0, width, count)] = amax * rng.choice(numpy.array([-1, 1], f4), count)
    return x


def compared(rule, where, scales, elements, other_scales, other_elements):
    """Counts differences into the table, batch by batch; returns this batch's."""
    scales, elements = numpy.asarray(scales, f4).reshape(-1), numpy.asarray(elements, f4)
    differ = (int((scales != numpy.asarray(other_scales, f4).reshape(-1)).sum()),
              int((elements != numpy.asarray(other_elements, f4).reshape(elements.shape)).sum()))
    counts = [scales.size, differ[0], elements.size, differ[1]]
    TABLE[rule, where] = [a + b for a, b in zip(TABLE.get((rule, where), [0] * 4), counts)]
    return differ


def cast(x, dtype):
    return numpy.clip(x, -LARGEST[dtype], LARGEST[dtype]).astype(dtype).astype(f4)


def up(x):
    """The power of two not below a normal number."""
    word = numpy.asarray(x, f4).view("u4")
    return (((word >> 23) + ((word & 0x7FFFFF) != 0)) << 23).astype("u4").view(f4)


def down(x):
    return (numpy.asarray(x, f4).view("u4") >> 23 << 23).view(f4)


def amax_of(x):
    return numpy.abs(x).max(-1, keepdims=True)


# Each rule from its source (docs/reference/quantizations.md): decoding scales and elements.

def mx(x, dtype, mode):
    amax, fraction_bits = amax_of(x), {FP8: 3, FP4: 1}[dtype]
    if mode == "even":
        amax = (amax.view("u4") + (1 << (22 - fraction_bits))).view(f4)
    power = down(amax) if mode != "ceil" else up(amax)
    scale = up(amax * f4(1 / LARGEST[dtype])) if mode == "rceil" else power / down(f4(LARGEST[dtype]))
    return scale, cast(x / scale, dtype)


def nvfp4(x, order="paper", scale_max=448.0, error=None):
    factor = min(f4(6 * scale_max) / numpy.abs(x).max(), FLT_MAX)
    amax = amax_of(x)
    base = amax * (factor * f4(1 / 6)) if order == "te" else amax / f4(6) * factor

    def made(base):
        scale = numpy.minimum(base, f4(448)).astype(FP8).astype(f4)
        decode = scale * (f4(1) / factor)
        with numpy.errstate(divide="ignore", over="ignore", invalid="ignore"):
            elements = numpy.where(scale == 0, f4(0), cast(x * numpy.minimum(f4(1) / decode, FLT_MAX), FP4))
        missed = numpy.abs(elements * decode - x)
        if error == "max":
            return scale, elements, missed.max(-1, keepdims=True)
        total = numpy.zeros_like(amax)
        for i in range(x.shape[1]):  # in fp32, by index
            total = total + (missed[:, i:i + 1] if error == "mae" else missed[:, i:i + 1] * missed[:, i:i + 1])
        return scale, elements, total

    six, four = made(base), made(f4(1.5) * base)
    if error is None:
        return six[:2]
    return tuple(numpy.where(four[2] < six[2], b, a) for a, b in zip(six[:2], four[:2]))


def deepseek(x, how, dtype=FP8):
    scale = numpy.maximum(amax_of(x), f4(1e-4)) / f4(LARGEST[dtype])
    if how == "ue8m0":
        scale = up(scale)
    scaled = x / scale if how == "divide" else x * (f4(1) / scale)
    if dtype is not FP4:
        return scale, cast(scaled, dtype)
    numbers = numpy.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], f4)
    code = sum((numpy.abs(scaled) > edge).astype(int) for edge in (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5))
    return scale, numpy.sign(x) * numbers[code]


def encoded(x, dtype, power=False, floor=None):
    """enc = M / amax."""
    amax = amax_of(x)
    enc = (f4(LARGEST[dtype]) / amax if floor is None else
           (LARGEST[dtype] / numpy.maximum(amax.astype("f8"), floor)).astype(f4))
    enc = down(enc) if power else enc
    return f4(1) / enc, cast(x * enc, dtype)


POWERS = [1.0, 1.25, 1.5, 1.75, 1.875, 1.9375, 448 / 256]
SCALES = [float(s) * 6 / 2 ** k for k in (5, 6) for s in range(33, 64, 2)]  # of NVFP4: the middles between E4M3 scales
RULES = {
    "mxfp8_ceil": (32, POWERS, lambda x: mx(x, FP8, "ceil")),
    "mxfp4_ceil": (32, POWERS, lambda x: mx(x, FP4, "ceil")),
    "mxfp8_even": (32, POWERS, lambda x: mx(x, FP8, "even")),
    "mxfp4_even": (32, POWERS, lambda x: mx(x, FP4, "even")),
    "mxfp8_nv": (32, POWERS, lambda x: mx(x, FP8, "rceil")),
    "mxfp4_nv": (32, POWERS, lambda x: mx(x, FP4, "rceil")),
    "mxfp8_rceil": (32, POWERS, lambda x: mx(x, FP8, "rceil")),
    "mxfp4_rceil": (32, POWERS, lambda x: mx(x, FP4, "rceil")),
    "nvfp4": (16, SCALES, nvfp4),
    "nvfp4_te": (16, SCALES, lambda x: nvfp4(x, "te")),
    "nvfp4_4over6": (16, SCALES, lambda x: nvfp4(x, "paper", 256, "mse")),
    "nvfp4_4over6_mae": (16, SCALES, lambda x: nvfp4(x, "paper", 256, "mae")),
    "nvfp4_4over6_max": (16, SCALES, lambda x: nvfp4(x, "paper", 256, "max")),
    "nvfp4_4over6_448": (16, SCALES, lambda x: nvfp4(x, "paper", 448, "mse")),
    "te_block_1x128": (128, POWERS, lambda x: encoded(x, FP8, True)),
    "deepseek_1x128": (128, POWERS, lambda x: deepseek(x, "divide")),
    "deepseek_1x128_ue8m0": (128, POWERS, lambda x: deepseek(x, "ue8m0")),
    "deepgemm_1x128": (128, POWERS, lambda x: deepseek(x, "multiply")),
    "deepseek_v4_mxfp4": (32, POWERS, lambda x: deepseek(x, "ue8m0", FP4)),
    "ao_rowwise": (64, POWERS, lambda x: encoded(x, FP8, True, 1e-12)),
    "ao_rowwise_fp32": (64, POWERS, lambda x: encoded(x, FP8, False, 1e-12)),
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_is_its_formula(rule):
    width, thresholds, formula = RULES[rule]
    for x in batches(width, thresholds, 1, exponents=(-3, 3) if "nvfp4" in rule else (-20, 20),
                     element=FP4 if "fp4" in rule else FP8):
        if "nvfp4" in rule:  # a largest number for which S is a power of two: the scales' thresholds are met
            x[0, 0] = 96 if "4over6" in rule and "448" not in rule else 84
        q = ulplab.quantize(x, rule)
        assert compared(rule, f"its formula, {package('ml_dtypes')}", q.scales, q.elements, *formula(x)) == (0, 0)
        assert (ulplab.decode(q.codes, q.element_format) == q.elements).all()
        if rule == "nvfp4":  # the comparison sees another rule
            assert compared(rule, "the control", q.scales, q.elements, *nvfp4(x, scale_max=256))[0] > 0
            del TABLE[rule, "the control"]


def test_whole_tensors_and_squares():
    """28 tensors, which are the squares of another one, for each 20,000 blocks."""
    for first in range(0, BLOCKS, 20_000):
        squares = blocks(128 * 128, POWERS, [2, first], 28, (-4, 4))
        for rule, formula in (("te_current", lambda t: encoded(t, FP8)), ("te_current_e5m2", lambda t: encoded(t, E5M2)),
                              ("ao_tensorwise", lambda t: encoded(t, FP8, False, 1e-12)),
                              ("ao_tensorwise_e5m2", lambda t: encoded(t, E5M2, False, 1e-12)),
                              ("ao_tensorwise_power", lambda t: encoded(t, FP8, True, 1e-12))):
            for x in squares:
                q = ulplab.quantize(x.reshape(128, 128), rule)
                assert compared(rule, f"its formula, {package('ml_dtypes')}", q.scales, q.elements, *formula(x)) == (0, 0)
        x = squares.reshape(4, 7, 128, 128).transpose(0, 2, 1, 3).reshape(512, 896)
        for rule, formula in (("te_block_128x128", lambda t: encoded(t, FP8, True)),
                              ("deepseek_128x128", lambda t: deepseek(t, "divide")),
                              ("deepseek_128x128_ue8m0", lambda t: deepseek(t, "ue8m0")),
                              ("deepgemm_128x128", lambda t: deepseek(t, "multiply"))):
            q = ulplab.quantize(x, rule)
            elements = q.elements.reshape(4, 128, 7, 128).transpose(0, 2, 1, 3).reshape(28, -1)
            assert compared(rule, f"its formula, {package('ml_dtypes')}", q.scales, elements, *formula(squares)) == (0, 0)


@pytest.mark.parametrize("rule", MX_ELEMENTS)
def test_mx_as_microxcaling_computes_it(rule):
    for x in batches(32, POWERS, 3):
        q = ulplab.quantize(x, rule)
        expected = mx_quantized(x, 32, *MX_ELEMENTS[rule])
        scale = down(amax_of(x)) / f4(2.0 ** MX_ELEMENTS[rule][0])
        assert compared(rule, "microxcaling's formula", q.scales, ulplab.dequantize(q), scale, expected) == (0, 0)


@pytest.mark.parametrize("rule", MX_ELEMENTS)
def test_mx_as_gfloat_computes_it(rule):
    gfloat = pytest.importorskip("gfloat", reason="skipped: no gfloat")
    from gfloat import formats as f
    block = {"mxfp8": f.format_info_ocp_e4m3, "mxfp8_e5m2": f.format_info_ocp_e5m2, "mxfp6_e3m2": f.format_info_ocp_e3m2,
             "mxfp6_e2m3": f.format_info_ocp_e2m3, "mxfp4": f.format_info_ocp_e2m1}[rule]
    info = gfloat.BlockFormatInfo(rule, block, 32, f.format_info_ocp_e8m0)
    for x in batches(32, POWERS, 3):
        q = ulplab.quantize(x, rule)
        x = x.astype("f8")
        scales = numpy.array([[gfloat.compute_scale_amax(block.emax, line)] for line in x])
        theirs = scales * gfloat.round_ndarray(block, x / scales, gfloat.RoundMode.TiesToEven, True)
        assert compared(rule, package("gfloat"), q.scales, ulplab.dequantize(q), scales, theirs) == (0, 0)
        for line, numbers in zip(x[:5], theirs):
            assert (gfloat.quantize_block(info, line, gfloat.compute_scale_amax) == numbers).all()


@pytest.mark.parametrize("rule", ["q4_0", "q8_0"])
def test_gguf(rule):
    gguf = pytest.importorskip("gguf", reason="skipped: no gguf")
    for x in batches(32, [1.0, 127 / 64, 1.5, 1.75], 4, exponents=(-24, 15), element=FP4):
        x[::7, :3] = -numpy.abs(x[::7]).max(-1, keepdims=True)  # several numbers of the largest magnitude, of both signs
        x[5] = 0
        q = ulplab.quantize(x, rule)
        stored = gguf.quants.quantize(x, gguf.GGMLQuantizationType[rule.upper()])
        scales = stored[:, :2].copy().view("f2").astype(f4)
        codes = stored[:, 2:]
        if rule == "q4_0":
            codes = numpy.concatenate([codes & 15, codes >> 4], axis=1)
            assert (q.zero_points == 8).all()
        assert compared(rule, package("gguf"), q.scales, q.codes, scales, codes) == (0, 0)
        assert (ulplab.dequantize(q) == gguf.quants.dequantize(stored, gguf.GGMLQuantizationType[rule.upper()])).all()


def torchao():
    pytest.importorskip("torch", reason="skipped: no PyTorch (--torch)")
    pytest.importorskip("torchao", reason="skipped: no torchao")
    import torch
    return torch


@pytest.mark.parametrize("rule", ["mxfp8", "mxfp8_e5m2", "mxfp4", "mxfp8_ceil", "mxfp4_ceil", "mxfp8_even", "mxfp4_even",
                                  "mxfp8_nv", "mxfp4_nv"])
def test_torchao_mx(rule):
    torch = torchao()
    from torchao.prototype.mx_formats.mx_tensor import ScaleCalculationMode as Mode, to_mx
    mode = {"ceil": Mode.CEIL, "even": Mode.EVEN, "nv": Mode.RCEIL}.get(rule.split("_")[-1], Mode.FLOOR)
    element = (torch.float4_e2m1fn_x2 if "fp4" in rule else
               torch.float8_e5m2 if "e5m2" in rule else torch.float8_e4m3fn)
    for x in batches(32, POWERS, 5, element=FP4 if "fp4" in rule else FP8):
        q = ulplab.quantize(x, rule)
        scales, elements = to_mx(torch.from_numpy(x), element, 32, mode)
        codes = elements.contiguous().view(torch.uint8).numpy()
        codes = ulplab.encode(ulplab.decode(codes, "e2m1", packed=True), "e2m1") if "fp4" in rule else codes
        theirs = ulplab.decode(scales.view(torch.uint8).numpy(), "e8m0").reshape(-1)
        differ = compared(rule, package("torchao"), q.scales, ulplab.decode(q.codes, q.element_format), theirs,
                          ulplab.decode(codes.reshape(x.shape), q.element_format))
        if mode is not Mode.RCEIL:
            assert differ == (0, 0)
            continue
        # Its processor's way takes log2 in fp32, which of a number just above a power of two is a whole number.
        just_above = amax_of(x).reshape(-1) / f4(LARGEST[FP4 if "fp4" in rule else FP8])
        other = q.scales.reshape(-1) != theirs
        assert (numpy.log2(just_above[other]) == numpy.round(numpy.log2(just_above[other]))).all()
        assert (theirs[other] * 2 == q.scales.reshape(-1)[other]).all()


def test_torchao_float8():
    torch = torchao()
    from torchao.float8.config import ScalingGranularity
    from torchao.float8.float8_utils import tensor_to_scale, to_fp8_saturated
    rules = (("ao_rowwise", True, True), ("ao_rowwise_fp32", False, True), ("ao_tensorwise", False, False),
             ("ao_tensorwise_power", True, False))
    for x, (rule, power, rows) in ((x, row) for x in batches(64, POWERS, 6) for row in rules):
        t = torch.from_numpy(x)
        how = {"scaling_granularity": ScalingGranularity.AXISWISE, "axiswise_dim": -1} if rows else {}
        scale = tensor_to_scale(t, torch.float8_e4m3fn, round_scales_to_power_of_2=power, **how)
        theirs = to_fp8_saturated(t * scale, torch.float8_e4m3fn).float().numpy()
        q = ulplab.quantize(x, rule)
        scale = (1 / scale).numpy().reshape(-1)
        differ = compared(rule, package("torchao"), q.scales, q.elements, scale, theirs)
        if not power:
            assert differ == (0, 0)
            continue
        # Its log2 is in fp32: a number just below a power of two becomes this power.
        other = q.scales.reshape(-1) != scale
        below = numpy.log2(LARGEST[FP8] / (amax_of(x) if rows else numpy.abs(x).max().reshape(1, 1)).astype("f8")).reshape(-1)
        assert (numpy.ceil(below[other]) - below[other] < 2.0**-18).all() and (scale[other] * 2 == q.scales.reshape(-1)[other]).all()
        if rows:
            assert (q.elements[~other] == theirs[~other]).all()


@pytest.mark.parametrize("rule", ["int8_symmetric", "int8_affine", "int4_symmetric", "int4_affine"])
def test_torchao_integers(rule):
    torch = torchao()
    from torchao.quantization import quant_primitives as p
    for x in batches(32, POWERS, 7, element=FP4):
        x[::5] = numpy.abs(x[::5])  # of one sign
        q = ulplab.quantize(x, rule, block="1x32")
        mapping = p.MappingType.ASYMMETRIC if "affine" in rule else p.MappingType.SYMMETRIC
        least = -8 if "int4" in rule else -128
        scale, zero = p.choose_qparams_affine(torch.from_numpy(x), mapping, (1, 32), torch.int8, least, -least - 1)
        codes = p.quantize_affine(torch.from_numpy(x), (1, 32), scale, zero, torch.int8, least, -least - 1).numpy()
        ours = q.codes.view("i1") if least == -128 else ((q.codes ^ 8).astype("i1") - 8)
        assert compared(rule, package("torchao"), q.scales, ours, scale.numpy(), codes) == (0, 0)
        assert (q.zero_points.reshape(-1) == zero.numpy().reshape(-1)).all()
        assert (q.elements == ours - q.zero_points).all()


def test_parts_of_a_row():
    x = blocks(256, POWERS, 8, 64)
    q = ulplab.quantize(x, "deepseek_1x128", scale_format="e8m0")
    assert (q.scales == ulplab.quantize(x, "deepseek_1x128_ue8m0").scales).all() and q.scale_codes.dtype == numpy.uint8
    assert ulplab.quantize(x, "mxfp8", block=(1, 128)).scales.shape == (64, 2)
    assert ulplab.quantize(x, "deepseek_1x128", block="32x32").block == (32, 32)
    assert ulplab.quantize(x, "mxfp8", element="e5m2").element_format.name == "e5m2"
    halves = ulplab.quantize(x, "deepseek_1x128", scale_format="bf16").scales
    assert (halves == ulplab.quantize(x, "deepseek_1x128").scales.astype(ml_dtypes.bfloat16).astype("f4")).all()
    assert ulplab.dequantize(ulplab.quantize(x, "deepseek_1x128", block="32x32")).shape == x.shape
    packed = ulplab.quantize(x, "nvfp4").packed()
    assert packed.shape == (64, 128)
    assert (ulplab.encode(ulplab.decode(packed, "e2m1", packed=True), "e2m1") == ulplab.quantize(x, "nvfp4").codes).all()
    for bad in ({"block": "128"}, {"block": (-1, 2)}, {"scale_format": "e2m1"}, {"scale_format": "fp15"}):
        with pytest.raises(ValueError):
            ulplab.quantize(x, "mxfp8", **bad)
    with pytest.raises(ValueError, match="whole numbers"):
        ulplab.quantize(x, "int8_affine", element="e4m3")


def test_a_number_format_alone():
    x = numpy.array([[-431.99999999999994, 1 + 2**-11 + 2**-40, 2**-25 * (1 + 2**-40), 1e9]])  # once, not by way of fp32
    q = ulplab.quantize(x, "e4m3")
    assert q.elements[0, 0] == -416 and q.codes.dtype == numpy.uint8 and q.scales.tolist() == [[1]]
    half = ulplab.quantize(x, ulplab.format("fp16"))
    assert half.elements[0, 1:3].tolist() == [1.0009765625, 2**-24] and half.codes.dtype == numpy.uint16
    assert (ulplab.decode(half.codes, "fp16") == half.elements).all()
    assert (ulplab.dequantize(half) == half.elements).all()
    assert ulplab.quantize([[0.3, -5.0]], "hif8").elements.tolist() == [[0.3125, -5.0]]
    with pytest.raises(ValueError, match="no quantization 'e4m33'"):
        ulplab.quantize(x, "e4m33")
    with pytest.raises(ValueError, match="has no element, block"):
        ulplab.quantize(x, "e4m3", block="1x32")
    with pytest.raises(ValueError, match="which fp64 exceeds"):
        ulplab.quantize(x / 3, "fp64")


def test_every_row_is_compared():
    """The rules with a transform, which tests in C++ compare with rational numbers, aside."""
    rows = set(ulplab.quantizations()) - {"quartet_forward", "quartet_backward", "ufp4"}
    source = open(__file__).read()
    assert [row for row in rows if not re.search(rf'"{row}"', source) and row not in MX_ELEMENTS] == []
