"""Bounds, explanations, discovery, recordings and inspection: what the command line says."""

import itertools
import json
import pathlib
import signal
import threading
import time

import numpy
import pytest

import ulplab
from conftest import SHARED, same_bits

HOPPER = "sm_90:wgmma.fp16.fp32"


def half(shape, seed):
    return numpy.random.default_rng(seed).standard_normal(shape).astype("f2")


def test_bounds_are_those_of_the_command_line(program, tmp_path):
    for unit in ulplab.units(kind="floating_point")[::9]:
        text = program("bound", "--unit", unit.key, "-k", 64, "--json")
        assert json.loads(text).items() <= ulplab.bound(unit, k=64).__dict__.items(), unit.key
    a, b = half((3, 64), 1), half((64, 4), 2)
    numpy.save(tmp_path / "a.npy", a)
    numpy.save(tmp_path / "b.npy", b)
    text = program("bound", "--unit", HOPPER, "--a", tmp_path / "a.npy", "--b", tmp_path / "b.npy",
                   "--json", "--out", tmp_path / "bounds.npy")
    found = ulplab.bound(HOPPER, a, b, d=ulplab.matmul(a, b, unit=HOPPER))
    expected = json.loads(text)
    expected["violations"] = 0
    assert expected.items() <= found.__dict__.items()
    assert same_bits(found.bounds, numpy.load(tmp_path / "bounds.npy"))
    assert 0 < found.largest_ratio <= 1 and "tolerance" in repr(found) and found._repr_html_().startswith("<pre>")
    wrong = ulplab.matmul(a, b, unit="sm_70:mma.fp16.fp32") + numpy.float32(1)
    assert ulplab.bound(HOPPER, a, b, d=wrong).violations == 12


def test_fp64_arrays_are_bounded_and_explained_as_the_command_line_does(program, tmp_path):
    unit, rng = "sm_90:mma.fp64.fp64", numpy.random.default_rng(7)
    a, b, c = (rng.standard_normal(shape) for shape in ((3, 40), (40, 5), (3, 5)))
    d = ulplab.matmul(a, b, c, unit=unit, order={"split_k": 2})
    for name, array in (("a", a), ("b", b), ("c", c), ("d", d)):
        numpy.save(tmp_path / f"{name}.npy", array)
    files = [f(tmp_path) for name in "abcd" for f in (lambda _, n=name: f"--{n}", lambda p, n=name: p / f"{n}.npy")]
    text = program("bound", "--unit", unit, *files, "--order", "split=2", "--json", "--out", tmp_path / "bounds.npy")
    found = ulplab.bound(unit, a, b, c, d=d, order={"split_k": 2})
    assert json.loads(text).items() <= found.__dict__.items() and found.violations == 0
    assert same_bits(found.bounds, numpy.load(tmp_path / "bounds.npy"))
    assert ulplab.bound(unit, a, b, c, d=d + 1).violations == 15
    assert ulplab.bound(unit, a, b, against="fp64").atol > ulplab.bound(unit, a, b).atol > 0
    whole = ulplab.explain(a, b, c, unit=unit, d=d)
    assert whole.candidates == json.loads(program("explain", "--unit", unit, *files, "--json"))["candidates"]
    assert whole.candidates[0]["order"] == "split-k 2" and whole.candidates[0]["matches"] == 15
    one = ulplab.explain(a[1], b[:, 2], c[1, 2], unit=unit, d=d[1, 2])
    assert unit + ", split-k 2" in one.matching and one.value == ulplab.dot(a[1], b[:, 2], c[1, 2], unit=unit)
    assert one.text in program("explain", "--unit", unit, *files, "--at", "1,2")
    with pytest.raises(ValueError, match="takes fp64 operands as they are, without round and policy"):
        ulplab.bound(unit, a, b, round=True)


def test_ctrl_c_ends_a_long_bound_within_a_second():
    a = half((256, 1024), 1)
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    started = time.process_time()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ulplab.bound(HOPPER, a, a.T)  # ten seconds and more
    assert time.process_time() < started + 2


def test_ctrl_c_ends_the_explanation_of_a_product_within_a_second():
    a = half((64, 8192), 1)
    d = numpy.zeros((64, 64), numpy.float32)  # which no way gives: all are tried
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    started = time.process_time()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        ulplab.explain(a, a.T, unit=HOPPER, d=d)
    assert time.process_time() < started + 2


def test_bounds_refuse_in_one_sentence():
    with pytest.raises(ValueError, match="give either k or both a and b"):
        ulplab.bound(HOPPER)
    with pytest.raises(ValueError, match="exact until they wrap"):
        ulplab.bound("sm_80:mma.s8.s32", k=16)
    with pytest.raises(ValueError, match="level"):
        ulplab.bound(HOPPER, k=16, level="running")


def test_explanations_have_the_picture_and_its_fields(program):
    found = ulplab.explain([1, 2**-14], [1, 2**-12], unit="sm_80:mma.fp16.fp16")
    text = program("explain", "--unit", "sm_80:mma.fp16.fp16", "--a", "1,0x1p-14", "--b", "1,0x1p-12")
    assert found.text in text and found.text in repr(found)
    assert [line.split()[0] for line in repr(found).splitlines()[-5:]] == [line.split()[0] for line in
                                                                         text.rstrip().splitlines()[-5:]]
    assert found.value == 1 and found.exact.startswith("1.00000001")
    group = found.steps[0]
    assert group["fraction_bits"] == 24 and group["terms"][0]["k"] == 0 and group["result"] == 1.0
    assert "sm_80:mma.fp16.fp16" in ulplab.explain([1.0], [1.0], unit="sm_80:mma.fp16.fp16", d=1.0).matching


def test_every_kind_of_unit_is_explained():
    for key, a in (("sm_80:mma.s8.s32", [3, 4]), ("sm_100:tcgen05.nvf4.e2m1.fp32", [1.0, 2.0]),
                   (ulplab.units("fp64")[0].key, [0.1, 0.2]), ("gfx90a:mfma.fp16.fp32", [1.0, 0.5])):
        assert "result" in ulplab.explain(a, a, 1, unit=key).text, key
    with pytest.raises(ValueError, match="a has 2 numbers and b 1"):
        ulplab.explain([1.0, 1.0], [1.0], unit=HOPPER)
    with pytest.raises(ValueError, match=r"a\(0, 0\) = 0.1"):
        ulplab.explain([0.1], [1.0], unit=HOPPER)


def test_a_whole_product_names_its_unit():
    a, b = half((8, 256), 3), half((256, 8), 4)
    d = ulplab.matmul(a, b, unit="sm_80:mma.fp16.fp32", order={"split_k": 2})
    best = ulplab.explain(a, b, unit=HOPPER, d=d).candidates[0]
    assert best["matches"] == best["of"] == 64 and "sm_80" in json.dumps(best) and "split-k 2" in json.dumps(best)


def test_what_a_function_reads_of_its_operands_is_asked_first():
    def cut(a, b, c):
        a, b = (ulplab.round(x.astype("f4"), "tf32", "toward_zero") for x in (a, b))
        return ulplab.dot(a, b, c, unit="sm_80:mma.tf32.fp32")

    found = ulplab.discover(cut, input="fp32", k=8, blocks=300)
    assert found.operands["a"] == {"fraction_bits": 10, "rounding": "toward_zero", "subnormals": True}
    assert found.operands["a"] == found.operands["b"] and found.operands["piece_bits"] is None
    assert "sm_80:mma.tf32.fp32" in found.agreeing and "operands a" in repr(found)
    assert ulplab.discover(lambda a, b, c: ulplab.dot(a, b, c, unit="sm_80:mma.fp16.fp32"), blocks=300).operands is None


def test_answers_that_change_between_calls_are_no_findings():
    calls = itertools.count()

    def unstable(a, b, c):
        d = ulplab.dot(a, b, c, unit="sm_80:mma.fp16.fp32")
        return float(numpy.nextafter(d, numpy.float32(9))) if next(calls) % 20 == 0 else d

    found = ulplab.discover(unstable, blocks=300)
    assert not found.deterministic and not found.agreeing and "not deterministic" in repr(found)


def test_a_function_is_discovered():
    found = ulplab.discover(lambda a, b, c: ulplab.dot(a, b, c, unit="sm_80:mma.fp16.fp32"), blocks=300)
    assert "sm_80:mma.fp16.fp32" in found.agreeing and found.fraction_bits == 24 and found.deterministic
    assert "((c 0-7) 8-15)" in repr(found)

    def loop(a, b, c):
        for x, y in zip(a.astype("f4"), b.astype("f4")):
            c = numpy.float32(c + numpy.float32(x * y))
        return c

    with numpy.errstate(all="ignore"):
        assert ulplab.discover(loop, k=4, blocks=300, fit=False).summation_tree == "((((c 0) 1) 2) 3)"

    def broken(a, b, c):
        raise RuntimeError("the unit is on fire")

    with pytest.raises(RuntimeError, match="on fire"):
        ulplab.discover(broken, k=4)
    with pytest.raises(TypeError, match="give a function"):
        ulplab.discover(3)


def test_recordings_are_read_and_verified(tmp_path):
    folder = pathlib.Path(__file__).parents[2] / "recordings" / "h100_80gb_hbm3"
    file = folder / "mma.m16n8k16.bf16.fp32.recording"
    (only,) = ulplab.recordings(file, verify=True)
    assert only.verified and only.unit == "sm_90:mma.bf16.fp32" and only.hardware
    with pytest.raises(ulplab.DataError):
        ulplab.recordings(tmp_path / "nothing")
    damaged = tmp_path / "x.recording"
    damaged.write_text(file.read_text()[:2000])
    with pytest.raises(ulplab.DataError):
        ulplab.recordings(damaged)


@pytest.mark.skipif(SHARED is None, reason="no recordings")
def test_published_recordings_are_arrays():
    folder = sorted(path.parent for path in (SHARED / "recordings").rglob("a_*.txt"))[0]
    for each in ulplab.recordings(folder):
        assert each.a.shape == each.b.shape and len(each.d) == len(each.a)


def test_inspection_is_that_of_the_command_line(program, tmp_path):
    x = numpy.random.default_rng(5).standard_normal((32, 64)).astype("f4") * 1e-6
    numpy.save(tmp_path / "x.npy", x)
    expected = json.loads(program("inspect", tmp_path / "x.npy", "--json"))
    found = ulplab.inspect(tmp_path / "x.npy")
    assert found.__dict__ == expected
    of_array = ulplab.inspect({"weight": x})
    assert of_array.tensors[0]["formats"] == expected["tensors"][0]["formats"] and "weight" in repr(of_array)
    with pytest.raises(ulplab.DataError):
        ulplab.inspect(tmp_path / "none.npy")
