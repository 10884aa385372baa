"""Sums over ranks, attention by tiles, and the gaps of a sampler and a trainer."""

import copy
import json
import pathlib
import time

import numpy
import pytest

import ulplab
from conftest import same_bits

WGMMA = "sm_90:wgmma.bf16.fp32"


def bf16(shape, seed=1, scale=1.0):
    return ulplab.round((numpy.random.default_rng(seed).standard_normal(shape) * scale).astype("f4"), "bf16")


# Sums over ranks


def sum_by_text(parts, text, format):
    """The sum as an order's text says, each addition in fp64 and then rounded."""
    values = {str(rank): part for rank, part in enumerate(parts)}

    class Number:
        def __init__(self, x):
            self.x = x

        def __add__(self, other):
            return Number(float(ulplab.round(self.x + other.x, format)))

    names = {f"r{name}": Number(float(value)) for name, value in values.items()}
    return eval(__import__("re").sub(r"(\d+)", r"r\1", text), {}, names).x  # noqa: S307: the text is ulplab's


@pytest.mark.parametrize("format", ["bf16", "fp16", "fp32"])
@pytest.mark.parametrize("algorithm, ranks, node", [("ring", 5, 8), ("tree", 6, 8), ("tree", 7, 8), ("tree", 1, 8),
                                                    ("two-level", 12, 4), ("two-level", 6, 2)])
def test_a_sum_over_ranks_is_the_one_that_its_order_says(format, algorithm, ranks, node):
    parts = ulplab.round(numpy.random.default_rng(3).standard_normal((ranks, 29)).astype("f4"), format)
    found = ulplab.reduce(parts, algorithm, format=format, node=node)
    for i in range(29):
        assert found.sum[i] == sum_by_text(parts[:, i], found.order(i), format), (i, found.order(i))
    assert numpy.abs(found.error).max() > 0 or ranks == 1
    assert (numpy.abs(found.error) <= found.bound).all()


def test_orders_are_those_of_the_sources():
    def ring(i):
        return ulplab.reduce(numpy.zeros((4, 8), "f4"), "ring").order(i)

    # NCCL's ring: chunk c is sent by rank c + 1 first and finished by rank c.
    assert [ring(0), ring(2), ring(7)] == ["((1 + 2) + 3) + 0", "((2 + 3) + 0) + 1", "((0 + 1) + 2) + 3"]
    # NCCL's trees.cc draws both trees for 14 ranks and for 13.
    even = ulplab.reduce(numpy.zeros((14, 2), "f4"), "tree")
    assert even.order(0) == "0 + ((8 + ((4 + ((2 + 1) + 3)) + ((6 + 5) + 7))) + ((12 + ((10 + 9) + 11)) + 13))"
    assert even.order(1) == "13 + ((5 + ((9 + ((11 + 12) + 10)) + ((7 + 8) + 6))) + ((1 + ((3 + 4) + 2)) + 0))"
    odd = ulplab.reduce(numpy.zeros((13, 2), "f4"), "tree")
    assert odd.order(1).startswith("1 + ((9 + ((5 + ((3 + 2) + 4)) + ((7 + 6) + 8))) + ")
    assert (even.height, even.owner(0)) == (7, None)
    levels = ulplab.reduce(numpy.zeros((4, 4), "f4"), "two-level", node=2)
    assert [levels.order(i) for i in range(4)] == ["(3 + 2) + (1 + 0)", "(1 + 0) + (3 + 2)", "(2 + 3) + (0 + 1)",
                                                   "(0 + 1) + (2 + 3)"]
    assert [levels.owner(i) for i in range(4)] == [0, 2, 1, 3]
    assert [ulplab.reduce(numpy.zeros((3, 7), "f4"), chunk=2).owner(i) for i in range(7)] == [0, 0, 1, 1, 2, 2, 0]


def test_no_error_exceeds_its_bound_and_a_ring_in_bf16_loses_as_ranks_grow():
    errors = {}
    for algorithm in ("ring", "tree", "two-level"):
        for format in ("bf16", "fp16", "fp32"):
            for ranks in (8, 64, 512, 4096):
                rng = numpy.random.default_rng(ranks)
                for kind in range(3):
                    parts = rng.standard_normal((ranks, 24)) * (1, 1e-4, 1)[kind] + (0, 0, 1)[kind]
                    parts = ulplab.round(parts.astype("f4"), format)
                    found = ulplab.reduce(parts, algorithm, format=format)
                    assert (numpy.abs(found.error) <= found.bound).all(), (algorithm, format, ranks, kind)
                    exact = parts.astype("f8").sum(0)
                    assert numpy.abs(found.exact - exact).max() <= 1e-9 * found.magnitude.max()
                    errors[algorithm, format, ranks, kind] = found.rms_error
    # Positive numbers stop to count in a ring: 256 + 1 is 256 in bf16. A tree's additions are as many as its height.
    assert errors["ring", "bf16", 4096, 2] > 0.5 > 10 * errors["tree", "bf16", 4096, 2]
    assert errors["ring", "bf16", 512, 0] > 10 * errors["ring", "fp32", 512, 0]
    ones = ulplab.reduce(numpy.ones((512, 4), "f4"), "ring", format="bf16")
    assert (ones.sum == 256).all() and ones.max_error == 0.5 and 0.4 < ones.max_ratio <= 1


def test_a_sum_over_ranks_has_one_result_and_a_bound_that_overflow_does_not_pass():
    parts = bf16((16, 3000))
    first, again = (ulplab.reduce(parts, "tree", format="bf16").sum for _ in range(2))
    assert same_bits(first, again)
    assert not same_bits(first, ulplab.reduce(parts[::-1], "tree", format="bf16").sum)
    large = ulplab.reduce(numpy.full((8, 3), 30000, "f4"), "ring", format="fp16")
    assert large.not_finite == 3 and numpy.isinf(large.bound).all() and "not finite 3" in repr(large)
    matrices = ulplab.reduce(bf16((4, 2, 3)), "ring", format="bf16")
    assert matrices.sum.shape == (2, 3) and matrices.order((1, 2)) == matrices.order(5)


def test_a_ring_over_1024_ranks_of_a_million_numbers_takes_seconds():
    base = [bf16(10**6, seed) for seed in range(4)]
    parts = [base[rank % 4] for rank in range(1024)]
    start = time.perf_counter()
    found = ulplab.reduce(parts, "ring", format="bf16")
    assert time.perf_counter() - start < 20  # 2 s on two free cores
    assert found.max_ratio <= 1


def test_sums_over_ranks_refuse_what_does_not_fit():
    for message, arguments, options in [
            ("there are ring, tree, two-level", (numpy.zeros((2, 2), "f4"), "star"), {}),
            ("parts has no rank", ([],), {}),
            ("rank 1 has \\(3,\\); give one shape", ([numpy.zeros(2, "f4"), numpy.zeros(3, "f4")],), {}),
            ("a node of 4 does not divide 6 ranks", (numpy.zeros((6, 2), "f4"), "two-level"), {"node": 4}),
            ("element 1 of rank 1 is 0.1, which is not a number of bf16", ([[0.0, 0.0], [0.0, 0.1]],),
             {"format": "bf16"}),
            ("e2m1 is none", (numpy.zeros((2, 2), "f4"),), {"format": "e2m1"}),
            ("4097 ranks; give 1 to 4096", (numpy.zeros((4097, 1), "f4"),), {})]:
        with pytest.raises(ValueError, match=message):
            ulplab.reduce(*arguments, **options)
    assert ulplab.reduce([[0.1], [0.2]], format="bf16", round=True).sum[0] == float(ulplab.round(0.30078125, "bf16"))


# Attention


def attention_in_fp64(q, k, v, causal=False):
    x = q.astype("f8") @ numpy.swapaxes(k.astype("f8"), -1, -2) / numpy.sqrt(q.shape[-1])
    if causal:
        x = numpy.where(numpy.tril(numpy.ones(x.shape[-2:], bool)), x, -numpy.inf)
    x -= x.max(-1, keepdims=True)
    p = numpy.exp(x)
    return p / p.sum(-1, keepdims=True) @ v.astype("f8")


@pytest.mark.parametrize("options", [{}, {"tile": 32}, {"tile": 48, "split": 2}, {"rescale_threshold": 8.0},
                                     {"split": 3, "tile": 32, "rescale_threshold": 8.0}])
@pytest.mark.parametrize("causal", [False, True])
def test_attention_is_near_fp64_in_every_order(options, causal):
    q, k, v = (bf16((2, 3, 100, 32), seed, 1.5) for seed in range(3))
    found = ulplab.attention(q, k, v, causal=causal, **options)
    exact = attention_in_fp64(q, k, v, causal)
    error = numpy.abs(found.out - exact)
    # Weights are off by half an ulp of bf16, and so is the mean of values; scores' sums by much less.
    assert 0 < error.max() <= numpy.abs(v).max() * (2.0**-8 + 2.0**-11)
    assert numpy.sqrt((error**2).mean()) < 1e-3


def test_attention_has_the_bits_of_its_definition():
    """The loop of engine/analysis/tiled_attention.hpp by the package's own products and functions."""
    q, k, v = (bf16((40, 32), seed) for seed in range(3))
    scale, one = numpy.float32(1 / numpy.sqrt(32)), numpy.float32(1)
    out, largest, total = numpy.zeros((40, 32), "f4"), numpy.full(40, -numpy.inf, "f4"), numpy.zeros(40, "f4")
    for first in range(0, 40, 16):
        x = ulplab.matmul(q, numpy.ascontiguousarray(k[first:first + 16].T), unit=WGMMA) * scale
        top = numpy.maximum(largest, x.max(1))
        factor = ulplab.exp(largest - top, "fp32").astype("f4")
        p = ulplab.exp(x - top[:, None], "fp32").astype("f4")
        total = total * factor
        for j in range(p.shape[1]):
            total = total + p[:, j]
        out = ulplab.matmul(ulplab.round(p, "bf16"), v[first:first + 16], out * factor[:, None] * one, unit=WGMMA)
        largest = top
    assert same_bits(ulplab.attention(q, k, v, tile=16).out, out / total[:, None])


def test_tiles_splits_and_thresholds_change_bits_and_heads_do_not():
    q, k, v = (bf16((2, 4, 130, 32), seed, 2) for seed in range(3))
    plain = ulplab.attention(q, k, v)
    for options in ({"tile": 32}, {"split": 2}, {"p_format": "e4m3"}):
        assert not same_bits(ulplab.attention(q, k, v, **options).out, plain.out), options
    lazy = ulplab.attention(q, k, v, tile=16, rescale_threshold=8.0)
    assert lazy.rescaled < ulplab.attention(q, k, v, tile=16).rescaled
    assert same_bits(ulplab.attention(q, k, v, tile=130).out, ulplab.attention(q, k, v, tile=256).out)
    for b in range(2):
        for h in range(4):
            assert same_bits(ulplab.attention(q[b, h], k[b, h], v[b, h]).out, plain.out[b, h])
    grouped = ulplab.attention(q, k[:, :2], v[:, :2])
    assert same_bits(grouped.out[:, 3], ulplab.attention(q[:, 3], k[:, 1], v[:, 1]).out)


def test_attention_goes_backward_and_torch_agrees():
    torch = pytest.importorskip("torch")
    q, k, v, d = (bf16((2, 4, 70, 32), seed) for seed in range(4))
    for causal in (False, True):
        found = ulplab.attention(q, k, v, causal=causal, tile=32)
        gradients = found.backward(d)
        exact = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in (q, k, v)]
        near = [torch.tensor(x).bfloat16().requires_grad_() for x in (q, k, v)]
        for tensors in (exact, near):
            with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
                o = torch.nn.functional.scaled_dot_product_attention(*tensors, is_causal=causal)
            o.backward(torch.tensor(d, dtype=o.dtype))
            tensors.append(o.detach())
        expected = [exact[3].numpy()] + [x.grad.numpy() for x in exact[:3]]
        theirs = [near[3].double().numpy()] + [x.grad.double().numpy() for x in near[:3]]
        for name, ours, right, other in zip(("O", "dQ", "dK", "dV"), (found.out, *gradients), expected, theirs):
            size = numpy.sqrt((right**2).mean())
            error, of_torch = (numpy.sqrt(((x - right)**2).mean()) / size for x in (ours, other))
            assert error < 6e-3, (name, error)
            assert error < 2 * of_torch, (name, error, of_torch)  # the math path rounds S and P to bf16, too
    few = ulplab.attention(q, k[:, :2], v[:, :2])
    d_q, d_k, d_v = few.backward(d)
    assert d_k.shape == (2, 2, 70, 32)
    one, two = (ulplab.attention(q[:, h], k[:, 0], v[:, 0]).backward(d[:, h]) for h in (0, 1))
    assert same_bits(d_k[:, 0], one[1] + two[1]) and same_bits(d_q[:, 1], two[0]) and same_bits(d_v[:, 0], one[2] + two[2])
    tensors = [torch.tensor(x) for x in (q, k, v)]
    assert torch.is_tensor(ulplab.attention(*tensors).backward(torch.tensor(d))[0])


def test_attention_explains_a_row():
    q, k, v = (bf16((2, 50, 16), seed, 2) for seed in range(3))
    found = ulplab.attention(q, k, v, tile=16, causal=True)
    text = found.explain(20, head=1)
    assert "query 20: 50 keys in 4 tiles of 16" in text and "keys 32 to 47: all masked, nothing changes" in text
    assert "11 masked" in text
    assert abs(sum(tile["share"] for tile in found.tiles(20, 1)) - 1) < 1e-5
    split = ulplab.attention(q, k, v, tile=16, split=2).explain(3)
    assert "split 1" in split and "merged in ascending order" in split
    assert "not rescaled, below the threshold" in "".join(
        ulplab.attention(q, k, v, tile=16, rescale_threshold=20.0).explain(i) for i in range(8))


def test_attention_takes_at_most_three_times_its_products():
    q, k, v = (bf16((4, 512, 64), seed) for seed in range(3))

    def seconds(f):
        times = []
        for _ in range(3):
            start = time.perf_counter()
            f()
            times.append(time.perf_counter() - start)
        return min(times)

    def products():
        s = ulplab.matmul(q, numpy.swapaxes(k, -1, -2), unit=WGMMA)
        ulplab.matmul(ulplab.round(s, "bf16"), v, unit=WGMMA)

    assert seconds(lambda: ulplab.attention(q, k, v)) < 6 * seconds(products)  # 3 on a free machine


def test_attention_refuses_what_does_not_fit():
    q = bf16((2, 16, 32))
    for message, call in [
            ("leading extents", lambda: ulplab.attention(q, q[:1, :, :], q)),
            ("Q and K need one width", lambda: ulplab.attention(q, q[..., :16], q)),
            ("3 splits of 16 keys, which are 2 tiles of 8; give 1 to 2", lambda: ulplab.attention(q, q, q, tile=8, split=3)),
            ("a tile of 0 keys", lambda: ulplab.attention(q, q, q, tile=0)),
            ("P in fp32 is not an operand of a unit of bf16", lambda: ulplab.attention(q, q, q, p_format="fp32")),
            ("P in e8m0 .* narrower format with a zero", lambda: ulplab.attention(q, q, q, p_format="e8m0")),
            ("is not a number of bf16", lambda: ulplab.attention(q + numpy.float32(1e-3), q, q)),
            ("a rescale threshold of -1", lambda: ulplab.attention(q, q, q, rescale_threshold=-1)),
            ("give one of O's shape", lambda: ulplab.attention(q, q, q).backward(q[0])),
            ("this unit multiplies fp16 with fp16 in fp16",
             lambda: ulplab.attention(q, q, q, unit="sm_80:mma.fp16.fp16", round=True)),
            ("there is no query 16", lambda: ulplab.attention(q, q, q).explain(16))]:
        with pytest.raises(ValueError, match=message):
            call()


# A sampler and a trainer


def written(path, sequences):
    path.write_text("".join(json.dumps(each) + "\n" for each in sequences))
    return path


def sides(noise, count=4, length=128, seed=5, by_token=False):
    rng = numpy.random.default_rng(seed)
    bias = rng.standard_normal(500)
    a, b = [], []
    for _ in range(count):
        tokens = rng.integers(0, 500, length)
        logs = -rng.gamma(1.0, 1.5, length)
        gap = noise * (bias[tokens] if by_token else rng.standard_normal(length))
        a.append({"tokens": tokens.tolist(), "logprobs": logs.tolist(), "argmax": tokens.tolist()})
        b.append({"tokens": tokens.tolist(), "logprobs": (logs + gap).tolist(), "argmax": tokens.tolist()})
    return a, b


def test_figures_of_a_mismatch_are_those_of_their_definitions(tmp_path, program):
    a, b = sides(0.3)
    b[2]["argmax"][7] += 1
    found = ulplab.mismatch(written(tmp_path / "a.jsonl", a), written(tmp_path / "b.jsonl", b))
    d = numpy.concatenate([numpy.subtract(y["logprobs"], x["logprobs"]) for x, y in zip(a, b)])
    near = pytest.approx
    assert (found.tokens, found.sequences, found.equal) == (512, 4, False)
    assert found.rms == near(numpy.sqrt((d**2).mean())) and found.max == near(numpy.abs(d).max())
    assert found.kl == near((numpy.exp(d) - 1 - d).mean()) and found.mean == near(d.mean())
    assert found.outside == near((numpy.abs(numpy.exp(d) - 1) > 0.2).mean())
    assert found.capped == near((numpy.exp(d) > 2).mean()) and found.argmax_changes == near(1 / 512)
    assert found.sequence_ratio == near([numpy.exp(each.sum()) for each in d.reshape(4, 128)])
    assert abs(found.growth_exponent) < 0.15 and found.growth[2]["first"] == 3 and found.growth[2]["last"] == 6
    largest = int(numpy.abs(d).argmax())
    assert (found.outliers[0]["sequence"], found.outliers[0]["position"]) == divmod(largest, 128)
    text = program("compare", tmp_path / "a.jsonl", tmp_path / "b.jsonl", code=4)
    assert text.rstrip("\n") == repr(found)
    sized = program("compare", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--json", "--set", "layers=24", "--set", "width=896",
                    "--set", "vocabulary=5000", code=4)
    assert json.loads(sized)["model"] == {"layers": 24, "width": 896, "vocabulary": 5000}
    program("compare", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--set", "depth=3", code=2)
    as_json = program("compare", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--json", code=4)
    assert json.loads(as_json) == json.loads(found.to_json())
    program("compare", tmp_path / "a.jsonl", tmp_path / "b.jsonl", "--page", tmp_path / "page.html", code=4)
    page = (tmp_path / "page.html").read_text()
    verdict = page[page.index('class="lead"'):].split("</p>")[0]  # first, with every possible cause and no other one
    assert page.index('class="lead"') < page.index("<h2") and f"{found.rms:.3g}" in verdict and f"{found.max:.3g}" in verdict
    for cause in found.causes:
        assert (cause["name"] in verdict) == (cause["verdict"] == "possible") and cause["reason"] in page


def test_arrays_with_a_mask_are_the_same_tokens(tmp_path):
    a, b = sides(0.1)
    arrays = [{name: numpy.array([x[name] for x in side]) for name in ("tokens", "logprobs")} for side in (a, b)]
    mask = numpy.ones((4, 128), bool)
    mask[:, 100:] = False
    found = ulplab.mismatch(*({**x, "mask": mask} for x in arrays))
    short = ulplab.mismatch(*(written(tmp_path / f"{name}.jsonl", [
        {"token_ids": x["tokens"][:100], "log_probs": x["logprobs"][:100]} for x in side]) for name, side in zip("ab", (a, b))))
    assert json.loads(found.to_json()) == json.loads(short.to_json()) and found.tokens == 400


def test_tokens_one_per_line_are_the_same_sequences(tmp_path, program):
    a, b = sides(0.1, count=3, length=20)
    files = {}
    for name, side in (("a", a), ("b", b)):
        lines = [{"request_id": f"r{i}", "token_id": t, "logprob": p} for i, each in enumerate(side)
                 for t, p in zip(each["tokens"], each["logprobs"])]
        interleaved = [lines[i + 20 * k] for i in range(20) for k in range(3)]  # as an engine writes several requests
        files[name] = written(tmp_path / f"{name}_tokens.jsonl", interleaved)
    found = ulplab.mismatch(files["a"], files["b"])
    whole = [[{name: each[name] for name in ("tokens", "logprobs")} for each in side] for side in (a, b)]
    expected = ulplab.mismatch(written(tmp_path / "a.jsonl", whole[0]), written(tmp_path / "b.jsonl", whole[1]))
    assert json.loads(found.to_json()) == json.loads(expected.to_json()) and found.sequences == 3
    assert "60 tokens in 3 sequences" in program("compare", files["a"], files["b"], code=4)
    one = ulplab.mismatch(*(written(tmp_path / f"{name}_one.jsonl", [{"token": t, "logprob": p} for t, p in zip(
        side[0]["tokens"], side[0]["logprobs"])]) for name, side in (("a", a), ("b", b))))
    assert one.sequences == 1 and one.tokens == 20
    with pytest.raises(ulplab.DataError, match="line 1: a line with logprob needs the token's number; give token_id"):
        ulplab.mismatch(written(tmp_path / "text.jsonl", [{"token": " the", "logprob": -1.0}]), files["a"])


def test_causes_are_judged_by_size_and_shape():
    def verdicts(found):
        return {cause["name"]: cause["verdict"] for cause in found.causes}

    def of(noise, **options):
        a, b = ({name: numpy.array([x[name] for x in side]) for name in ("tokens", "logprobs")}
                for side in sides(noise, count=16, **options))
        return ulplab.mismatch(a, b, layers=24, vocabulary=150000), a, b

    small, a, b = of(0.02)
    assert verdicts(small)["another policy version"] == "unlikely" and verdicts(small)["FP8 rollout"] == "unlikely"
    assert verdicts(small)["order"] == verdicts(small)["bf16 head"] == "possible"
    tile = next(cause for cause in small.causes if cause["name"] == "attention tile")
    assert "position 0 differs, which it cannot make where no prompt" in tile["reason"] and small.first_difference == 0
    rare = {**a, "logprobs": a["logprobs"] - 20}, {**b, "logprobs": b["logprobs"] - 20}
    assert verdicts(ulplab.mismatch(*rare))["order"] == "unknown"
    b["logprobs"][:, :64] = a["logprobs"][:, :64]
    later = ulplab.mismatch(a, b, layers=24, vocabulary=150000)
    assert verdicts(later)["attention tile"] == "possible" and later.first_difference == 64
    assert later.growth_exponent > 0.2
    assert verdicts(of(0.2)[0])["FP8 rollout"] == "possible" and verdicts(of(0.2)[0])["order"] == "unlikely"
    version = of(0.2, by_token=True)[0]
    assert verdicts(version)["another policy version"] == "possible" and version.token_effect["share"] > 0.9
    b["logprobs"] = ulplab.round(b["logprobs"], "bf16")
    assert ulplab.mismatch(a, b).in_bf16 == {"a": False, "b": True}


def test_the_model_of_causes_is_near_what_was_measured():
    """A Llama-like net of 4 layers and width 256, vocabulary 256, logits of deviation about 0.96, bf16: the order plain
    against split-k 4 gave an rms of 1.5e-2."""
    rng = numpy.random.default_rng(0)
    z = 0.96 * rng.standard_normal((4000, 256))
    logs = z - numpy.log(numpy.exp(z).sum(1, keepdims=True))
    tokens = numpy.array([rng.choice(256, p=numpy.exp(x)) for x in logs])
    a = logs[numpy.arange(4000), tokens]
    found = ulplab.mismatch({"tokens": tokens, "logprobs": a},
                            {"tokens": tokens, "logprobs": a + 1.5e-2 * rng.standard_normal(4000)},
                            layers=4, width=256, vocabulary=256)
    order = next(cause for cause in found.causes if cause["name"] == "order")
    assert 1.5e-2 / 3 < order["expected_rms"] < 1.5e-2 * 3 and order["verdict"] == "possible"
    assert 0.85 < found.logit_deviation < 1.05


def test_what_a_mismatch_refuses_and_says(tmp_path, program):
    a, b = sides(0.1, count=2, length=8)
    first = written(tmp_path / "a.jsonl", a)
    same = ulplab.mismatch(first, first)
    assert same.equal and same.rms == 0 and same.sequence_ratio == [1, 1] and "are equal: every figure is 0" in repr(same)
    assert "are equal" in program("compare", first, first)
    b[1]["logprobs"][3] = float("nan")
    bad = ulplab.mismatch(first, written(tmp_path / "nan.jsonl", b))
    assert bad.rms is None and bad.not_finite["b"] == {"count": 1, "sequence": 1, "position": 3} and not bad.causes
    assert "not finite, the first in sequence 1 at position 3: no figures" in repr(bad)
    cases = []
    for name, message, change in [
            ("short", "sequence 1 has 8 tokens in A and 7 in B",
             lambda x: [x[0], {key: value[:7] for key, value in x[1].items()}]),
            ("token", "sequence 0 differs at position 2: token", lambda x: [
                {**x[0], "tokens": x[0]["tokens"][:2] + [999] + x[0]["tokens"][3:]}, x[1]]),
            ("lines", "A has 2 sequences and B 1", lambda x: x[:1]),
            ("lengths", "line 1: 8 tokens, 5 log-probabilities", lambda x: [{**x[0], "logprobs": x[0]["logprobs"][:5]}]),
            ("names", "tokens \\(or token_ids\\) and logprobs", lambda x: [{"text": "x"}])]:
        cases.append((message, written(tmp_path / f"{name}.jsonl", change(a))))
    (tmp_path / "cut.jsonl").write_text('{"tokens": [1')
    (tmp_path / "empty.jsonl").write_text("\n")
    cases += [("cut.jsonl, line 1", tmp_path / "cut.jsonl"), ("A has 2 sequences and B 0", tmp_path / "empty.jsonl"),
              ("missing", tmp_path / "missing.jsonl")]
    for message, file in cases:
        with pytest.raises(ulplab.DataError, match=message):
            ulplab.mismatch(first, file)
    with pytest.raises(ulplab.DataError, match="has no array logprobs"):
        ulplab.mismatch({"tokens": numpy.arange(3)}, first)


# Batch invariance


def test_a_rule_that_splits_by_shape_changes_bits_and_one_order_does_not():
    torch = pytest.importorskip("torch")
    import ulplab.torch

    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(512, 64), torch.nn.GELU(), torch.nn.LayerNorm(64), torch.nn.Linear(64, 64))
    shapes = [1, 64, 128]
    found = ulplab.torch.invariance(model, shapes, rule={64: 4, 128: 1}, recipe="mixed_fp16")
    assert not found.invariant and found.first["shape"] in [(1, 512), (64, 512)] and found.first["against"] == (128, 512)
    assert found.changes[-1]["elements"] == 0 < found.changes[1]["rows"] <= 64
    assert found.changes[0]["orders"] == {"0": ulplab.Order(4), "3": ulplab.Order(4)}
    assert [each["changes"] for each in found.remedies] == [0, 0]
    assert {each["order"] for each in found.remedies} == {ulplab.Order(1), ulplab.Order(4)}
    assert 0 < found.error < 0.01 and "always one chain: 0 elements change" in repr(found)
    row = found.first
    assert row["values"][0] != row["values"][1]
    constant = ulplab.torch.invariance(model, shapes, rule=lambda m, n, k: ulplab.Order(split_k=2), recipe="mixed_fp16")
    assert constant.invariant and constant.first is None and constant.remedies == []
    assert "forward" not in model[0].__dict__
    for message, arguments, options in [
            ("has no Linear layer", (torch.nn.GELU(), shapes), {}),
            (r"does not take floating-point numbers of shape \(128, 5\)", (model, [(1, 5), (128, 5)]), {}),
            ("the part after its embedding", (torch.nn.Sequential(torch.nn.Embedding(9, 512), model), shapes), {}),
            ("give two or more", (model, [(1, 512)]), {}),
            ("the table has no order", (model, shapes), {"rule": {(1, 2, 3): 1}}),
            ("the rule gave no order", (model, shapes), {"rule": lambda m, n, k: None}),
            ("3 has split_k 100, and k = 64", (model, shapes), {"rule": lambda m, n, k: 100}),
            ("dropout is on", (torch.nn.Sequential(model, torch.nn.Dropout()), shapes), {})]:
        with pytest.raises(ValueError, match=message):
            ulplab.torch.invariance(*arguments, **options)
    assert ulplab.torch.invariance(model, [128, 256]).changes[0]["orders"]["0"] == ulplab.Order(split_k=4)


# Two arithmetics of one model


def small_language_model(layers=2, width=64, vocabulary=61):
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm, self.qkv, self.out = nn.LayerNorm(width), nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

        def forward(self, x):
            q, k, v = self.qkv(self.norm(x)).split(width, -1)
            hidden = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).triu(1)
            scores = torch.bmm(q * width**-0.5, k.transpose(1, 2)).masked_fill(hidden, -float("inf"))
            x = x + self.out(torch.bmm(torch.softmax(scores, -1), v))
            return x + self.down(nn.functional.gelu(self.up(x)))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(vocabulary, width)
            self.blocks = nn.ModuleList(Block() for _ in range(layers))
            self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary, bias=False)

        def forward(self, tokens):
            x = self.embed(tokens)
            for block in self.blocks:
                x = block(x)
            return self.head(self.norm(x))

    torch.manual_seed(3)
    model = Model().eval()
    with torch.no_grad():
        for each in model.parameters():
            if each.dim() == 2:
                each.normal_(0, 0.12)
    return model, torch.randint(0, vocabulary, (3, 24))


def test_two_arithmetics_of_one_model_are_compared_and_taken_apart(tmp_path):
    torch = pytest.importorskip("torch")
    import ulplab.torch

    model, tokens = small_language_model()
    fp8 = {"recipe": "fp8"}
    found = ulplab.torch.mismatch(model, tokens, a=fp8, b={})
    logs = found.log_probabilities
    d = (logs["b"] - logs["a"]).numpy()
    assert d.shape == (3, 23) and found.tokens == 69
    assert found.rms == pytest.approx(numpy.sqrt((d**2).mean())) and found.rms > 1e-2
    assert found.distance["a"] > 3 * found.distance["b"] > 0
    with torch.no_grad(), ulplab.torch.emulate("h100", "fp8"):
        expected = torch.log_softmax(model(tokens).double(), -1)[:, :-1].gather(2, tokens[:, 1:, None])[..., 0]
    assert torch.equal(logs["a"], expected)
    assert (found.first["module"], found.first["operation"]) == ("blocks.0.qkv", "addmm")
    growth = {each["module"]: each["relative"] for each in found.growth_by_module}
    assert growth["embed"] == growth["blocks.0.norm"] == 0 < growth["blocks.0.qkv"] < growth["head"]
    parts = found.by_module(["qkv", "blocks.1.up", "head"])
    assert {each["module"] for each in parts} == {"blocks.0.qkv", "blocks.1.qkv", "blocks.1.up", "head", "remainder"}
    assert all(each["rms"] > 0 for each in parts[:-1])
    assert sum(each["share"] for each in parts) == pytest.approx(1)
    assert all(each["ulps"] >= 1 and each["relative"] > 0 for each in parts[:-1])
    assert found.first["line"].startswith("test_agreement.py:") and f"blocks.0.qkv, {found.first['line']}" in repr(found)
    said = []
    remedies = found.remedies(seeds=2, progress=said.append)
    names = [each["name"] for each in remedies]
    assert names[0] == "fp8 rollout with bf16 correction" and remedies[0]["rms"] == 0 and "none" in names
    assert {"fp32 head", "fp32 residual stream", "norms and RoPE in fp32", "fp32 softmax"} <= set(names)
    assert said[0] == f"remedy 1 of {len(names)}: {said[0].split(': ')[1]}" and len(said) == len(names)
    assert [each["rms"] for each in remedies] == sorted(each["rms"] for each in remedies)
    head = next(each for each in remedies if each["name"] == "fp32 head")
    assert head["low"] < head["factor"] < head["high"] and repr(head).startswith("fp32 head ")
    per_token = 2 * (4 * 64 * 64 + 4 * 64 * 64 + 2 * 24 * 64)  # layers: qkv and out, up and down, attention
    assert head["cost"] == {"fp8": 72 * per_token, "bf16": 72 * per_token, "fp32": 2 * 72 * 64 * 61}
    assert remedies[0]["cost"] == {"fp8": 72 * (per_token + 64 * 61), "bf16": 2 * 72 * (per_token + 64 * 61)}
    assert json.loads(found.to_json())["first"]["module"] == "blocks.0.qkv"
    assert "in addmm of blocks.0.qkv, test_agreement.py:" in found.verdict() and "remedy" not in found.verdict()
    found._asked["remedies"].made = remedies
    found.page(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "Best remedy: fp8 rollout with bf16 correction, rms 0." in page.split("class='verdict'>")[1].split("</p>")[0]
    assert "<td>fp32 head</td>" in page and "<td>blocks.1.up</td>" in page and "contributes" not in page
    assert repr(parts).splitlines()[0].split() == ["module", "rms", "share", "relative", "ulps"]


def test_fp16_is_nearer_than_bf16_and_equal_sides_are_equal_in_any_batch():
    pytest.importorskip("torch")
    import ulplab.torch

    model, tokens = small_language_model(layers=4, width=128)
    split = {"order": ulplab.Order(split_k=4)}
    bf16 = ulplab.torch.mismatch(model, tokens, a=split, b={})
    remedies = {each["name"]: each for each in bf16.remedies()}
    assert remedies["one order for all batch sizes"]["rms"] == 0 and "no gap remains" in repr(bf16.remedies(seeds=1))
    assert len(bf16.remedies) == len(remedies) and bf16.remedies[0] is bf16.remedies()[0]  # an attribute, made once
    assert any(str(each).startswith("fp32 head ") for each in bf16.remedies) and "fp32 head" in repr(bf16.remedies)
    assert {each["name"] for each in json.loads(bf16.to_json())["remedies"]} == set(remedies)
    fp16 = remedies["fp16 in place of bf16"]
    assert bf16.rms > 0 and fp16["factor"] > 3  # three more bits of significand
    same = ulplab.torch.mismatch(model, tokens, a={"batch": 1}, b={"batch": 2})
    assert same.equal and same.rms == 0 and same.first is None
    head = ulplab.torch.mismatch(model, tokens, a={"modules": {"head": {"recipe": "fp32"}}}, b={})
    assert [each["module"] for each in head.growth_by_module if each["relative"] > 0] == ["head"]
    assert head.first["module"] == "head" and head.first["operation"] == "mm"


def fused_language_model():
    """One layer of scaled_dot_product_attention, and one of two of four experts."""
    import torch
    from torch import nn

    class Router(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Linear(64, 4, bias=False)

        def forward(self, x):
            return torch.topk(torch.softmax(self.gate(x), -1), 2)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.qkv, self.router = nn.Embedding(61, 64), nn.Linear(64, 192), Router()
            self.experts, self.head = nn.ModuleList(nn.Linear(64, 64) for _ in range(4)), nn.Linear(64, 61)

        def forward(self, tokens):
            x = self.embed(tokens)
            q, k, v = (each.unflatten(-1, (4, 16)).transpose(1, 2) for each in self.qkv(x).split(64, -1))
            x = x + nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2)
            weights, chosen = self.router(x)
            every = torch.stack([each(x) for each in self.experts], -2)
            picked = every.gather(-2, chosen[..., None].expand(*chosen.shape, 64))
            return self.head(x + (picked * weights[..., None]).sum(-2))

    torch.manual_seed(5)
    model = Model().eval()
    return model, torch.randint(0, 61, (2, 80))


def test_attention_by_tiles_is_a_part_of_an_emulation():
    torch = pytest.importorskip("torch")
    import ulplab.torch

    q, k, v, d = (torch.tensor(bf16((2, 4, 48, 16), seed)) for seed in range(4))
    for x in (q, k, v):
        x.requires_grad_()
    how = {"tile": 16, "split": 2, "rescale_threshold": 8.0}
    attend = torch.nn.functional.scaled_dot_product_attention
    expected = ulplab.attention(*(x.detach().numpy() for x in (q, k, v)), causal=True, **how)
    mask = torch.ones(48, 48, dtype=torch.bool).tril()
    for options in ({"is_causal": True}, {"attn_mask": mask}, {"attn_mask": torch.zeros(48, 48).masked_fill(~mask, -1e9)}):
        with ulplab.torch.emulate("h100", "bf16", attention=how):
            out = attend(q, k, v, **options)
        assert same_bits(out.detach().numpy(), ulplab.round(expected.out, "bf16"))
    with ulplab.torch.emulate("h100", "bf16", attention=how):
        attend(q, k, v, is_causal=True).backward(d)
    for x, right in zip((q, k, v), expected.backward(d.numpy())):
        assert same_bits(x.grad.numpy(), ulplab.round(right, "bf16"))
    with ulplab.torch.emulate("h100", attention=how):  # the tensors' types decide
        own = attend(*(x.detach().bfloat16() for x in (q, k, v)), is_causal=True)
    assert own.dtype is torch.bfloat16 and torch.equal(own.float(), out.detach())
    hidden = torch.ones(48, 48, dtype=torch.bool).tril(-1)
    hidden[0] = True
    for message, options, call in [
            ("takes a causal mask or none", {"attention": how}, lambda: attend(q, k, v, attn_mask=hidden)),
            ("nothing called", {"attention": how}, lambda: torch.bmm(q[0], k[0].transpose(1, 2))),
            ("attention has tiles; there are tile, split", {"attention": {"tiles": 3}}, lambda: None),
            ("give against or attention", {"attention": how, "against": "fp32"}, lambda: None),
            ("on a matrix unit; with_ieee", {"attention": how, "recipe": "fp32"}, lambda: attend(q, k, v))]:
        recipe = options.pop("recipe", "bf16")
        with pytest.raises((ValueError, NotImplementedError), match=message):
            with ulplab.torch.emulate("h100" if recipe == "bf16" else "with_ieee(soft:h100)", recipe, **options):
                call()


def test_sides_differ_by_attention_tiles_and_routers_flip():
    torch = pytest.importorskip("torch")
    import ulplab.torch

    model, tokens = fused_language_model()
    found = ulplab.torch.mismatch(model, tokens, a={"attention": {"tile": 16}}, b={"attention": {"tile": 64}})
    assert found.first["operation"] == "scaled_dot_product_attention" and found.rms > 0
    assert found.first["line"].startswith("test_agreement.py:")
    remedies = {each["name"]: each for each in found.remedies(seeds=1)}
    assert remedies["the same attention tile"]["rms"] == 0
    assert remedies["fp32 router"]["cost"]["fp32"] == 2 * 160 * 64 * 4  # the gate alone, not the experts
    wide = ulplab.torch.mismatch(model, tokens, a={"fp32": ["head"], "modules": {"head": {"unit": "a100"}}}, b={"fp32": "head"})
    assert wide.equal  # IEEE sums in both
    fp8 = ulplab.torch.mismatch(model, tokens, a={"recipe": "fp8"}, b={})
    (router,) = fp8.routers
    assert router["module"] == "router" and router["tokens"] == 160 and 0 < router["flips"] < 80
    assert sum(router["lost"]) == sum(router["gained"]) >= router["flips"]
    assert 0 <= router["margin_of_flips"] < router["margin"]  # ties flip first
    assert f"router router: {router['flips']} of 160 tokens go to other experts" in repr(fp8)
    same = ulplab.torch.mismatch(model, tokens, a={}, b={})
    assert same.routers[0]["flips"] == 0 and same.remedies() == [] and "are equal" in repr(same)
    assert all(not each["rms"] and each["share"] == 0 for each in same.by_module)  # embeddings and norms, too


def test_a_side_that_is_not_finite_is_reported_in_place_of_numbers():
    torch = pytest.importorskip("torch")
    import ulplab.torch

    model, tokens = small_language_model()
    with torch.no_grad():
        model.blocks[1].up.weight.mul_(3e5)
    found = ulplab.torch.mismatch(model, tokens, a={"recipe": "mixed_fp16"}, b={})
    assert found.rms is None and found.not_finite["a"]["count"] > 0 and found.not_finite_first["b"] is None
    assert found.not_finite_first["a"]["module"].startswith("blocks.1")
    assert "first value of A that is not finite" in repr(found) and "remedy: " in repr(found)
    assert found.remedies() == [] and "nan" in found.to_json().lower()


def test_a_mismatch_is_drawn(tmp_path):
    pytest.importorskip("torch")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    import ulplab.torch

    axes = ulplab.torch.mismatch(*small_language_model(), a={"recipe": "fp8"}, b={}).plot()
    first, second = (line.get_ydata() for line in axes.get_lines())
    assert len(first) == len(second) == len(axes.get_xticklabels()) and max(second[3:]) > 0
    pyplot.close(axes.figure)


def test_a_llama_of_four_layers_is_compared_in_seconds():
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    import ulplab.torch

    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(transformers.LlamaConfig(
        vocab_size=256, num_hidden_layers=4, hidden_size=256, num_attention_heads=4, intermediate_size=512,
        initializer_range=0.06), attn_implementation="sdpa").eval()
    tokens = torch.randint(0, 256, (4, 96))
    start = time.perf_counter()
    found = ulplab.torch.mismatch(model, tokens, a={"order": ulplab.Order(split_k=4)}, b={})
    assert time.perf_counter() - start < 60  # 15 s on two free cores
    assert 1e-3 < found.rms < 5e-2 and found.first["line"].startswith("modeling_llama.py:")


def test_the_remedies_of_the_guide_are_those_of_its_notebook():
    docs = pathlib.Path(__file__).resolve().parents[3] / "docs"
    notebook = json.loads((docs / "notebooks/sampler_trainer.ipynb").read_text())
    printed = "".join(line for cell in notebook["cells"] for output in cell.get("outputs", []) for line in output["text"])
    table = [line for line in printed.splitlines() if line.startswith("|")]
    assert len(table) > 20
    guide = (docs / "agreement.md").read_text().splitlines()
    assert [line for line in table if line not in guide] == []


def test_a_model_of_low_tensors_computes_by_their_types_on_either_side():
    torch = pytest.importorskip("torch")
    import ulplab.torch

    model, tokens = small_language_model()
    split = {"order": ulplab.Order(split_k=4)}
    for dtype, other in ((torch.bfloat16, "sm_90:mma.fp16.fp32"), (torch.float16, "sm_90:mma.bf16.fp32")):
        low = copy.deepcopy(model).to(dtype)
        found = ulplab.torch.mismatch(low, tokens, a=split, b={})
        with torch.no_grad(), ulplab.torch.emulate("h100", order=split["order"]) as run:
            logits = low(tokens)
        assert other not in run.ways() and found.rms > 0
        expected = torch.log_softmax(logits.double(), -1)[:, :-1].gather(2, tokens[:, 1:, None])[..., 0]
        assert torch.equal(found.log_probabilities["a"], expected)
        assert repr(found).splitlines()[1] == "B recipe of the tensors' types"
        cast = ulplab.torch.mismatch(model, tokens, a={"dtype": dtype, **split}, b={"dtype": dtype})
        assert torch.equal(cast.log_probabilities["a"], expected)
        module = found.growth_by_module[-1]
        assert module["module"] == "head" and 0 < module["differ"] < 1 and module["ulps"] >= 0.5
        assert found.by_module[0]["rms"] > 0
    low = copy.deepcopy(model).bfloat16()
    names = {each["name"]: each for each in ulplab.torch.mismatch(low, tokens, a=split, b={}).remedies(seeds=1)}
    assert names["fp16 in place of bf16"]["cost"].keys() == {"fp16"} and names["fp32 head"]["cost"].keys() == {"bf16", "fp32"}
    assert names["one order for all batch sizes"]["rms"] == 0
    fp8 = ulplab.torch.mismatch(low, tokens, a={"recipe": "fp8"}, b={})
    plain = ulplab.torch.mismatch(copy.deepcopy(low).float(), tokens, a={"recipe": "fp8"}, b={})
    assert torch.equal(fp8.log_probabilities["a"], plain.log_probabilities["a"])  # a recipe carries fp32 tensors
    head = ulplab.torch.mismatch(low, tokens, a={"modules": {"head": {"recipe": "fp32"}}}, b={"fp32": ["head"]})
    assert head.equal and "fp8 rollout with bf16 correction" in {each["name"] for each in fp8.remedies(seeds=1)}
    with pytest.raises(ValueError, match="a has recipe fp8 and dtype torch.float16; a recipe carries its formats in float32"):
        ulplab.torch.mismatch(low, tokens, a={"recipe": "fp8", "dtype": torch.float16}, b={})
    with pytest.raises(ValueError, match="a has dtype 'half'; give torch.float32, float16 or bfloat16"):
        ulplab.torch.mismatch(low, tokens, a={"dtype": "half"}, b={})
    with pytest.raises(ValueError, match=r"modules\['head'\] has a dtype; a module's tensors have the model's"):
        ulplab.torch.mismatch(low, tokens, a={"modules": {"head": {"dtype": torch.float32}}}, b={})
    with pytest.raises(ValueError, match="the sides cast the model to two types"):
        len(ulplab.torch.mismatch(low, tokens, a={"dtype": torch.float16}, b={}).by_module)
    rows = torch.nn.Linear(1024, 64).half()
    found = ulplab.torch.invariance(rows, [1, 64], rule={1: 8, 64: 1})
    assert found.first["values"] == tuple(float(torch.tensor(x).half()) for x in found.first["values"])


def test_what_two_sides_refuse():
    torch = pytest.importorskip("torch")
    import ulplab.torch

    model, tokens = small_language_model()
    for message, arguments, sides in [
            ("b has no precision; a side is a dictionary of unit, recipe", (model, tokens), ({}, {"precision": 1})),
            ("the vocabulary is 0 to 60", (model, tokens + 60), ({}, {})),
            ("the model gives no logits", (torch.nn.Sequential(torch.nn.Embedding(61, 4), torch.nn.Flatten()), tokens), ({}, {})),
            ("Linear has no Embedding and does not take tokens", (torch.nn.Linear(8, 8), tokens), ({}, {})),
            ("no module's path is or ends in 'lm_head'", (model, tokens), ({"modules": {"lm_head": {}}}, {})),
            ("give integers, sequences x places", (model, tokens[0]), ({}, {})),
            ("batch 0", (model, tokens), ({"batch": 0}, {})),
            ("b has split_k 1000, and k = ", (model, tokens), ({}, {"order": {"split_k": 1000}})),
            ("an order of its own; orders are of matrix units", (model, tokens), ({"unit": "ieee", "order": {"split_k": 2}}, {}))]:
        with pytest.raises(ValueError, match=message):
            ulplab.torch.mismatch(*arguments, a=sides[0], b=sides[1])
    noisy = torch.nn.Sequential(model, torch.nn.Dropout())
    with pytest.raises(ValueError, match="dropout is on"):
        ulplab.torch.mismatch(noisy, tokens, a={}, b={})
    model.blocks[0].attention_dropout = 0.1  # as transformers' layers have it
    with pytest.raises(ValueError, match="dropout is on in blocks.0,"):
        ulplab.torch.mismatch(model.train(), tokens, a={}, b={})
    ulplab.torch.mismatch(model.eval(), tokens, a={}, b={})
