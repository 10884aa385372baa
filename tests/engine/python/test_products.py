"""ulplab.matmul: the command line's bits for every unit; shapes, batches, kinds, orders; what it refuses."""

import json
import os
import signal
import subprocess
import threading
import time

import numpy
import pytest

import ulplab
from conftest import codes_of, same_bits

HOPPER = "sm_90:wgmma.fp16.fp32"


def operands(unit, m, k, n, seed=1):
    """Numbers of the unit's formats as its codes or integers, and scales where it has them."""
    rng = numpy.random.default_rng(seed)
    if unit.kind == "integer":
        model = json.loads(unit.description)
        half = 1 << (model["bits"] - 1)

        def integers(shape, signed):
            return rng.integers(-half if signed else 0, half if signed else 2 * half, shape).astype("i2")

        return (integers((m, k), model["a_signed"]), integers((k, n), model["b_signed"]),
                rng.integers(-1000, 1000, (m, n)).astype("i4"), None, None)
    a = codes_of(unit.a_format, (m, k), seed)
    b = codes_of(unit.b_format, (k, n), seed + 1)
    c = ulplab.round(rng.standard_normal((m, n)), unit.accumulator)
    c = c if unit.accumulator == "fp64" else c.astype("f4")
    if unit.kind != "block_scaled":
        return a, b, c, None, None
    blocks = -(-k // unit.scale_block)
    scales = [ulplab.encode(2.0 ** rng.integers(-3, 4, shape), unit.scale_format) for shape in ((m, blocks), (blocks, n))]
    return a, b, c, *scales


def test_every_unit_has_the_bits_of_the_command_line(program, tmp_path):
    for index, unit in enumerate(ulplab.units()):
        a, b, c, a_scales, b_scales = operands(unit, 3, 40, 5, seed=index)
        numpy.save(tmp_path / "a.npy", a)
        numpy.save(tmp_path / "b.npy", b)
        numpy.save(tmp_path / "c.npy", c)
        scales = []
        if a_scales is not None:
            numpy.save(tmp_path / "x.npy", a_scales)
            numpy.save(tmp_path / "y.npy", b_scales)
            scales = ["--a-scales", tmp_path / "x.npy", "--b-scales", tmp_path / "y.npy"]
        program("matmul", "--unit", unit.key, tmp_path / "a.npy", tmp_path / "b.npy", tmp_path / "c.npy", *scales,
                "--out", tmp_path / "d.npy")
        d = ulplab.matmul(a, b, c, unit=unit.key, scales=None if a_scales is None else (a_scales, b_scales))
        assert same_bits(d, numpy.load(tmp_path / "d.npy")), unit.key


def test_orders_and_epilogues_have_the_bits_of_the_command_line(program, tmp_path):
    unit = ulplab.unit(HOPPER)
    a, b, c, _, _ = operands(unit, 4, 256, 6)
    for name, array in (("a", a), ("b", b), ("c", c)):
        numpy.save(tmp_path / f"{name}.npy", array)
    files = [tmp_path / "a.npy", tmp_path / "b.npy", tmp_path / "c.npy", "--out", tmp_path / "d.npy"]
    for options, arguments in ((["--order", "split=4"], {"order": {"split_k": 4}}),
                               (["--order", "promote=64"], {"order": ulplab.Order(promote=64)}),
                               (["--order", "split=4,sum=bf16"], {"order": ulplab.Order(4, sum_format="bf16")}),
                               (["--order", "split=4,sum=bf16,total=fp32,reduce=pairwise"],
                                {"order": {"split_k": 4, "sum_format": "bf16", "total_format": "fp32",
                                           "reduction": "pairwise"}}),
                               (["--alpha", 0.5, "--beta", 2], {"alpha": 0.5, "beta": 2}),
                               (["--policy", "zeros_count"], {"policy": "B"})):
        program("matmul", "--unit", HOPPER, *files, *options)
        assert same_bits(ulplab.matmul(a, b, c, unit=HOPPER, **arguments), numpy.load(tmp_path / "d.npy")), options


def test_orders_of_fp64_units_have_the_bits_of_the_command_line(program, tmp_path):
    unit, rng = "sm_90:mma.fp64.fp64", numpy.random.default_rng(5)
    a, b, c = (rng.standard_normal(shape) for shape in ((4, 256), (256, 6), (4, 6)))
    for name, array in (("a", a), ("b", b), ("c", c)):
        numpy.save(tmp_path / f"{name}.npy", array)
    for options, arguments in ((["--order", "split=4"], {"order": {"split_k": 4}}),
                               (["--alpha", 0.1, "--beta", 1e300], {"alpha": 0.1, "beta": 1e300}),
                               (["--beta", 0], {"beta": 0})):
        program("matmul", "--unit", unit, *(tmp_path / f"{name}.npy" for name in "abc"), *options,
                "--out", tmp_path / "d.npy")
        assert same_bits(ulplab.matmul(a, b, c, unit=unit, **arguments), numpy.load(tmp_path / "d.npy")), options
    with pytest.raises(ValueError, match="choose 1 to 64 pieces"):
        ulplab.matmul(a, b, unit=unit, order={"split_k": 65})


def test_types_strides_and_orders_of_memory_make_no_difference():
    unit = ulplab.unit(HOPPER)
    a, b, c, _, _ = operands(unit, 33, 47, 21)
    half_a, half_b = a.view("f2"), b.view("f2")
    d = ulplab.matmul(a, b, c, unit=HOPPER)
    assert d.dtype == numpy.float32
    for x, y in ((half_a, half_b), (half_a.astype("f4"), half_b.astype("f4")), (half_a.astype("f8"), half_b),
                 (numpy.asfortranarray(half_a), numpy.asfortranarray(half_b.astype("f4"))),
                 (half_a.astype("f4").T.copy().T, half_b.astype("f4").T.copy().T),
                 (numpy.repeat(half_a.astype("f4"), 2, axis=0)[::2], numpy.repeat(half_b, 3, axis=1)[:, ::3]),
                 (half_a[::-1][::-1], half_b.astype(">f2")), (half_a.astype("f4")[::-1].copy()[::-1], half_b)):
        assert same_bits(ulplab.matmul(x, y, c, unit=HOPPER), d)


def test_batches_broadcast_as_numpys_do():
    rng = numpy.random.default_rng(3)
    a = ulplab.round(rng.standard_normal((2, 1, 5, 7)).astype("f4"), "fp16")
    b = ulplab.round(rng.standard_normal((3, 7, 4)).astype("f4"), "fp16")
    d = ulplab.matmul(a, b, unit=HOPPER)
    assert d.shape == (2, 3, 5, 4)
    for i in range(2):
        for j in range(3):
            assert same_bits(d[i, j], ulplab.matmul(a[i, 0], b[j], unit=HOPPER))
    assert same_bits(ulplab.matmul(a, b[0], unit=HOPPER)[1, 0], ulplab.matmul(a[1, 0], b[0], unit=HOPPER))
    assert ulplab.matmul(a[0, 0, 0], b, unit=HOPPER).shape == (3, 4)
    assert ulplab.matmul(a, b[0, :, 0], unit=HOPPER).shape == (2, 1, 5)
    vector = ulplab.matmul(a[0, 0, 0], b[0, :, 0], unit=HOPPER)
    assert vector.shape == () and vector == ulplab.dot(a[0, 0, 0], b[0, :, 0], unit=HOPPER)


def test_products_without_elements():
    empty = numpy.zeros((0, 5), "f4")
    assert ulplab.matmul(empty, numpy.zeros((5, 3), "f4"), unit=HOPPER).shape == (0, 3)
    d = ulplab.matmul(numpy.zeros((2, 0), "f2"), numpy.zeros((0, 3), "f2"), unit=HOPPER)
    assert d.shape == (2, 3) and not d.any()
    assert ulplab.matmul(numpy.zeros((4, 0, 3), "f2"), numpy.zeros((3, 0), "f2"), unit=HOPPER).shape == (4, 0, 0)


def test_the_result_has_the_accumulators_type():
    types = {"fp16": numpy.float16, "fp32": numpy.float32, "fp64": numpy.float64, "s32": numpy.int32}
    for unit in ulplab.units("sm_90"):
        a, b, _, _, _ = operands(unit, 2, 16, 2)
        assert ulplab.matmul(a, b, unit=unit).dtype == types[unit.accumulator], unit.key


def test_packed_codes_are_refused(program, tmp_path):
    # 0x73 and 0x22 hold two codes each: the right product of these halves is 32 * 1.5 + 32 * 6 = 240.
    a, b = numpy.full((2, 32), 0x73, "u1"), numpy.full((32, 2), 0x22, "u1")
    numpy.save(tmp_path / "a.npy", a)
    numpy.save(tmp_path / "b.npy", b)
    for key in ("sm_100:tcgen05.mxf4.e2m1.fp32", "sm_100:tcgen05.nvf4.e2m1.fp32", "sm_100:tcgen05.mxf8f6f4.e2m1.fp32"):
        for call in (lambda: ulplab.matmul(a, b, unit=key), lambda: ulplab.matmul(a % 16, b, unit=key)):
            with pytest.raises(ValueError, match=r"[ab]\(0, 0\) = 0x(73|22) is not a code of e2m1.*packed into a byte"):
                call()
        with pytest.raises(subprocess.CalledProcessError) as refused:
            program("matmul", "--unit", key, tmp_path / "a.npy", tmp_path / "b.npy", "--out", tmp_path / "d.npy")
        assert refused.value.returncode == 3 and not (tmp_path / "d.npy").exists()
        assert "element (0, 0) = 0x73 is not a code of e2m1" in refused.value.stderr


def test_off_grid_operands_are_named_or_rounded():
    a = numpy.full((2, 3), 0.5)
    a[1, 2] = 0.1
    b = numpy.ones((3, 2))
    for array in (a, a.astype("f4"), numpy.asfortranarray(a)):
        with pytest.raises(ValueError, match=r"a\(1, 2\) = 0\.1.* is not a number of fp16; round it first, or give round=True"):
            ulplab.matmul(array, b, unit=HOPPER)
    rounded = ulplab.matmul(ulplab.round(a, "fp16"), b, unit=HOPPER)
    assert same_bits(ulplab.matmul(a, b, unit=HOPPER, round=True), rounded)
    with pytest.raises(ValueError, match=r"b\(0, 1\) = inf is not a number of e4m3"):
        ulplab.matmul(numpy.ones((1, 1)), numpy.array([[1, numpy.inf]]), unit="sm_90:wgmma.e4m3.fp32")
    large = ulplab.matmul(numpy.full((1, 1), 1e6), numpy.ones((1, 1)), unit=HOPPER, round=True, saturate=True)
    assert large[0, 0] == 65504


def test_infinities_and_nans_that_the_format_has_are_operands():
    a = numpy.array([[numpy.inf, 1]], "f2")
    assert ulplab.matmul(a, numpy.ones((2, 1), "f2"), unit=HOPPER)[0, 0] == numpy.inf
    assert numpy.isnan(ulplab.matmul(a, numpy.array([[0], [1]], "f2"), unit=HOPPER)[0, 0])


def test_bad_requests_are_one_sentence():
    a = numpy.ones((2, 2), "f2")
    cases = [(ValueError, "nearest are .*sm_90:wgmma.fp16.fp32", dict(unit="sm_90:wgmma.fp16.fp33")),
             (ValueError, "no policy set 'Z'|Z", dict(unit=HOPPER, policy="Z")),
             (ValueError, "an order has no splitk; there are split_k", dict(unit=HOPPER, order={"splitk": 2})),
             (TypeError, "give ulplab.Order", dict(unit=HOPPER, order=4)),
             (ValueError, "choose 1 to 1 pieces", dict(unit=HOPPER, order={"split_k": 4})),
             (ValueError, "beta scales c", dict(unit=HOPPER, beta=2.0)),
             (ValueError, "alpha is not a finite", dict(unit=HOPPER, alpha=float("nan"))),
             (ValueError, "the blocks are 2 x 1", dict(unit=HOPPER, scales=(a, a)))]
    for kind, text, arguments in cases:
        with pytest.raises(kind, match=text):
            ulplab.matmul(a, a, **arguments)
    with pytest.raises(ValueError, match="a is 2 x 2 and b is 3 x 2: the inner sizes differ"):
        ulplab.matmul(a, numpy.ones((3, 2), "f2"), unit=HOPPER)
    with pytest.raises(ValueError, match="the product is 2 x 2"):
        ulplab.matmul(a, a, numpy.ones((3, 3), "f4"), unit=HOPPER)
    with pytest.raises(TypeError, match="a has type object; give float16"):
        ulplab.matmul(numpy.array([[None, None]]), a, unit=HOPPER)
    with pytest.raises(TypeError, match="a has type int64; give float16"):
        ulplab.matmul(numpy.ones((2, 2), "i8"), a, unit=HOPPER)
    with pytest.raises(TypeError, match="integer units take int8"):
        ulplab.matmul(a, a, unit="sm_90:mma.s8.s32")
    for unit, kind, text in (("H100", ValueError, "is a GPU with several units; give one, 'sm_90:mma.fp16.fp32' say"),
                             ("wgmma", ValueError, "nearest are sm_90:wgmma"), (None, TypeError, "unit is None; give a key")):
        with pytest.raises(kind, match=text):
            ulplab.matmul(a, a, unit=unit)
    with pytest.raises(TypeError, match="beta is 'x'; give a number"):
        ulplab.matmul(a, a, a, unit=HOPPER, beta="x")
    with pytest.raises(ValueError, match=r"a is a batch of \(2,\) matrices and b of \(3,\)"):
        ulplab.matmul(numpy.ones((2, 2, 2), "f2"), numpy.ones((3, 2, 2), "f2"), unit=HOPPER)
    with pytest.raises(TypeError, match="a is a masked array"):
        ulplab.matmul(numpy.ma.masked_array(a, mask=a > 0), a, unit=HOPPER)


def test_elements_are_named_in_the_extents_that_were_given():
    b = numpy.ones((3, 2), "f2")
    for shape, place, text in (((2, 1, 4, 3), (1, 0, 2, 1), "1, 0, 2, 1"), ((3,), (2,), "2"), ((2, 2, 3), (1, 1, 0), "1, 1, 0")):
        a = numpy.ones(shape)
        a[place] = 0.1
        with pytest.raises(ValueError, match=rf"a\({text}\) = 0.1 is not"):
            ulplab.matmul(a, numpy.ones((2, 3, 3, 2), "f2") if len(shape) == 4 else b, unit=HOPPER)
    with pytest.raises(ValueError, match=r"b\(1\) = 0.1 is not"):
        ulplab.dot([1.0, 1.0], [1.0, 0.1], unit=HOPPER)
    with pytest.raises(ValueError, match="x = 0.1 is not a number of fp32"):
        ulplab.exp(0.1)


def test_integers_of_python_are_numbers_of_the_unit():
    assert ulplab.dot([1, 2], [3, 4], unit=HOPPER) == 11
    assert ulplab.dot([1, 2], [3, 4], 5, unit="sm_90:mma.s8.s32") == 16
    assert ulplab.dot([1, 2], [3, 4], unit="sm_90:mma.s8.s32").dtype == numpy.int32
    assert ulplab.matmul([[1, 2]], [[3], [4]], unit=HOPPER).tolist() == [[11]]


def test_a_described_unit_multiplies(tmp_path):
    unit = ulplab.unit("sm_80:mma.fp16.fp32")
    file = tmp_path / "unit.json"
    file.write_text(unit.description)
    a, b, c, _, _ = operands(unit, 3, 32, 3)
    d = ulplab.matmul(a, b, c, unit=unit)
    for other in (str(file), unit.description, ulplab.unit(str(file))):
        assert same_bits(ulplab.matmul(a, b, c, unit=other), d)


def test_ctrl_c_ends_a_long_product_within_a_second():
    a = numpy.zeros((200, 200))
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    started = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        while time.monotonic() < started + 20:  # slow units compute by definition
            ulplab.matmul(a, a, unit="gfx908:mfma.fp16.fp32" if ulplab.units("gfx908:mfma.fp16.fp32") else HOPPER)
    assert time.monotonic() < started + 2


def test_threads_of_python_compute_side_by_side():
    a = ulplab.round(numpy.random.default_rng(5).standard_normal((64, 64)).astype("f4"), "fp16")
    expected = ulplab.matmul(a, a, unit=HOPPER)
    wrong = []

    def work():
        for _ in range(20):
            if not same_bits(ulplab.matmul(a, a, unit=HOPPER), expected):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_arrays_that_another_thread_changes_or_drops_do_no_harm():
    """The result is that of some of the numbers; what another thread drops lives until the call ends."""
    a = numpy.ones((96, 96), "f2")
    held = [numpy.full((96, 96), 2, "f2")]
    stop = threading.Event()

    def change():
        value = 1
        while not stop.is_set():
            value = 3 - value
            a.fill(value)
            held[0] = numpy.full((96, 96), 2, "f2")  # drops the array that a call may be reading

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(60):
            d = ulplab.matmul(a, held[0], unit=HOPPER)
            assert (d >= 192).all() and (d <= 384).all()
            assert set(numpy.unique(ulplab.round(a, "e4m3"))) <= {1, 2}
    finally:
        stop.set()
        thread.join()


@pytest.mark.skipif("ASAN_OPTIONS" in os.environ, reason="the address sanitizer keeps what was freed")
def test_many_small_calls_do_not_grow():
    import resource

    a = numpy.ones((4, 4), "f2")
    for _ in range(2000):
        ulplab.matmul(a, a, unit=HOPPER)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(20000):
        ulplab.matmul(a, a, unit=HOPPER)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 2000


def test_schemes_are_those_of_the_command_line_and_within_their_bounds(program, tmp_path):
    rng = numpy.random.default_rng(3)
    wide, narrow = "sm_90:wgmma.s8.s32", "sm_90:wgmma.bf16.fp32"
    for unit, scheme, dtype, products in ((narrow, "bf16x9", "f4", 9), (narrow, "bf16x3", "f4", 3),
                                          (wide, "ozaki1", "f8", 45), (wide, "ozaki2:7", "f4", 7)):
        a, b, c = (rng.standard_normal(shape).astype(dtype) for shape in ((5, 70), (70, 4), (5, 4)))
        for name, array in (("a", a), ("b", b), ("c", c)):
            numpy.save(tmp_path / f"{name}.npy", array)
        program("matmul", "--unit", unit, "--scheme", scheme, tmp_path / "a.npy", tmp_path / "b.npy", tmp_path / "c.npy",
                "--out", tmp_path / "d.npy")
        d = ulplab.matmul(a, b, c, unit=unit, scheme=scheme)
        assert d.dtype == dtype and same_bits(d, numpy.load(tmp_path / "d.npy"))
        assert same_bits(ulplab.matmul(numpy.stack([a, a]), b, c, unit=unit, scheme=scheme)[1], d)
        found = ulplab.bound(unit, a, b, c, d=d, scheme=scheme)
        assert found.violations == 0 and found.products == products and f"{products} products" in repr(found)
        assert ulplab.bound(unit, a, b, c, d=d + d.dtype.type(1), scheme=scheme).violations == 20
        assert 0 < ulplab.bound(unit, k=70, max_a=3, max_b=3, scheme=scheme).max_absolute < 700
    with pytest.raises(ValueError, match="leave the rest out"):
        ulplab.matmul(a, b, unit=unit, scheme="ozaki1", alpha=2)
    with pytest.raises(ValueError, match="take a row such as sm_90:wgmma.bf16.fp32"):
        ulplab.matmul(a, b, unit=unit, scheme="bf16x9")
    with pytest.raises(ValueError, match="leave the rest out"):
        ulplab.bound(unit, k=4, scheme="ozaki1", level="running")
