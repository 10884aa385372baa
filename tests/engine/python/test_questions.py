"""The questions that end a search: what must be in fp32, which loss scales work, what went wrong, and did a remedy help."""

import json
import os
import pathlib
import warnings

import pytest

torch = pytest.importorskip("torch", reason="skipped: no torch")
import ulplab  # noqa: E402
import ulplab.torch as lab  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from ulplab._search import minimise  # noqa: E402


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


class Norm(nn.Module):
    """A root-mean-square norm whose squares leave fp16, and a layer behind it."""

    def __init__(self, width=16):
        super().__init__()
        self.head = nn.Linear(width, width)

    def forward(self, x):
        return self.head(x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))


def step_of(model, loss_of, optimizer=None):
    """A training step: the loss's gradients, and an update where there is an optimizer."""
    def step(run):
        model.zero_grad()
        loss = loss_of(model)
        loss.backward()
        if optimizer is not None:
            optimizer.step()
        return loss
    return step


def large_rows():
    x = torch.randn(2, 16)
    x[0] *= 300
    return x


# ---- search ----

def test_delta_debugging_leaves_out_what_is_not_needed():
    tried = []

    def suffices(items):
        tried.append(items)
        return {3, 7, 12} <= set(items)

    assert minimise(list(range(20)), suffices) == [3, 7, 12]
    assert len(tried) < 100
    assert minimise([1], lambda items: True) == []


def test_search_finds_the_module_the_scales_and_the_cheapest_recipe():
    model, x = Norm(), large_rows()
    optimizer = torch.optim.SGD(model.parameters(), 0.1, foreach=False)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    step = step_of(model, lambda m: m(x).square().mean(), optimizer)
    asked = dict(recipe="mixed_fp16", model=model, optimizer=optimizer, recipes=("bf16", "fp32"), progress=False)
    found = lab.search(step, **asked)
    assert found.fp32 == ["Norm"] and found.recipe == "bf16"
    lowest, highest = found.scales
    assert lowest == 1 and 2**16 <= highest <= 2**20
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert lab.search(step, **asked).to_json() == found.to_json()
    assert "fp32     Norm" in repr(found) and json.loads(found.to_json())["fp32"] == ["Norm"]


def test_search_finds_the_range_of_loss_scales():
    model, x = nn.Linear(8, 8), torch.randn(4096, 8)
    step = step_of(model, lambda m: (m(x) - 1).square().mean() * 1e-3)
    found = lab.search(step, recipe="mixed_fp16", model=model, recipes=(), progress=False)
    assert found.fp32 == [] and 2 <= found.scales[0] <= 16 and found.scales[1] == 2**24
    assert found.trials[0].reason.startswith("gradients are out of bound")


def test_a_scaler_in_the_step_takes_the_scale_of_the_trial():
    model, x = nn.Linear(8, 8), torch.randn(64, 8)
    for scaler in (torch.amp.GradScaler("cpu", init_scale=2.0**20), lab.GradScaler("pytorch", init_scale=2.0**20)):
        optimizer, seen = torch.optim.SGD(model.parameters(), 0.1, foreach=False), []

        def step(run):
            optimizer.zero_grad()
            loss = (model(x) - 1).square().mean() * 1e3
            scaler.scale(loss).backward()
            seen.append(scaler.get_scale())
            scaler.step(optimizer)
            scaler.update()
            return loss

        found = lab.search(step, recipe="mixed_fp16", model=model, optimizer=optimizer, scaler=scaler, recipes=(),
                           progress=False)
        assert found.fp32 == [] and found.scales[0] == 1 and 2**4 <= found.scales[1] <= 2**16
        assert seen[:2] == [2.0**20, 2.0**8] and scaler.get_scale() == 2.0**20


def test_a_step_may_build_everything_anew_and_return_a_number(capsys):
    def step():
        torch.manual_seed(1)
        return Norm()(large_rows()).square().mean().item()

    found = lab.search(step, recipe="mixed_fp16", recipes=())
    assert found.fp32 == ["Norm"] and found.scales is None
    assert "trial   1: mixed_fp16" in capsys.readouterr().err


def test_a_model_that_nobody_names_is_as_it_was_and_old_gradients_are_refused():
    model, x = Norm().half(), large_rows().half()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    step = step_of(model, lambda m: m(x).float().square().mean(), optimizer)
    before = [each.detach().clone() for each in model.parameters()]
    found = lab.search(step, progress=False)
    assert found.fp32 and all(map(torch.equal, before, model.parameters()))  # a trial's NaN is in none of them
    assert repr(found) == repr(lab.search(step, model=model, optimizer=optimizer, progress=False))
    for each in model.parameters():
        each.grad = torch.full_like(each, float("nan"))

    def adds():
        loss = model(x).float().square().mean()
        loss.backward()
        return loss

    assert "the step adds to gradients of an earlier one: begin it with zero_grad(), or give model=" in repr(lab.search(adds, progress=False))
    assert lab.search(adds, model=model, progress=False).fp32 == found.fp32


def test_search_stops_at_its_limit_and_says_so():
    model, x = Norm(), large_rows()
    found = lab.search(lambda run: model(x), recipe="mixed_fp16", model=model, trials=1, progress=False)
    assert not found.complete and "trials=" in found.verdict


def test_what_is_not_finite_in_fp32_is_not_searched():
    found = lab.search(lambda run: torch.log(nn.Linear(4, 4)(torch.ones(4)) * 0 - 1), progress=False)
    assert found.fp32 is None and "not a matter of precision" in found.verdict and len(found.trials) == 1


# ---- diagnosis ----

def gradient_of_sqrt_at_0():
    model, x = nn.Linear(8, 8), torch.randn(4, 8)
    return dict(step=step_of(model, lambda m: (m(x) * 0).square().sum(-1).sqrt().mean() + m(x).mean()), model=model)


def squares_of_a_norm():
    model, x = Norm(), large_rows()
    return dict(step=step_of(model, lambda m: m(x).square().mean()), model=model)


def small_gradients():
    model, x = nn.Linear(8, 8), torch.randn(4096, 8)
    return dict(step=step_of(model, lambda m: (m(x) - 1).square().mean() * 1e-3), model=model)


def large_gradients():
    model, x = nn.Linear(8, 8), torch.randn(64, 8)
    return dict(step=step_of(model, lambda m: (m(x) - 1).square().mean() * 1e7), model=model)


def eps_of_adam():
    model = nn.Linear(8, 8)

    def step(run):
        optimizer = torch.optim.Adam(model.parameters(), 1e-3, foreach=False)
        return step_of(model, lambda m: m(torch.ones(2, 8)).mean() * 1e-3, optimizer)(run)
    return dict(step=step, model=model, recipe="fp16")


def mask_constant():
    model, x = nn.Linear(8, 8), torch.randn(2, 4, 8)
    keep = torch.tensor([[1.0, 1, 0, 0], [0, 0, 0, 0]])
    return dict(step=lambda run: (model(x) @ x.transpose(1, 2) + (1 - keep[:, None]) * -1e9).softmax(-1), model=model)


def updates_too_small():
    model = nn.Linear(16, 16)
    optimizer = torch.optim.SGD(model.parameters(), 1e-5, foreach=False)
    return dict(step=step_of(model, lambda m: m(torch.ones(2, 16)).square().mean(), optimizer), model=model,
                optimizer=optimizer, recipe="bf16_weights")


def healthy():
    model, x = nn.Linear(8, 8), torch.randn(2, 4, 8)
    mask = torch.ones(4, 4).tril().bool()
    scores = lambda m: (m(x) @ x.transpose(1, 2)).masked_fill(~mask, -torch.inf)  # noqa: E731
    return dict(step=step_of(model, lambda m: scores(m).softmax(-1)[..., 0].mean()), model=model)


HALF, BF16 = torch.float16, torch.bfloat16


def feed_forward():
    """The second layer of a Transformer's feed-forward block, whose first output is 512 * 12^2."""
    model = nn.Sequential(nn.Linear(8, 512, bias=False), nn.ReLU(), nn.Linear(512, 8, bias=False))
    with torch.no_grad():
        model[0].weight.fill_(1.5)
        model[2].weight[0] = 12
    model.to(HALF)
    return dict(step=lambda run: model(torch.ones(2, 8, dtype=HALF)), model=model)


def mask_of_minus_1e9(how):
    model, x = nn.Linear(8, 8).to(HALF), torch.randn(2, 4, 8, dtype=HALF)
    keep = torch.tensor([[1.0, 1, 0, 0], [0, 0, 0, 0]], dtype=HALF)[:, None]

    def step(run):
        scores = model(x) @ x.transpose(1, 2)
        return {"add": lambda: scores + (1 - keep) * -1e9, "fill": lambda: scores.masked_fill(keep == 0, -1e10),
                "finfo": lambda: scores.masked_fill(keep == 0, torch.finfo(HALF).min)}[how]().softmax(-1)
    return dict(step=step, model=model)


def norm_by_hand():
    weight = nn.Parameter(torch.tensor([0.5], dtype=HALF))

    def step(run):
        loss = (weight * 10 + 10).square().sum()
        loss.backward()
        norm = weight.grad.square().sum().sqrt()
        weight.grad.mul_((1 / (norm + 1e-6)).clamp(max=1))
        with torch.no_grad():
            weight.sub_(0.1 * weight.grad)
        return loss
    return dict(step=step, optimizer=torch.optim.SGD([weight], 0.1))


def adam_of_lists():
    model = nn.Linear(8, 8).to(HALF)

    def step(run):
        optimizer = torch.optim.Adam(model.parameters(), 1e-3, foreach=True)
        return step_of(model, lambda m: m(torch.ones(2, 8, dtype=HALF)).float().mean() * 1e-3, optimizer)(run)
    return dict(step=step, model=model)


def count_in_half():
    ones = torch.ones(70000, dtype=HALF)
    return dict(step=lambda run: ones.sum() / torch.tensor(70000.0, dtype=HALF))


def mean_in_half():
    return dict(step=lambda run: torch.ones(70000, dtype=HALF).mean())


def running_sum():
    numbers = torch.ones(400, dtype=BF16)

    def step(run):
        total = torch.zeros((), dtype=BF16)
        for each in numbers:
            total = total + each
        return total
    return dict(step=step)


def average():
    def step(run):
        mean, weight = torch.ones(4, dtype=BF16), torch.full((4,), 1.1, dtype=BF16)
        with torch.no_grad():
            for _ in range(20):
                mean.mul_(0.9999).add_(weight, alpha=1e-4)
        return mean
    return dict(step=step)


def positions():
    def step(run):
        return (torch.arange(2000, dtype=BF16)[:, None] * torch.tensor([1, 0.1, 0.01, 0.001], dtype=BF16)).cos()
    return dict(step=step)


def updates_in_bf16():
    model = nn.Linear(16, 16).to(BF16)
    optimizer = torch.optim.SGD(model.parameters(), 1e-5)
    loss_of = lambda m: m(torch.ones(2, 16, dtype=BF16)).float().square().mean()  # noqa: E731
    return dict(step=step_of(model, loss_of, optimizer), model=model, optimizer=optimizer)


def statistics_of_batches():
    """A running variance that a momentum of 0.001 cannot move in bf16."""
    model, x = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8, momentum=0.001)).to(BF16), torch.randn(32, 8, dtype=BF16)
    return dict(step=lambda run: model(x), model=model)


def autocast_region():
    model, x = nn.Linear(8, 8), torch.randn(1024, 8)

    def loss_of(m):
        with torch.autocast("cpu", HALF):
            y = m(x)
        return (y.float() - 1).square().mean() * 1e-4
    return dict(step=step_of(model, loss_of), model=model)


OWN_TYPES = [
    (feed_forward, "overflow forward", "fp32=['2']"), (lambda: mask_of_minus_1e9("add"), "constant", "in place of -1e+09"),
    (lambda: mask_of_minus_1e9("fill"), "constant", "in place of -1e+10"), (lambda: mask_of_minus_1e9("finfo"), "none", ""),
    (norm_by_hand, "overflow in the norm of gradients", "fp32=['pow']"), (adam_of_lists, "eps", "in place of 1e-08"),
    (count_in_half, "overflow of a sum", "fp32=['sum']"), (mean_in_half, "none", ""),
    (running_sum, "swamped sum", "fp32=['add']"), (average, "average stands still", "in fp32"),
    (positions, "positions merged", "in fp32"),
    (updates_in_bf16, "updates lost", "in fp32"), (statistics_of_batches, "updates lost", "in fp32"),
    (autocast_region, "underflow of gradients", "a loss scale from 2^")]


@pytest.mark.parametrize("make, kind, remedy", OWN_TYPES, ids=[f"{each[1]} {i}" for i, each in enumerate(OWN_TYPES)])
def test_the_cause_where_the_tensors_own_types_decide(make, kind, remedy):
    found = lab.diagnose(**make())
    assert (found.kind, found.works) == (kind, None if kind == "none" else True), found
    assert remedy in found.remedy, found


CASES = [(gradient_of_sqrt_at_0, "not finite in fp32", "an eps of 2^-20"),
         (squares_of_a_norm, "overflow forward", "fp32=['Norm']"),
         (small_gradients, "underflow of gradients", "a loss scale from 2^"),
         (large_gradients, "overflow backward", "a loss scale from 2^-"), (eps_of_adam, "eps", "in place of 1e-08"),
         (updates_too_small, "updates lost", "recipe='bf16'"),
         (healthy, "none", "nothing")]


@pytest.mark.parametrize("make, kind, remedy", CASES, ids=[each[0].__name__ for each in CASES])
def test_the_cause_and_a_remedy_that_works(make, kind, remedy):
    found = lab.diagnose(**{"recipe": "mixed_fp16", **make()})
    assert found.kind == kind, found
    assert remedy in found.remedy and found.works is (None if kind == "none" else True), found
    assert json.loads(found.to_json())["kind"] == kind and repr(found).startswith("cause ")


def test_an_overflow_of_a_mask_names_its_place_and_the_operands():
    found = lab.diagnose(recipe="mixed_fp16", **mask_constant())
    assert found.works and any("test_questions.py:" in each for each in found.evidence)
    assert any("1e+09" in each for each in found.evidence)


def test_the_place_of_an_overflow_has_module_line_and_magnitudes():
    first = lab.diagnose(recipe="mixed_fp16", **squares_of_a_norm()).against.first_not_finite
    assert (first["module"], first["pass"], first["operation"]) == ("Norm", "forward", "pow")
    assert first["line"].startswith("test_questions.py:") and first["fp32"] > 65504 and "up to" in first["operands"][0]


def test_the_page_prints_what_the_program_prints(capsys):
    page = (pathlib.Path(__file__).parents[3] / "docs" / "python.md").read_text()
    code, printed = page.split("### Why a step fails")[1].split("```python\n")[1].split("```\n\nprints\n\n```text\n")
    exec(compile(code, "step.py", "exec"), {"__name__": "step"})
    assert capsys.readouterr().out == printed.split("```")[0]


# ---- the run beside ----

def test_companions_are_what_plain_fp32_gives():
    model, x = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4)), torch.randn(5, 8)
    plain = model(x)
    plain.square().mean().backward()
    wanted = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    with lab.emulate("h100", "bf16", against="fp32") as run:
        y = model(x)
        y.square().mean().backward()
        beside = [run.shadow.of(x) for x in (y, *(p.grad for p in model.parameters()))]
    assert not torch.equal(y, plain)
    assert all(torch.allclose(x, exact, rtol=1e-5, atol=1e-7) for x, exact in zip(beside, [plain, *wanted]))
    report = run.report()
    assert 0 < max(each["error"] for each in report.against.operations) < 0.05
    assert report.against.findings() == [] and "against fp32" in repr(report)
    assert {"module": "0", "pass": "forward"}.items() <= report.against.operations[0].items()


def test_the_emulated_bits_do_not_depend_on_the_run_beside():
    model, x = nn.Linear(8, 8), torch.randn(4, 8)
    with lab.emulate("h100", "bf16"):
        plain = model(x).tanh()
    with lab.emulate("h100", "bf16", against="fp32"):
        assert torch.equal(model(x).tanh(), plain)
    for ask in (lab.search, lab.diagnose, lambda _, unit: lab.emulate(unit)):
        with pytest.raises(ValueError, match="'mixed_fp16' is a recipe"):
            ask(lambda: None, "mixed_fp16")
    with pytest.raises(ValueError, match="give 'fp32'"):
        lab.emulate("h100", "bf16", against="fp64")


def test_saturation_of_delayed_scales_is_counted():
    model, x = nn.Linear(32, 32), torch.randn(16, 32) * 1000
    with torch.no_grad(), lab.emulate("h100", "te_delayed", against="fp32") as run:
        model(x)
        first = sum(each["saturated"] for each in run.report().against.operations)
        model(x)
    assert 0 < first == int((x.bfloat16().abs() > 464).sum()) == run.report().modules["Linear"]["saturated"] == sum(each["saturated"] for each in run.report().against.operations)
    assert any(kind == "saturation" for kind, _, _ in run.report().against.findings())


def test_saturation_under_each_scaled_recipe_is_counted_in_the_report():
    model, x = nn.Linear(32, 32, bias=False), torch.randn(16, 32) * 1000
    beyond = int((x.bfloat16().abs() > 464).sum())
    for recipe, expected in {"fp8": beyond, "te_delayed": beyond, "te_current": 0, "bf16": 0}.items():
        with torch.no_grad(), lab.emulate("h100", recipe) as run:
            model(x)  # without a history: the scale is 1
            model(x)
        assert run.report().modules["Linear"]["saturated"] == expected, recipe
        assert ("saturated: " in repr(run.report())) == bool(expected)
    assert beyond > 0


def test_saturation_of_blocks_whose_scales_are_rounded_down_is_counted():
    model, x = nn.Linear(70, 32, bias=False), torch.randn(16, 70).bfloat16().float()
    with torch.no_grad(), lab.emulate("b200", "mxfp8") as run:
        model.weight.fill_(1.0)
        model(x)
    padded = F.pad(x, (0, 26)).unflatten(-1, (3, 32))
    scale = torch.exp2(padded.abs().amax(-1, keepdim=True).log2().floor() - 8)
    codes = ulplab.dequantize(ulplab.quantize(padded.flatten(1), "mxfp8")).unflatten(-1, (3, 32))
    clipped = (codes.abs() == 448 * scale) & (padded.abs() > 464 * scale)
    assert run.report().modules["Linear"]["saturated"] == int(clipped.sum()) > 0
    assert "numbers of products' operands, module Linear" in repr(run.report())
    with torch.no_grad(), lab.emulate("b200", "mxfp8_nv") as run:
        model(x)
        assert model(x[:0]).shape == (0, 32)
    assert run.report().modules["Linear"]["saturated"] == 0


def test_absorbed_addends_and_merged_positions_are_counted():
    with lab.emulate("h100", against="fp32") as run:
        x = torch.ones(8, dtype=BF16) + torch.tensor([1e-3] * 5 + [1.0] * 3, dtype=BF16)
        merged = torch.arange(600, dtype=BF16)
        far = run.shadow.of(x)
    operations = {each["operation"]: each for each in run.report().against.operations}
    assert (operations["add"]["absorbed"], operations["add"]["addends"]) == (5, 8) and far[0] > 1
    assert operations["arange"]["merged"] == 600 - merged.unique().numel()


# ---- recording ----

def net():
    return nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.5), nn.BatchNorm1d(32), nn.Linear(32, 4))


def test_a_recorded_step_is_the_same_here(tmp_path):
    model, x, y = net(), torch.randn(64, 8), torch.randint(0, 4, (64,))
    optimizer = torch.optim.Adam(model.parameters())
    scaler = lab.GradScaler("pytorch", init_scale=2.0**20)
    recorder = lab.record(model, tmp_path / "dump", optimizer=optimizer, scaler=scaler)
    for step in range(3):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        assert recorder(loss, always=step == 2, labels=y) is (step == 2)
        gradients = [p.grad / scaler.get_scale() for p in model.parameters()]
        scaler.step(optimizer)
        scaler.update()
    recorder.close()
    assert os.listdir(tmp_path) == ["dump"] and recorder.written == [str(tmp_path / "dump")]
    torch.manual_seed(5)
    other = net()
    replayed = lab.replay(tmp_path / "dump", other, lambda out, kept: F.cross_entropy(out, kept["labels"]),
                          optimizer=torch.optim.Adam(other.parameters()))
    for _ in range(2):
        assert replayed().item() == loss.item() == replayed.recorded_loss
    assert all(torch.allclose(p.grad, g, rtol=1e-6) for p, g in zip(other.parameters(), gradients))
    assert all(torch.equal(a, b) for a, b in zip(model.parameters(), other.parameters()))
    assert replayed.autocast is None and lab.diagnose(replayed, "ieee").kind == "none"


def test_a_step_that_fails_is_written_and_diagnosed(tmp_path):
    model, x = Norm(), torch.randn(2, 16)
    recorder = lab.record(model, tmp_path / "dump")
    with torch.autocast("cpu", torch.bfloat16):
        y = model(x)
    assert recorder(y.sum() * torch.nan)
    replayed = lab.replay(tmp_path / "dump", Norm(), lambda out, kept: out.square().mean())
    assert replayed.autocast == ["cpu", "bfloat16"] and replayed.recorded_loss != replayed.recorded_loss
    assert lab.diagnose(replayed).kind == "none"
    with pytest.raises(ValueError, match="dump exists"):
        lab.record(model, tmp_path / "dump")
    with pytest.raises(ulplab.DataError, match="differ"):
        lab.replay(tmp_path / "dump", nn.Linear(16, 16))
    with pytest.raises(ulplab.DataError, match="holds no recorded step"):
        lab.replay(tmp_path, Norm())


# ---- scalers ----

@pytest.mark.parametrize("dialect", ["pytorch", "apex", "fairseq", "deepspeed", "megatron"])
def test_a_scaler_says_what_is_not_a_matter_of_the_scale(dialect):
    weight = nn.Parameter(torch.ones(4))
    scaler, optimizer = lab.GradScaler(dialect), torch.optim.SGD([weight], 0.1)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(26):
            optimizer.zero_grad()
            scaler.scale((weight * 0).square().sum().sqrt()).backward()
            scaler.step(optimizer)
            scaler.update()
    assert "not a matter of the scale" in scaler.remark and scaler.skipped == 26
    assert [each.category for each in caught] == [RuntimeWarning]


def test_a_scale_that_has_to_fall_is_no_reason_for_a_remark():
    weight = nn.Parameter(torch.ones(4))
    scaler, optimizer = lab.GradScaler("pytorch", init_scale=2.0**40), torch.optim.SGD([weight], 0.1)
    for _ in range(30):
        optimizer.zero_grad()
        scaler.scale((weight * 1e30).sum()).backward()
        scaler.step(optimizer)
        scaler.update()
    assert scaler.remark is None and scaler.skipped == 0


def test_an_infinity_at_a_scale_of_1_is_no_matter_of_the_scale():
    weight = nn.Parameter(torch.ones(4))
    scaler, optimizer = lab.GradScaler("pytorch", init_scale=4.0), torch.optim.SGD([weight], 0.1)
    with pytest.warns(RuntimeWarning, match="infinite at a loss scale of 1"):
        for _ in range(4):
            optimizer.zero_grad()
            scaler.scale((weight * 1e30).square().sum()).backward()
            scaler.step(optimizer)
            scaler.update()
