"""Rounding, codes, functions and quantisation: the command line's bits, every format."""

import builtins
import copy
import json
import pathlib
import pickle
import shutil
import subprocess
import sys
import sysconfig

import numpy
import pytest

import ulplab
from conftest import beside_midpoints, bits, same_bits
from peers import MX_ELEMENTS, mx_quantized

FORMATS = ulplab.formats()
NARROW = [name for name, f in FORMATS.items() if f.storage_bits <= 16]


@pytest.mark.parametrize("name", NARROW)
def test_every_code_comes_back(name):
    f = FORMATS[name]
    codes = numpy.arange(1 << f.storage_bits, dtype=f"u{1 if f.storage_bits <= 8 else 2}")
    numbers = ulplab.decode(codes, name)
    assert numbers.dtype == numpy.float32
    assert same_bits(ulplab.encode(numbers, name), codes)
    finite = numbers[numpy.isfinite(numbers)]
    assert same_bits(ulplab.round(finite, name), finite)


@pytest.mark.parametrize("name", [name for name in NARROW if FORMATS[name].storage_bits % 8])
def test_words_above_the_codes_are_refused(name):
    f = FORMATS[name]
    for word in (1 << f.storage_bits, 0xFF if f.storage_bits < 8 else 0xFFFF):
        codes = numpy.zeros((3, 70000), "u1" if f.storage_bits < 8 else "u2")
        codes[1, 69999] = word
        with pytest.raises(ValueError, match=rf"codes\(1, 69999\) = 0x{word:X} is not a code of {name}"):
            ulplab.decode(codes, name)
        with pytest.raises(ValueError, match=rf"codes\(1, 69999\) = 0x{word:X}"):
            ulplab.decode(numpy.asfortranarray(codes), name)


def test_signs_of_overflows_and_infinities_are_those_of_show(program):
    texts = ("-1000", "1000", "-5000", "-inf", "inf", "1e30", "-1e30", "1e300", "-1e300")
    for saturate in ((), ("--saturate",)):
        for text in texts:
            for row in json.loads(program("show", "--json", *saturate, text)):
                code = ulplab.encode(float(text), row["format"], saturate=bool(saturate))
                assert int(code) == int(row["bits"], 16), (text, row["format"], saturate)


def test_formats_beyond_fp32_lose_nothing():
    for f in (ulplab.format(30, -100, 100), ulplab.format(24, -200, 200), ulplab.format(53, -1022, 1023),
              ulplab.format(40, -10, 10)):
        x = numpy.concatenate([numpy.array([0.1, -0.1, 1 / 3, 1e20, -1e-20, 0, numpy.inf, -numpy.inf]),
                               numpy.random.default_rng(3).standard_normal(1000)])
        codes = ulplab.encode(x, f)
        numbers = ulplab.decode(codes, f)
        assert numbers.dtype == numpy.float64 and same_bits(numbers, ulplab.round(x, f))
        assert int(codes[0]) == int(ulplab.show("0.1", f)[0]["bits"], 16)
    assert int(ulplab.encode(0.1, ulplab.format(30, -100, 100))) == 0xC33333333
    wide = ulplab.format(24, -200, 200)
    assert ulplab.exp(0.5, wide) == float(numpy.float32(numpy.exp(0.5)))
    assert ulplab.exp(-100.0, wide) == ulplab.round(numpy.exp(-100.0), wide)  # below fp32's smallest normal number
    with pytest.raises(ValueError, match="functions are of formats of up to 24 significant bits"):
        ulplab.exp(0.5, "fp64")


def test_integers_are_numbers_and_lose_nothing():
    near_a_tie = 2**60 + 2**36 + 1  # in float64 the tie itself
    assert int(ulplab.encode(near_a_tie, "fp32")) == 0x5D800001
    assert ulplab.round(near_a_tie, "fp32") == 2.0**60 + 2.0**37
    assert ulplab.round(numpy.array([near_a_tie, -near_a_tie, 3]), "fp32").tolist() == [2.0**60 + 2**37, -2.0**60 - 2**37, 3]
    assert ulplab.round(2**53 + 1, "fp64", "up") == 2.0**53 + 2 and ulplab.round(2**53 + 1, "fp64") == 2.0**53
    assert ulplab.round(2**70, "fp32") == 2.0**70 and ulplab.show(near_a_tie, "fp32")[0]["bits"] == "0x5D800001"
    assert ulplab.encode(numpy.arange(-2, 3, dtype="i1"), "e4m3").tolist() == [0xC0, 0xB8, 0, 0x38, 0x40]
    with pytest.raises(ValueError, match="more than 64 bits"):
        ulplab.round(2**70 + 1, "fp32")
    with pytest.raises(TypeError, match="ulplab.decode reads codes"):
        ulplab.round(numpy.zeros(3, "u1"), "fp16")


def test_doubles_are_quantised_in_one_rounding():
    beside = -431.99999999999994  # -432 in fp32, and there a tie that goes to -448
    q = ulplab.quantize(numpy.array([[beside, 256.0]]), "mxfp8")
    assert ulplab.dequantize(q).tolist() == [[-416.0, 256.0]]
    x = numpy.random.default_rng(5).standard_normal((64, 96))
    for name in ("mxfp8", "mxfp4", "nvfp4", "te_current", "deepseek_1x128"):
        double, single = ulplab.quantize(x, name), ulplab.quantize(x.astype("f4"), name)
        assert same_bits(double.scales, single.scales)
    with pytest.raises(ValueError, match="number 1 of the operand, 1e300, lies beyond fp32"):
        ulplab.quantize(numpy.array([[1.0, 1e300]]), "mxfp8")


def test_rounded_numbers_are_those_of_show(program):
    for text in ("0.1", "-3.14159", "300", "6.1e-5", "1e-9"):
        rows = {row["format"]: row for row in json.loads(program("show", "--json", text))}
        for name, f in FORMATS.items():
            if name not in rows:
                continue
            rounded = ulplab.round(float(text), name)
            code = int(ulplab.encode(numpy.float64(rounded), name))
            assert code == int(rows[name]["bits"], 16), (text, name)
            assert ulplab.show(text, name)[0]["bits"] == rows[name]["bits"]


def test_rounding_modes_and_options():
    x = numpy.array([1 + 2**-11, -(1 + 2**-11), 70000.0, 2.0**-26], "f8")
    assert ulplab.round(x, "fp16").tolist() == [1, -1, numpy.inf, 0]
    assert ulplab.round(x, "fp16", "up").tolist() == [1 + 2**-10, -1, numpy.inf, 2**-24]
    assert ulplab.round(x, "fp16", "down").tolist() == [1, -1 - 2**-10, 65504, 0]
    assert ulplab.round(x, "fp16", saturate=True)[2] == 65504
    assert ulplab.round(numpy.array([2.0**-24]), "fp16", subnormals=False)[0] == 0
    assert ulplab.add(2.0**-24, 2.0**-14, "fp16") == 2.0**-14 + 2.0**-24
    assert ulplab.add(2.0**-24, 2.0**-14, "fp16", subnormals=False) == 2.0**-14  # operands count as zeros, too
    many = numpy.ones(5_000_000, "f4")
    many[4_900_000] = 0.1
    with pytest.raises(ValueError, match=r"a\(4900000\) = 0.1\d* is not a number of fp16"):
        ulplab.add(many, many, "fp16")
    with pytest.raises(ValueError, match="needs a seed"):
        ulplab.round(x, "fp16", "stochastic")
    with pytest.raises(ValueError, match="did you mean nearest_even"):
        ulplab.round(x, "fp16", "nearest_evn")
    with pytest.raises(ValueError, match="there is no format 'halv'; did you mean half. choose one of fp64"):
        ulplab.round(x, "halv")
    with pytest.raises(TypeError, match="rounding is 3; give a name"):
        ulplab.round(x, "fp16", 3)
    for name, own in (("half", "fp16"), ("float8_e4m3fn", "e4m3"), ("e4m3fn", "e4m3"), ("bfloat16", "bf16"),
                      (numpy.float16, "fp16"), (numpy.dtype("f8"), "fp64"), ("Single", "fp32")):
        assert ulplab.format(name) == ulplab.format(own)
    for name, own in (("rne", "nearest_even"), ("RTZ", "toward_zero"), ("rtp", "up"), ("rtn", "down"), ("rna", "nearest_away")):
        assert same_bits(ulplab.round(x, "fp16", name), ulplab.round(x, "fp16", own))


def test_stochastic_rounding_is_a_function_of_seed_and_place():
    x = numpy.full(300_000, 1 + 2.0**-12, "f4")
    rounded = ulplab.round(x, "fp16", "stochastic", seed=7)
    assert set(numpy.unique(rounded)) == {numpy.float32(1), numpy.float32(1 + 2**-10)}
    assert abs((rounded > 1).mean() - 0.25) < 0.01
    assert same_bits(rounded, ulplab.round(x, "fp16", "stochastic", seed=7))
    assert same_bits(rounded[100_000:], ulplab.round(x[100_000:], "fp16", "stochastic", seed=7, first=100_000))
    assert not same_bits(rounded, ulplab.round(x, "fp16", "stochastic", seed=8))


def test_types_shapes_and_orders_of_memory():
    x = numpy.random.default_rng(1).standard_normal((5, 6, 7))
    expected = ulplab.round(x, "bf16")
    assert expected.dtype == numpy.float64 and expected.shape == x.shape
    assert same_bits(ulplab.round(numpy.asfortranarray(x), "bf16"), expected)
    assert same_bits(ulplab.round(x[:, ::2], "bf16"), expected[:, ::2].copy())
    assert same_bits(ulplab.round(x.astype(">f8"), "bf16"), expected)
    half = x.astype("f2")
    assert ulplab.round(half, "e4m3").dtype == numpy.float16
    assert ulplab.round(half, "bf16").dtype == numpy.float32  # 65504 rounds to 65536 there
    assert ulplab.round(numpy.zeros((0, 3), "f4"), "fp16").shape == (0, 3)
    assert ulplab.round([0.1, 0.2], "fp16").tolist() == [float(numpy.float16(0.1)), float(numpy.float16(0.2))]
    y = x.astype("f4")
    assert ulplab.round(y, "fp16", out=y) is y and same_bits(y, x.astype("f4").astype("f2").astype("f4"))
    with pytest.raises(ValueError, match="out needs the type"):
        ulplab.round(x, "fp16", out=y)
    with pytest.raises(TypeError, match="holds Python objects"):
        ulplab.round(numpy.array([None]), "fp16")


def test_nan_keeps_its_payload_through_codes():
    codes = numpy.array([0x7E01, 0xFE01, 0x7C01, 0x7FFF], "u2")
    assert same_bits(ulplab.encode(ulplab.decode(codes, "fp16"), "fp16"), codes)
    with pytest.raises(TypeError, match="codes of fp16 are uint16"):
        ulplab.decode(codes.astype("u1"), "fp16")
    assert ulplab.decode([0x38, 0x7F], "e4m3")[0] == 1 and ulplab.decode(0x3C00, "fp16") == 1
    with pytest.raises(ValueError, match="codes of e4m3 have 8 bits; 256 is none"):
        ulplab.decode([1, 256], "e4m3")


def test_arguments_of_other_types_are_named():
    for call, kind, text in ((lambda: ulplab.round(0.1, "fp16", "stochastic", seed=1.5), TypeError, "seed is 1.5; give an integer"),
                             (lambda: ulplab.round(0.1, "fp16", "stochastic", seed=-1), ValueError, "seed is -1; give an integer from 0"),
                             (lambda: ulplab.round(0.1, None), TypeError, "a format is None; give its name"),
                             (lambda: ulplab.round(0.1, "fp16", random_bits="x"), TypeError, "random_bits is 'x'"),
                             (lambda: ulplab.quantize(numpy.zeros((2, 2)), {}), TypeError, "how is {}; give a name"),
                             (lambda: ulplab.Format({}), ValueError, 'give "exponent_bits" as a whole number'),
                             (lambda: ulplab.units("hoper"), ValueError, "there is no unit 'hoper'; nearest are"),
                             (lambda: ulplab.dequantize(3), TypeError, "takes what ulplab.quantize gave"),
                             (lambda: ulplab.format(11, -14), TypeError, "emin and emax both")):
        with pytest.raises(kind, match=text):
            call()
    assert repr(ulplab.Units()) == "no units" and ulplab.DataError.__module__ == "ulplab"
    assert [u.key for u in ulplab.units("H100")] == [u.key for u in ulplab.units("sm_90")] != []


ML_TYPES = {"bfloat16": "bf16", "float8_e4m3fn": "e4m3", "float8_e5m2": "e5m2", "float8_e4m3fnuz": "e4m3fnuz",
            "float8_e5m2fnuz": "e5m2fnuz", "float8_e8m0fnu": "e8m0", "float6_e2m3fn": "e2m3", "float6_e3m2fn": "e3m2",
            "float4_e2m1fn": "e2m1", "float8_e4m3": "e4m3ieee", "float8_e3m4": "e3m4",
            "float8_e4m3b11fnuz": "e4m3b11fnuz"}


@pytest.fixture(scope="module")
def make_type(tmp_path_factory):
    """ml_dtypes' types, or types of their names: make_type(name, bytes)."""
    try:
        import ml_dtypes

        return lambda name, size: numpy.dtype(getattr(ml_dtypes, name))
    except ImportError:
        pass
    compiler, folder = shutil.which("cc"), tmp_path_factory.mktemp("named_types")
    if compiler is None:
        pytest.skip("no ml_dtypes, and no C compiler for what stands in for it")
    subprocess.run([compiler, "-shared", "-fPIC", "-I", sysconfig.get_paths()["include"], "-I", numpy.get_include(),
                    pathlib.Path(__file__).parent / "named_types.c", "-o", folder / "named_types.so"], check=True)
    sys.path.insert(0, str(folder))
    import named_types

    return lambda name, size: named_types.make(f"named_types.{name}", size)


def test_types_of_ml_dtypes_are_their_formats(make_type):
    for name, format in ML_TYPES.items():
        bits_of = ulplab.format(format).storage_bits
        words = numpy.arange(1 << bits_of, dtype="u2" if bits_of == 16 else "u1").reshape(2, -1)
        x, numbers = words.view(make_type(name, words.itemsize)), ulplab.decode(words, format)
        assert x.dtype.name == name
        for call in (lambda v: ulplab.encode(v, "fp16"), lambda v: ulplab.encode(v, "e5m2", saturate=True),
                     lambda v: ulplab.round(v[:, ::3], "fp32"), lambda v: ulplab.round(v.T, "fp32")):
            assert same_bits(call(x), call(numbers)), name
        own = ulplab.round(x, format)
        assert own.dtype == x.dtype and same_bits(own, x), name
        if format in ("bf16", "e4m3"):
            e = ulplab.exp(x)
            assert e.dtype == x.dtype and same_bits(ulplab.decode(bits(e), format), ulplab.exp(numbers, format)), name
            finite = numpy.flatnonzero(numpy.isfinite(numbers))[:64]
            a, b = x.reshape(-1)[finite].reshape(4, 16), numbers.reshape(-1)[finite].reshape(4, 16)
            unit = f"sm_90:wgmma.{format}.fp32"
            assert same_bits(ulplab.matmul(a, a.T, unit=unit), ulplab.matmul(b, b.T, unit=unit))


def test_codes_of_ml_dtypes_are_the_numbers_of_their_formats():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="skipped: no ml_dtypes")
    compared = 0
    for name, own in ML_TYPES.items():
        f = ulplab.format(name)
        assert f == ulplab.format(own)
        codes = numpy.arange(1 << f.storage_bits, dtype="u2" if f.storage_bits == 16 else "u1")
        theirs = codes.view(numpy.dtype(getattr(ml_dtypes, name))).astype("f4")
        ours = ulplab.decode(codes, name)
        assert (numpy.isnan(theirs) == numpy.isnan(ours)).all(), name
        assert same_bits(theirs[~numpy.isnan(theirs)], ours[~numpy.isnan(ours)]), name
        compared += codes.size
    assert compared > 65536
    codes = numpy.arange(16, dtype="i1")
    signed = numpy.where(codes > 7, codes - 16, codes).astype("i1").view(ml_dtypes.int4).astype("f4")
    assert same_bits(ulplab.decode(codes.astype("u1"), "int4"), signed)


def test_formats_by_fields_by_values_and_by_file(tmp_path):
    assert ulplab.format(exponent_bits=5, fraction_bits=10) == ulplab.format("fp16")
    p3109 = ulplab.format({"exponent_bits": 5, "fraction_bits": 2, "bias": 16, "specials": "one_nan_infinity"})
    assert p3109 == ulplab.format("binary8p3se") and p3109.name == "binary8p3se"
    nf2 = ulplab.format(name="nf2", values=[-1.0, -0.25, 0.0, 1.0])
    assert nf2.name == "nf2" and nf2.storage_bits == 2
    x = numpy.array([-3, -0.6, -0.1, 0.49, 0.5, 0.51, 7])
    assert ulplab.encode(x, nf2).tolist() == [0, 1, 2, 2, 2, 3, 3]
    assert ulplab.round(x.astype("f4"), nf2).tolist() == [-1, -0.25, 0, 0, 0, 1, 1]
    assert ulplab.decode(numpy.array([0, 3], "u1"), nf2).tolist() == [-1, 1]
    (tmp_path / "mine.json").write_text(json.dumps({"exponent_bits": 3, "fraction_bits": 3}))
    assert ulplab.format(str(tmp_path / "mine.json")) == ulplab.format(4, -2, 3)
    for each in (p3109, nf2, ulplab.format("hif8"), ulplab.format("binary8p1ue"), ulplab.format("binary8p4sf")):
        assert pickle.loads(pickle.dumps(each)) == each and copy.deepcopy(each) == each
    for name in ("hif8", "posit16", "dlfloat16", "int8", "binary8p3se", "binary8p3ue", "binary8p1se", "ue5m3"):
        f = ulplab.format(name)
        codes = numpy.arange(1 << f.storage_bits, dtype="u2" if f.storage_bits == 16 else "u1")
        numbers = ulplab.decode(codes, name)
        kept = ~numpy.isnan(numbers)
        assert same_bits(ulplab.encode(numbers, name)[kept], codes[kept]), name
        assert same_bits(ulplab.round(numbers, name)[kept], numbers[kept]), name
    with pytest.raises(ValueError, match="has no \"exponant_bits\""):
        ulplab.format(exponant_bits=3, exponent_bits=3, fraction_bits=2)
    with pytest.raises(ValueError, match="reaches beyond float64"):
        ulplab.decode(numpy.zeros(1, "u2"), "binary16p1ue")
    with pytest.raises(TypeError, match="give a format's name"):
        ulplab.format()


def test_saturation_and_stochastic_modes_by_their_names():
    x = numpy.array([1e9, -numpy.inf], "f4")
    for saturate, expected in ((False, [numpy.inf, -numpy.inf]), (True, [57344, -57344]),
                               ("SatFinite", [57344, -57344]), ("SatPropagate", [57344, -numpy.inf]),
                               ("OvfInf", [numpy.inf, -numpy.inf])):
        assert ulplab.round(x, "e5m2", saturate=saturate).tolist() == expected
        assert ulplab.decode(ulplab.encode(x, "e5m2", saturate=saturate), "e5m2").tolist() == expected
        assert [each for v in x for each in [float(ulplab.show(float(v), "e5m2", saturate=saturate)[0]["value"])]] == expected
    for name, expected in (("binary8p4sf", [240, -240]), ("binary8p4uf", [57344, numpy.nan]), ("e4m3fnuz", [numpy.nan] * 2)):
        for v in (x, x.astype("f8")):
            numpy.testing.assert_array_equal(ulplab.round(v, name), expected, name)
            numpy.testing.assert_array_equal(ulplab.decode(ulplab.encode(v, name), name), expected, name)
    with pytest.raises(ValueError, match="did you mean SatFinite"):
        ulplab.round(x, "e5m2", saturate="SatFinit")
    y = numpy.full(4000, 1 + 3 / 32, "f4")  # 3/4 of the way from 1 to 1.125
    for mode in ("stochastic", "cvt_rs", "stochastic_b", "stochastic_c"):
        up = (ulplab.round(y, "e4m3", mode, seed=1) > 1).mean()
        assert 0.7 < up < 0.8, (mode, up)
    with pytest.raises(ValueError, match="needs a seed"):
        ulplab.round(y, "e4m3", "stochastic_b")


def test_custom_formats():
    f = ulplab.format(4, -3, 2)
    assert (f.precision, f.emin, f.emax) == (4, -3, 2)
    assert ulplab.round(0.3, f) == 0.3125 and ulplab.format(11, -14, 15) == ulplab.format("fp16")
    with pytest.raises(ValueError, match="precision"):
        ulplab.format(1, 0, 1)


def test_functions_are_correctly_rounded(program):
    x = numpy.random.default_rng(2).standard_normal(1000).astype("f4")
    for name in ("exp", "tanh", "erf"):
        assert getattr(ulplab, name)(x).dtype == numpy.float32
    assert ulplab.exp(1.0) == float(numpy.float32(numpy.e))
    assert ulplab.log(numpy.float16(2.0)) == numpy.float16(numpy.log(2.0))
    with pytest.raises(ValueError, match="x.0. = 0.1.* is not a number of fp16"):
        ulplab.exp([0.1], "fp16")
    assert ulplab.exp([0.1], "fp16", round=True).shape == (1,)
    assert ulplab.tanh(numpy.array([[0.5]], "f4"), "bf16").shape == (1, 1)
    with pytest.raises(ValueError, match="there is no function 'sinh'"):
        ulplab.evaluate("sinh", x)


def test_block_scaled_numbers_are_those_of_microxcalings_formulas():
    rng = numpy.random.default_rng(4)
    x = (rng.standard_normal((64, 256)) * 2.0 ** rng.integers(-20, 20, (64, 1))).astype("f4")
    x[0] = 0
    x[1, ::3] *= 2.0**-30
    for name, element in MX_ELEMENTS.items():
        assert (ulplab.dequantize(ulplab.quantize(x, name)) == mx_quantized(x, 32, *element)).all(), name


def test_quantised_matrices():
    x = numpy.random.default_rng(3).standard_normal((6, 64)).astype("f4")
    for name in ulplab.quantizations():
        q = ulplab.quantize(x, name)
        values = ulplab.dequantize(q)
        assert values.shape[0] == 6 and values.dtype == numpy.float32, name
    q = ulplab.quantize(x, "nvfp4")
    scale = numpy.repeat(q.scales, 16, axis=1)
    assert same_bits(ulplab.dequantize(q), (q.elements * scale * numpy.float32(q.tensor_scale)).astype("f4"))
    assert same_bits(ulplab.decode(q.codes, "e2m1"), q.elements)
    assert same_bits(ulplab.decode(q.scale_codes, "e4m3"), q.scales)
    with pytest.raises(ValueError, match="nvfp4"):
        ulplab.quantize(x, "nvfp5")
    # Its codes and scales are the block-scaled unit's operands.
    unit = ulplab.units(kind="block_scaled", contains="nvf4")[0]
    w = ulplab.quantize(x, "nvfp4")
    d = ulplab.matmul(q.codes, w.codes.T, unit=unit, scales=(q.scales, w.scales.T))
    assert d.shape == (6, 6)


def test_show_says_fields_and_class_and_small_integers_are_words():
    row = ulplab.show(-2.5, "fp16")[0]
    assert (row["fields"], row["class"], row["code"]) == ("1 10000 0100000000", "normal", 0xC100)
    assert ulplab.show(0, "fp16")[0]["class"] == "zero"
    assert ulplab.decode([1, 0x3C], "fp16").tolist() == [2.0**-24, 60 * 2.0**-24]
    x = (numpy.arange(16, dtype="f4") % 8).reshape(2, 2, 4)
    assert ulplab.dequantize(ulplab.quantize(x, "mxfp8")).tolist() == x.reshape(4, 4).tolist()
    wide = numpy.arange(24, dtype="f4").reshape(4, 6)[::2, ::3]
    assert ulplab.matmul(wide, wide.T, unit="sm_90:mma.fp16.fp32").tolist() == (wide @ wide.T).tolist()


def test_packed_codes_are_read_where_they_are_named():
    pairs = numpy.array([[0x73, 0x22]], "u1")
    assert ulplab.decode(pairs, "e2m1", packed=True).tolist() == [[1.5, 6, 1, 1]]
    assert ulplab.decode(pairs, "float4_e2m1fn_x2").tolist() == [[1.5, 6, 1, 1]]
    assert ulplab.encode([[1.5, 6, 1, 1]], "e2m1", packed=True).tolist() == pairs.tolist()
    unit = ulplab.units(kind="block_scaled", contains="nvf4")[0]
    a, b = numpy.full((1, 32), 0x73, "u1"), numpy.full((32, 1), 0x22, "u1")
    assert ulplab.matmul(a, b, unit=unit, packed=True).tolist() == [[240]]
    for call, error, text in ((lambda: ulplab.matmul(a, b, unit=unit), ValueError, "packed"),
                              (lambda: ulplab.decode(pairs, "e4m3", packed=True), ValueError, "of a format of 4 bits"),
                              (lambda: ulplab.matmul(a, b, unit="sm_90:wgmma.e4m3.fp32", packed=True), ValueError, "4 bits"),
                              (lambda: ulplab.decode(pairs.astype("u2"), "e2m1", packed=True), TypeError, "uint8")):
        with pytest.raises(error, match=text):
            call()
    ones = numpy.ones((1, 64), "f4")
    for scale in (numpy.full((1, 4), -1.0), numpy.full((1, 4), 0xB8, "u1")):
        with pytest.raises(ValueError, match="scales have no sign"):
            ulplab.matmul(ones, ones.T, unit=unit, scales=(scale, None))
        with pytest.raises(ValueError, match="scales have no sign"):
            ulplab.explain(ones[0], ones[0], unit=unit, scales=(scale[0], None))


def test_arithmetic_rounds_once_and_tells_its_flags():
    F = ulplab.Flags
    assert ulplab.add(1.0, 2.0**-24, "fp32", flags=True) == (1.0, F.INEXACT)
    assert ulplab.divide(1.0, 0.0, flags=True) == (numpy.inf, F.DIVIDE_BY_ZERO)
    assert ulplab.multiply(2.0**-14, 0.5, "fp16", flags=True) == (2.0**-15, F(0))
    value, flags = ulplab.sqrt(-1.0, "bf16", flags=True)
    assert numpy.isnan(value) and flags == F.INVALID
    assert ulplab.fma(0.1, 10.0, -1.0) == 2.0**-54
    assert ulplab.remainder(5.0, 3.0) == -1 and ulplab.next_up(1.0, "e4m3") == 1.125
    assert ulplab.next_down(numpy.float16(1)) == numpy.float16(1 - 2**-11)
    assert ulplab.add(1.0, 2.0**-24, "fp32", "up") == 1 + 2.0**-23
    assert ulplab.add(448.0, 448.0, "e4m3", saturate=True) == 448
    assert set(ulplab.add(numpy.ones(99), 2.0**-12, "fp16", "stochastic", seed=1, round=True)) <= {1, 1 + 2.0**-10}
    rng = numpy.random.default_rng(6)
    x, y = rng.standard_normal((5, 1)), rng.standard_normal(7)
    for name, function in (("add", numpy.add), ("subtract", numpy.subtract), ("multiply", numpy.multiply),
                           ("divide", numpy.divide)):
        for kind in ("f2", "f4", "f8"):
            a, b = x.astype(kind), y.astype(kind)
            assert same_bits(getattr(ulplab, name)(a, b), function(a, b)), (name, kind)
            result, flags = getattr(ulplab, name)(a, b, flags=True)
            assert same_bits(result, function(a, b)) and flags.shape == (5, 7) and flags.dtype == "u1"
    assert ulplab.compare([1.0, 2, 3, numpy.nan], 2.0).tolist() == [-1, 0, 1, 2]
    assert ulplab.compare(numpy.nan, 1.0, signaling=True, flags=True) == (2, F.INVALID)
    with pytest.raises(ValueError, match="a = 0.1 is not a number of fp16"):
        ulplab.add(0.1, 1.0, "fp16")
    with pytest.raises(ValueError, match="do not broadcast"):
        ulplab.add(numpy.ones(2), numpy.ones(3))
    with pytest.raises(TypeError, match="give format="):
        ulplab.add(numpy.ones(2, "f2"), numpy.ones(2, "f4"))


def test_all_pairs_of_an_fp8_format_are_the_rounded_exact_results():
    codes = numpy.arange(256, dtype="u1")
    for name in ("e4m3", "e5m2", "e4m3fnuz"):
        x = ulplab.decode(codes, name)
        x = x[numpy.isfinite(x)].astype("f8")
        a, b = x[:, None], x[None, :]
        for function, exact in ((ulplab.add, a + b), (ulplab.multiply, a * b), (ulplab.subtract, a - b)):
            assert same_bits(function(a, b, name), ulplab.round(exact, name)), name  # exact in float64


def test_objects_are_copied_pickled_and_shown():
    q = ulplab.quantize(numpy.ones((2, 32)), "mxfp8")
    custom = ulplab.format(4, -3, 2)
    for copied in (pickle.loads(pickle.dumps([q, custom, ulplab.Order(split_k=2), ulplab.units("sm_90")[:1]])),
                   copy.deepcopy([q, custom, ulplab.Order(split_k=2), ulplab.units("sm_90")[:1]])):
        assert same_bits(ulplab.dequantize(copied[0]), ulplab.dequantize(q)) and copied[1] == custom
        assert copied[2].split_k == 2 and copied[3][0].key == ulplab.units("sm_90")[0].key
    assert "largest" in ulplab.format("fp16")._repr_html_() and "65504" in repr(ulplab.format("fp16"))
    for each in (q, ulplab.show(0.1), ulplab.show(0.1, "fp16"), ulplab.units("sm_90")):
        assert each._repr_html_().startswith("<")


def test_a_star_import_hides_nothing_of_python():
    names = {}
    exec("from ulplab import *", names)
    assert not set(names) & set(dir(builtins)) - {"__builtins__", "__name__"} and "encode" in names


def test_casts_are_those_of_ml_dtypes():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="skipped: no ml_dtypes")
    count = 0
    for name, own in ML_TYPES.items():
        kind = numpy.dtype(getattr(ml_dtypes, name))
        x = beside_midpoints(own, "f4")  # from float64 ml_dtypes rounds twice
        if own == "e8m0":  # there zero is NaN, not the smallest power of two, and ties below 2^-126 go up
            x = x[x >= 2.0**-126]
        with numpy.errstate(all="ignore"):
            theirs = x.astype(kind)
        a, b = bits(theirs), ulplab.encode(x, own)
        # A NaN's bits are each one's own, and of a format without NaN what stands for one is.
        same = (a == b) | numpy.isnan(x) | (numpy.isnan(ulplab.decode(b, own)) & numpy.isnan(theirs.astype("f4")))
        assert same.all(), (name, x[~same][:3], a[~same][:3], b[~same][:3])
        count += x.size
    print(count, "casts compared with ml_dtypes", ml_dtypes.__version__)
