"""One number through every door of the package and the program: the same code, or the same refusal."""

import json
import struct
import subprocess

import numpy
import pytest

import ulplab
from conftest import beside_midpoints, bits, same_bits

NARROW = [name for name, f in ulplab.formats().items() if f.storage_bits <= 16]


def same_numbers(x, y):
    """Equal numbers, or NaNs, of equal signs: a container's NaN has bits of its own."""
    equal = (x == y) | (numpy.isnan(x) & numpy.isnan(y))
    return bool((equal & (numpy.signbit(x) == numpy.signbit(y))).all())


def codes_of_show(numbers, name, **how):
    return numpy.array([ulplab.show(x, name, **how)[0]["code"] for x in numbers.tolist()])


@pytest.mark.parametrize("name", NARROW)
def test_doors_agree_on_all_codes_and_beside_all_midpoints(name, capsys):
    x = beside_midpoints(name)
    single = x[x.astype("f4").astype("f8") == x].astype("f4")
    some = x if x.size < 5000 else x[:: x.size // 2000]
    count = 0
    for saturate in (False, True):
        modes = ("nearest_even", "nearest_away", "toward_zero", "down", "up", "odd")
        for rounding in modes[:: 3 if x.size > 5000 else 1]:
            codes = ulplab.encode(x, name, rounding, saturate=saturate)
            numbers = ulplab.decode(codes, name)
            for kind in (x, single):
                rounded = ulplab.round(kind, name, rounding, saturate=saturate)
                assert rounded.dtype == kind.dtype
                again = ulplab.encode(kind, name, rounding, saturate=saturate)
                assert same_numbers(rounded, ulplab.decode(again, name))
                assert same_bits(ulplab.encode(rounded, name), again)
                count += 2 * kind.size
            assert same_bits(ulplab.encode(numbers, name), codes)
            shown = codes_of_show(some, name, rounding=rounding, saturate=saturate)
            assert (shown == ulplab.encode(some, name, rounding, saturate=saturate)).all()
            count += codes.size + shown.size
    with capsys.disabled():
        print(f"\n{name}: {count} comparisons", end="")


@pytest.mark.parametrize("name", [name for name in NARROW if name != "e8m0"])
def test_the_program_gives_arrays_the_same_codes(name, program, tmp_path):
    x = beside_midpoints(name)[None]
    numpy.save(tmp_path / "x.npy", x)
    for saturate in ((), ("--saturate",)):
        program("quantize", tmp_path / "x.npy", tmp_path / "q.npz", "--format", name, *saturate)
        codes = numpy.load(tmp_path / "q.npz")["x.codes"]
        assert same_bits(codes, ulplab.encode(x, name, saturate=bool(saturate)))
    for text in ("-1000", "-inf", "nan", "-nan", "1e300"):
        shown = json.loads(program("show", "--json", "--format", name, "--", text))[0]["bits"]
        assert int(shown, 16) == int(ulplab.encode(numpy.array(text, "f8"), name))


def test_quantised_elements_are_rounded_numbers():
    for name in ("mxfp8", "mxfp8_e5m2", "mxfp6_e3m2", "mxfp6_e2m3", "mxfp4"):
        element = ulplab.quantize(numpy.ones((1, 32)), name).element_format
        x = beside_midpoints(element)
        x = numpy.abs(x[numpy.isfinite(x) & (numpy.abs(x) <= element.largest)])
        lines = numpy.full((x.size, 32), element.largest)
        lines[:, 0] = x
        q = ulplab.quantize(lines, name)
        assert (q.scales == 1).all()
        assert same_bits(q.codes[:, 0].copy(), ulplab.encode(x, element))
        assert same_bits(bits(q.elements[:, 0].copy()), bits(ulplab.decode(q.codes[:, 0].copy(), element)))


def refusal(program, *arguments):
    with pytest.raises(subprocess.CalledProcessError) as refused:
        program(*arguments)
    return refused.value.returncode, refused.value.stderr


def test_the_program_reads_packed_codes_where_they_are_named(program, tmp_path):
    unit = "sm_100:tcgen05.nvf4.e2m1.fp32"
    numpy.save(tmp_path / "a.npy", numpy.full((1, 32), 0x73, "u1"))
    numpy.save(tmp_path / "b.npy", numpy.full((32, 1), 0x22, "u1"))
    call = ("matmul", tmp_path / "a.npy", tmp_path / "b.npy", "--unit", unit, "--out", tmp_path / "d.npy")
    program(*call, "--packed")
    assert numpy.load(tmp_path / "d.npy").tolist() == [[240]]
    code, text = refusal(program, *call)
    assert code == 3 and "0x73 is not a code of e2m1" in text and "--packed" in text
    numpy.save(tmp_path / "s.npy", numpy.full((1, 4), -1.0))
    code, text = refusal(program, *call, "--packed", "--a-scales", tmp_path / "s.npy")
    assert code == 3 and "element (0, 0) = -1: scales have no sign" in text
    code, text = refusal(program, "explain", "--unit", unit, "--a", "1,1", "--b", "1,1", "--a-scales=-1")
    assert code == 2 and "scale -1: scales have no sign" in text

    header = json.dumps({"x": {"dtype": "F4", "shape": [4], "data_offsets": [0, 2]}}).encode()
    (tmp_path / "x.safetensors").write_bytes(struct.pack("<Q", len(header)) + header + bytes([0x73, 0x22]))
    program("quantize", tmp_path / "x.safetensors", tmp_path / "q.npz", "--format", "fp16")
    assert numpy.load(tmp_path / "q.npz")["x.dequantized"].tolist() == [1.5, 6, 1, 1]


def test_a_table_of_values_is_a_format_of_units(program, tmp_path):
    file = tmp_path / "unit.json"
    model = json.loads(ulplab.unit("sm_90:mma.fp16.fp32").description)
    for name in ("hif8", "posit8", "int8"):
        file.write_text(json.dumps(model | {"a_format": name, "b_format": name}))
        codes = numpy.random.default_rng(1).integers(0, 256, (2, 64, 16), "u1")
        a, b = numbers = ulplab.decode(codes, name).astype("f8")
        numbers[~numpy.isfinite(numbers) | (numbers == 0)] = 1
        exponents = numpy.frexp(numbers)[1]
        largest = (exponents[0, :, None] + exponents[1]).max(-1, keepdims=True) - 2
        terms = numpy.trunc(numpy.ldexp(a[:, None] * b, 25 - largest))  # cut off below 2^-25 of the largest one's binade
        expected = ulplab.round(numpy.ldexp(terms.sum(-1), largest[..., 0] - 25), "fp32", "toward_zero")
        assert (ulplab.matmul(a, b.T, unit=str(file)) == expected).all(), name
        codes = ulplab.encode(numbers, name)
        assert (ulplab.matmul(codes[0], codes[1].T, unit=str(file)) == expected).all(), name
    file.write_text(json.dumps(model | {"a_format": "hif8"}))
    with pytest.raises(ValueError, match="1.0625.* hif8"):
        ulplab.matmul(numpy.full((1, 16), 1.0625), numpy.ones((16, 1)), unit=str(file))
    code, text = refusal(program, "discover", "--unit", "soft:ieee", "--format", "hif8,fp32")
    assert code == 2 and "hif8 is a table of values" in text
