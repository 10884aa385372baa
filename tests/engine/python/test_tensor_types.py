"""emulate without a recipe: the tensors' own types decide, as on a card."""

import collections
import copy
import importlib
import json

import numpy
import pytest

torch = pytest.importorskip("torch")

import ulplab  # noqa: E402
import ulplab.torch  # noqa: E402
from conftest import same_bits  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402
from torch.utils.checkpoint import checkpoint  # noqa: E402

UNITS = {torch.float16: "sm_90:mma.fp16.fp32", torch.bfloat16: "sm_90:mma.bf16.fp32"}
LOW = list(UNITS)


def emulated(**options):
    return ulplab.torch.emulate("h100", **options)


def product(a, b):
    return torch.from_numpy(ulplab.matmul(a.float().numpy(), b.float().numpy(), unit=UNITS[a.dtype]))


def mlp(seed=1):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 8)), torch.randn(4, 16)


@pytest.mark.parametrize("name", sorted(ulplab._private.NAMES))
def test_the_private_names_are_there(name):
    assert hasattr(importlib.import_module(name[0]), name[1])
    assert hasattr(torch.ones(1, requires_grad=True).exp().grad_fn, "_sequence_nr")


def test_an_old_pytorch_is_refused_in_a_sentence():
    with pytest.raises(ImportError, match=r"needs PyTorch 2.8 or later \(tested up to 2.13\), and this is 2.1.0"):
        ulplab._private.check_version("2.1.0")


def test_a_new_pytorch_without_a_private_name_is_refused_in_a_sentence(monkeypatch):
    ulplab._private.check_version("2.99.0")
    monkeypatch.delattr(torch, "_disable_dynamo")
    with pytest.raises(ImportError, match=r"tested up to 2.13\), and this is 2.99.0, which has no torch._disable_dynamo"):
        ulplab._private.check_version("2.99.0")


@pytest.mark.parametrize("recipe", [None, "bf16"])
def test_a_unit_that_is_none_is_refused_when_it_is_named(recipe):
    for unit in ("h1000", "sm_90:wgmma.fp16.fp33", "nowhere.json"):
        with pytest.raises(ValueError, match=unit.replace(".", r"\.")):
            ulplab.torch.emulate(unit, recipe)


@pytest.mark.parametrize("dtype", LOW)
def test_a_layer_of_attention_is_fused_where_no_weights_are_asked_for(dtype):
    torch.manual_seed(0)
    layer, x = nn.MultiheadAttention(32, 4, batch_first=True).to(dtype), torch.randn(2, 7, 32).to(dtype)

    def joined(y):
        return layer.out_proj(y.transpose(1, 2).flatten(2))

    with emulated():
        fused, (plain, weights) = layer(x, x, x, need_weights=False)[0], layer(x, x, x, average_attn_weights=False)
        qkv = functional.linear(x, layer.in_proj_weight, layer.in_proj_bias).chunk(3, -1)
        q, k, v = (each.unflatten(-1, (4, 8)).transpose(1, 2) for each in qkv)
        rounded = torch.softmax((q * 8**-0.5) @ k.transpose(-1, -2), -1)
        assert torch.equal(fused, joined(functional.scaled_dot_product_attention(q, k, v)))
        assert torch.equal(weights, rounded) and torch.equal(plain, joined(rounded @ v)) and not torch.equal(plain, fused)


@pytest.mark.parametrize("dtype", LOW)
def test_a_product_is_that_of_its_types_row_rounded_once(dtype):
    torch.manual_seed(0)
    a, b, c = torch.randn(5, 70).to(dtype), torch.randn(70, 6).to(dtype), torch.randn(6).to(dtype)
    with emulated() as run:
        d, e = a @ b, torch.addmm(c, a, b)
        wide = a.float() @ b.float()
    assert torch.equal(d, product(a, b).to(dtype)) and torch.equal(e, (product(a, b) + c.float()).to(dtype))
    assert d.dtype is dtype and wide.dtype is torch.float32 and run.report().products == {"": 3}
    step = torch.zeros(5, 6)
    for i in range(70):  # IEEE's fp32, in ascending k
        step = step + a.float()[:, i:i + 1] * b.float()[i:i + 1]
    assert same_bits(wide.numpy(), step.numpy())


def test_fp32_products_are_tf32s_where_pytorch_allows_it():
    a, b = torch.full((1, 1), 1 + 2.0**-20), torch.ones(1, 1)
    before = torch.backends.cuda.matmul.allow_tf32
    try:
        found = {}
        for allowed in (False, True):
            torch.backends.cuda.matmul.allow_tf32 = allowed
            with emulated():
                found[allowed] = (a @ b).item()
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before
    assert found == {False: 1 + 2.0**-20, True: 1.0}


@pytest.mark.parametrize("recipe", [None, "bf16"])
def test_a_product_says_that_its_result_stays_fp32(recipe):
    torch.manual_seed(0)
    a, b, c = torch.randn(16, 64).bfloat16(), torch.randn(64, 8).bfloat16(), torch.randn(8).bfloat16().float()
    wide = torch.from_numpy(ulplab.matmul(a.float().numpy(), b.float().numpy(), unit=UNITS[torch.bfloat16]))
    if recipe:
        a, b = a.float(), b.float()
    with emulated(recipe=recipe):
        assert torch.equal(torch.mm(a, b, out_dtype=torch.float32), wide)
        assert torch.equal(torch.bmm(a[None], b[None], out_dtype=torch.float32)[0], wide)
        assert torch.equal(torch.addmm(c, a, b, out_dtype=torch.float32), wide + c)
        assert not torch.equal(torch.mm(a, b).float(), wide)
        with pytest.raises(RuntimeError, match="a card has the operands' type and float32"):
            torch.mm(a, b, out_dtype=torch.float16)


@pytest.mark.parametrize("recipe", ["bf16", "mixed_fp16", "bf16_true"])
def test_what_an_optimizer_computes_in_bf16_is_the_units_under_a_recipe_too(recipe, monkeypatch):
    def trained(recipe):
        torch.manual_seed(0)
        layer, gradient = nn.Linear(64, 32, bias=False), torch.randn(32, 64)
        for p in layer.parameters():
            p.data, p.grad = p.data.bfloat16().float(), gradient.bfloat16().float()
        optimizer = torch.optim.Muon(layer.parameters(), lr=2.0**-6, weight_decay=0, momentum=0, nesterov=False)
        if recipe == "in fp32":
            with monkeypatch.context() as patch:
                patch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
                optimizer.step()
            return layer.weight.detach()
        with emulated(recipe=recipe) as run:
            optimizer.step()
        assert dict(run.ways()) == {"sm_90:mma.bf16.fp32": 15}
        return layer.weight.detach()

    expected, found = trained(None), trained(recipe)
    if recipe == "bf16_true":  # whose weights are bf16
        assert torch.equal(found, found.bfloat16().float()) and (found - expected).abs().max() < 2.0**-9
    else:
        assert (found - expected).abs().max() < 1e-7 < 1e-5 < (expected - trained("in fp32")).abs().max()


def test_what_an_optimizer_computes_in_bf16_and_nobody_emulates_is_in_the_report():
    class Orthogonal(torch.optim.SGD):
        def step(self):
            for p in self.param_groups[0]["params"]:
                p.data -= torch.linalg.qr(p.grad.bfloat16())[0].float()

    layer = nn.Linear(8, 8, bias=False)
    layer.weight.grad = torch.randn(8, 8)
    with emulated(recipe="bf16", strict=False) as run:
        Orthogonal(layer.parameters(), lr=1).step()
    assert run.report().not_emulated["aten::linalg_qr"] == 1


def test_products_added_one_after_the_other_are_rounded_each():
    torch.manual_seed(0)
    c, a, b = torch.randn(4, 6).half(), torch.randn(3, 4, 32).half(), torch.randn(3, 32, 6).half()
    with emulated() as run:
        found = torch.addbmm(c, a, b, beta=0.5, alpha=2)
        expected = torch.addmm(c, a[0], b[0], beta=0.5, alpha=2)
        for x, y in zip(a[1:], b[1:]):
            expected = torch.addmm(expected, x, y, alpha=2)
    assert torch.equal(found, expected) and int(run.report().products) == 6


def test_forward_mode_differentiation_has_the_units_products():
    torch.manual_seed(0)
    layer, x, t = nn.Linear(32, 16).bfloat16(), torch.randn(8, 32).bfloat16(), torch.randn(8, 32).bfloat16()
    with emulated():
        y, dy = torch.func.jvp(layer, (x,), (t,))
        assert torch.equal(y, layer(x)) and torch.equal(dy, t @ layer.weight.t())
        hessian = torch.func.hessian(lambda z: layer(z).float().square().sum())(x[:1])
    assert hessian.shape == (1, 32, 1, 32) and hessian.isfinite().all()


def test_flex_attention_is_refused_in_a_sentence():
    flex = importlib.import_module("torch.nn.attention.flex_attention")
    q = torch.randn(1, 2, 128, 32).bfloat16()
    with emulated(), pytest.raises(NotImplementedError, match="use torch.nn.functional.scaled_dot_product_attention"):
        flex.flex_attention(q, q, q)


class Wrapped(torch.Tensor):
    """A tensor of a class of its own, as quantised weights are, that holds another."""

    @staticmethod
    def __new__(cls, inside):
        return torch.Tensor._make_wrapper_subclass(cls, inside.shape, dtype=inside.dtype)

    def __init__(self, inside):
        self.inside = inside

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        return func(*(x.inside if isinstance(x, cls) else x for x in args), **(kwargs or {}))


@pytest.mark.parametrize("recipe", [None, "bf16"])
def test_the_operations_of_a_class_of_tensors_are_seen(recipe):
    torch.manual_seed(0)
    a, b = torch.randn(16, 64), torch.randn(64, 16)
    a, b = (a, b) if recipe else (a.bfloat16(), b.bfloat16())
    with emulated(recipe=recipe) as run:
        expected = a @ b
        found = a @ Wrapped(b)
    assert torch.equal(found, expected) and int(run.report().products) == 2


def test_float8_products_go_through_scaled_mm():
    a, b = torch.randn(16, 32).to(torch.float8_e4m3fn), torch.randn(16, 32).to(torch.float8_e4m3fn).t()
    with emulated() as run:
        d = torch._scaled_mm(a, b, scale_a=torch.tensor(2.0), scale_b=torch.tensor(0.5), out_dtype=torch.bfloat16)
    expected = ulplab.matmul(a.float().numpy(), b.float().numpy(), unit="sm_90:wgmma.e4m3.fp32")
    assert torch.equal(d, torch.from_numpy(expected).bfloat16()) and int(run.report().products) == 1
    assert run.report().path == "1 in sm_90:wgmma.e4m3.fp32, promoted every 128"


@pytest.mark.parametrize("dtype", LOW)
@pytest.mark.parametrize("function", [torch.exp, torch.rsqrt, functional.silu, functional.gelu,
                                      lambda x: x.pow(2), lambda x: x / 3, torch.sigmoid, lambda x: x.clamp(0.1, 2)])
def test_pointwise_operations_compute_in_fp32_and_round_once_each(dtype, function):
    x = (torch.rand(1000) + 0.01).to(dtype)
    with emulated():
        y = function(x)
    assert y.dtype is dtype and torch.equal(y, function(x.float()).to(dtype))


def test_sums_have_a_written_order_and_are_rounded_once():
    torch.manual_seed(0)
    x = torch.randn(7, 300).half()
    with emulated():
        sums, mean, norm = x.sum(1), x.mean(), x.norm()
    wide = x.float()
    while wide.shape[1] > 1:
        half = (wide.shape[1] + 1) // 2
        first = wide[:, :half].clone()
        first[:, :wide.shape[1] - half] += wide[:, half:]
        wide = first
    assert torch.equal(sums, wide[:, 0].half())
    assert mean.dtype is norm.dtype is torch.float16 and abs(norm.item() - x.double().norm().item()) < 0.05


@pytest.mark.parametrize("dtype", LOW)
def test_the_bits_do_not_depend_on_threads(dtype):
    before, results = torch.get_num_threads(), []
    for threads in (1, 3):
        torch.set_num_threads(threads)
        torch.manual_seed(3)
        model = nn.Sequential(nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True), nn.LayerNorm(32),
                              nn.Linear(32, 8)).to(dtype)
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2, eps=1e-4)
        with emulated():
            for _ in range(2):
                loss = model(torch.ones(4, 6, 32, dtype=dtype)).float().pow(2).mean()
                loss.backward()
                optimizer.step()
        results.append([p.detach().float().numpy() for p in model.parameters()])
    torch.set_num_threads(before)
    assert all(same_bits(x, y) for x, y in zip(*results))


@pytest.mark.parametrize("options", [{"foreach": False}, {"foreach": True}, {"fused": True}])
def test_half_models_train_with_every_kind_of_step(options):
    model, x = mlp()
    model.half()
    optimizer, losses = torch.optim.AdamW(model.parameters(), lr=1e-3, eps=1e-4, **options), []
    with emulated() as run:
        for _ in range(4):
            optimizer.zero_grad()
            loss = (model(x.half()).float() - 1).pow(2).mean()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert losses[-1] < losses[0] and run.report().first_not_finite is None and not run.report().not_emulated


def test_attention_keeps_its_scores_in_fp32():
    torch.manual_seed(0)
    q = (torch.randn(2, 4, 5, 8) * 200).half().requires_grad_()
    k, v = (torch.randn(2, 2, 7, 8) * 200).half(), torch.randn(2, 2, 7, 8).half()
    with emulated() as run:
        y = functional.scaled_dot_product_attention(q, k, v, enable_gqa=True, scale=1.0)
        y.float().sum().backward()
    expected = functional.scaled_dot_product_attention(*(x.detach().float() for x in (q, k, v)), enable_gqa=True, scale=1.0)
    assert run.report().first_not_finite is None and torch.allclose(y.float(), expected, atol=2e-3)
    with emulated():
        z = functional.scaled_dot_product_attention(v, v, v, is_causal=True)
    assert torch.equal(z[:, :, 0], v[:, :, 0])


# ---- autocast and scalers ----

def test_autocast_has_cudas_lists():
    x = torch.randn(4, 8)
    with ulplab.torch.autocast("h100", torch.bfloat16):
        low = x @ x.t()
        assert low.dtype is torch.bfloat16 and functional.linear(x, x).dtype is torch.bfloat16
        for single in (low.sum(), low.pow(2), low ** 2, low.exp(), low.softmax(-1), functional.layer_norm(low, (4,)),
                       functional.cross_entropy(low, torch.zeros(4, dtype=torch.long)), low.norm()):
            assert single.dtype is torch.float32
        assert (low * low).dtype is torch.bfloat16 and torch.cat([low, x[:, :4]]).dtype is torch.float32
        with torch.autocast("cuda", enabled=False):
            assert (x @ x.t()).dtype is torch.float32
        with pytest.raises(RuntimeError, match="unsafe to autocast"):
            functional.binary_cross_entropy(low, low)


def test_autocast_and_gradscaler_of_user_code_act_without_a_card():
    model, x = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with emulated():
        scaler = torch.amp.GradScaler("cuda", init_scale=2.0**30, growth_interval=1)
        for _ in range(40):
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                y = model(x)
                loss = y.pow(2).mean()
            before = [p.detach().clone() for p in model.parameters()]
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        assert y.dtype is torch.float16 and loss.dtype is torch.float32
    assert scaler.is_enabled() and scaler.get_scale() < 2.0**30 and model[0].weight.dtype is torch.float32
    assert all(torch.isfinite(p).all() for p in (*model.parameters(), *before))


# ---- failures of the kinds that people report, in models of their own ----

def first(run):
    return run.report().first_not_finite


class Gated(nn.Module):
    """A residual block whose second layer leaves fp16's range."""

    def __init__(self):
        super().__init__()
        self.up, self.down, self.head = nn.Linear(8, 300, bias=False), nn.Linear(300, 8, bias=False), nn.Linear(8, 2)
        with torch.no_grad():
            self.up.weight.fill_(2.0)
            self.down.weight.fill_(0.01)
            self.down.weight[3] = 15.0

    def forward(self, x):
        return self.head(functional.layer_norm(x + self.down(functional.relu(self.up(x))), (8,)))


def test_a_report_s_page_says_the_verdict_first_and_escapes_names(tmp_path):
    model = nn.Module()
    model.add_module("<b>&", Gated())
    file = tmp_path / "report.html"
    with emulated() as run:
        model.half().get_submodule("<b>&")(torch.ones(2, 8).half())
    run.report().page(file)
    text = file.read_text()
    verdict = run.report().verdict()
    assert verdict.startswith("inf in mm of down") and "72000" in verdict and run.report()._repr_html_() in text
    assert 0 < text.index("class='verdict'") < text.index("<table>") and "<b>" not in text and list(tmp_path.iterdir()) == [file]
    with emulated() as run:
        nn.Linear(8, 8).half()(torch.ones(2, 8).half())
    assert run.report().verdict() == "All values are finite, and no loss without an infinity was seen."


def test_a_forward_overflow_is_named_with_line_numbers_and_a_remedy_that_works():
    model, x = Gated().half(), torch.ones(2, 8).half()
    with emulated() as run:
        y = model(x)
    found = first(run)
    assert (found["module"], found["pass"], found["operation"], found["element"]) == ("down", "forward", "mm", (0, 3))
    assert found["exact"] == 300 * 16 * 15 and found["line"].startswith("test_tensor_types.py:") and "2^-1" in found["remedy"]
    assert "fp32=['down']" in found["remedy"] and found["before"]["up"] == 16 and not torch.isfinite(y).all()
    assert json.loads(run.report().to_json())["first_not_finite"]["value"] == "inf"
    with emulated(fp32=["down"]) as run:
        y = model(x)
    assert first(run) is None and torch.isfinite(y).all()
    for names in (["linear"], "matmul", ["mm"]):
        with emulated(fp32=names) as run:
            model(x)
        assert first(run) is None, names
        with ulplab.torch.emulate("h100", "mixed_fp16", fp32=names) as run:
            copy.deepcopy(model).float()(x.float())
        assert first(run) is None, names
    with emulated() as run:
        copy.deepcopy(model).bfloat16()(x.bfloat16())
    assert first(run) is None
    with ulplab.torch.emulate("h100", "mixed_fp16", fp32=["d*n"]) as run:
        copy.deepcopy(model).float()(x.float())
    assert first(run) is None


@pytest.mark.parametrize("dtype, fails", [(torch.float16, True), (torch.bfloat16, False)])
def test_masks(dtype, fails):
    scores, hidden = torch.zeros(2, 3, dtype=dtype), torch.ones(2, 3, dtype=torch.bool)
    with emulated() as run:
        if fails:
            with pytest.raises(RuntimeError, match="cannot be converted to type c?(at|10)?::Half without overflow"):
                scores.masked_fill(hidden, -1e5)
        added = (scores + hidden.to(dtype) * -1e5).softmax(-1)
    assert torch.isfinite(added).all() != fails and (first(run) is not None) == fails
    if fails:
        assert "torch.finfo(x.dtype).min" in first(run)["remedy"]
    with emulated() as run:
        assert torch.isfinite(scores.masked_fill(hidden, torch.finfo(dtype).min).softmax(-1)).all()
        scores.masked_fill(hidden & torch.eye(3, dtype=torch.bool)[:2], -float("inf")).softmax(-1)
    assert first(run) is None
    with emulated() as run:
        scores.masked_fill(hidden, -float("inf")).softmax(-1)
    assert first(run)["operation"] == "softmax" and "nothing but -inf" in first(run)["remedy"]


def test_a_norm_of_gradients_by_hand_overflows_and_pytorchs_does_not():
    parameter = nn.Parameter(torch.zeros(4).half())
    parameter.grad = torch.full((4,), 400.0).half()
    with emulated() as run:
        assert nn.utils.clip_grad_norm_([parameter], 800).item() == 800 and first(run) is None
        assert parameter.grad.square().sum().sqrt().item() == float("inf")
    assert first(run)["operation"] == "pow" and first(run)["exact"] == 160000
    with emulated(fp32=["pow"]) as run:
        assert parameter.grad.pow(2).sum().sqrt().item() == 800 and first(run) is None


@pytest.mark.parametrize("foreach", [False, True])
@pytest.mark.parametrize("gradient, expected", [(2e-4, float("inf")), (0.0, float("nan"))])
def test_adams_eps_is_0_in_fp16(foreach, gradient, expected):
    def trained(**options):
        parameter = nn.Parameter(torch.ones(3).half())
        parameter.grad = torch.full((3,), gradient).half()
        with emulated() as run:
            torch.optim.Adam([parameter], lr=1e-3, foreach=foreach, **options).step()
        return parameter.detach().abs()[0].item(), first(run)

    value, found = trained()
    assert str(value) == str(expected) and found["pass"] == "optimizer" and found["operation"] == "addcdiv"
    assert "eps" in found["remedy"] or "masters" in found["remedy"]
    assert trained(eps=1e-4)[1] is None


def test_llamas_norm_is_right_with_its_casts_and_zero_without():
    x = torch.tensor([[300.0, 1.0, -2.0, 4.0]]).half()
    with emulated() as run:
        bare = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
    assert bare.abs().max() == 0 and first(run)["operation"] == "pow" and "fp32=['pow']" in first(run)["remedy"]
    with emulated() as run:
        wide = x.float()
        cast = (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)
    assert cast[0, 0].item() == pytest.approx(2.0, abs=0.01) and first(run) is None


def test_a_square_root_of_0_has_no_gradient_at_any_scale():
    x = torch.zeros(2, 3, dtype=torch.float16, requires_grad=True)
    with emulated() as run:
        x.pow(2).sum(-1).sqrt().sum().backward()
    assert first(run)["pass"] == "backward" and "eps inside the square root" in first(run)["remedy"]


def test_means_of_many_numbers_are_right_and_their_sum_is_not():
    x = torch.ones(131072, dtype=torch.float16, requires_grad=True)
    with emulated() as run:
        y = x.mean()
        y.backward()
    assert y.item() == 1 and x.grad[0].item() == 2.0**-17 and first(run) is None
    with emulated() as run:
        x.sum()
    assert first(run)["operation"] == "sum" and first(run)["exact"] == 131072


def test_cumulative_sums_are_rounded_once():
    x = torch.from_numpy(numpy.random.default_rng(0).standard_normal(5000)).bfloat16()
    with emulated():
        assert abs(x.cumsum(0)[-1].item() - x.double().sum().item()) < 0.5


def test_an_average_that_stands_still_is_reported():
    average, target = torch.ones(4).bfloat16(), torch.full((4,), 1.2).bfloat16()
    with emulated() as run:
        for _ in range(10):
            average.mul_(0.9999).add_(target, alpha=1e-4)
    assert average.tolist() == [1.0] * 4 and run.report().modules[""]["absorbed"] == 80
    assert "absorbed: 80" in repr(run.report())


def test_lost_updates_are_reported_by_parameter():
    model, x = nn.Linear(4, 4, bias=False).bfloat16(), torch.ones(2, 4).bfloat16()
    with torch.no_grad():
        model.weight.fill_(1.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-5)
    with emulated() as run:
        model(x).sum().backward()
        optimizer.step()
    assert run.report().lost_updates == {"weight": {"elements": 16, "unmoved": 16, "steps": 1}}


def test_a_convolution_that_overflows_is_named():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(2, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.Conv2d(4, 4, 3), nn.GroupNorm(2, 4))
    with torch.no_grad():
        model[2].weight.mul_(1e5)
        x = torch.randn(1, 2, 6, 6)
        with emulated() as run:
            assert not torch.isfinite(model.half()(x.half())).all()
        assert first(run)["module"] == "2" and first(run)["operation"] == "convolution"
        with emulated(fp32=["2", "3"]) as run:
            assert torch.isfinite(model(x.half())).all() and first(run) is None
        with emulated() as run:
            assert torch.isfinite(model.bfloat16()(x.bfloat16())).all() and first(run) is None


# ---- everything that PyTorch has ----

def test_what_a_kernel_keeps_for_its_backward_pass_is_no_failure():
    with emulated() as run:
        functional.ctc_loss(torch.randn(10, 2, 5).log_softmax(2), torch.randint(1, 5, (2, 3)), [10, 10], [3, 3])
    assert first(run) is None
    with pytest.raises(TypeError, match=r"fp32 is True; give a list"):
        emulated(fp32=True)


class Block(torch.nn.Module):
    """Attention between two products, a norm with a parameter of its own, and a gate."""

    def __init__(self):
        super().__init__()
        self.norm, self.layers = torch.nn.Parameter(torch.rand(16)), torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(4))

    def forward(self, x):
        q = self.layers[0](x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.norm)
        q = q.reshape(*x.shape[:-1], 2, 8).transpose(-2, -3)
        x = x + functional.scaled_dot_product_attention(q, q, q, is_causal=True).transpose(-2, -3).reshape(x.shape)
        return x + self.layers[3](functional.silu(self.layers[1](x)) * self.layers[2](x))


@pytest.mark.parametrize("unit, recipe", [("h100", None), ("h100", "mixed_fp16"), ("h100", "te_delayed"),
                                          ("h100", "deepseek_v3"), ("b200", "nvfp4")])
@pytest.mark.parametrize("fp32", [[], ["0.layers.1"]])
def test_checkpoints_compute_the_same(unit, recipe, fp32):
    found = []
    for reentrant in (None, True, False):
        torch.manual_seed(1)
        model, x = torch.nn.Sequential(Block(), Block()), torch.randn(2, 8, 16)
        if recipe is None:
            model, x = model.half(), x.half()
        if reentrant is not None:
            model.forward = lambda x, blocks=model: [x := checkpoint(each, x, use_reentrant=reentrant) for each in blocks][-1]
        x.requires_grad_()
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        with ulplab.torch.emulate(unit, recipe, fp32=fp32) as run:
            for _ in range(2):
                model(x).float().pow(2).sum().backward()
                optimizer.step()
        counts = {name: {which: n for which, n in each["products"].items() if which != "forward"}
                  for name, each in run.report().modules.items() if name}
        found.append(([each.detach() for each in model.parameters()], counts))
    for numbers, counts in found[1:]:
        assert all(map(torch.equal, numbers, found[0][0])) and counts == found[0][1]


def test_checkpoints_keep_the_region_of_autocast():
    found = []
    for reentrant in (None, True, False):
        torch.manual_seed(1)
        block, x = Block(), torch.randn(2, 8, 16, requires_grad=True)
        with emulated():
            with torch.autocast("cuda", torch.float16):
                y = block(x) if reentrant is None else checkpoint(block, x, use_reentrant=reentrant)
            y.float().pow(2).sum().backward()
        found.append([x.grad, *(each.grad for each in block.parameters())])
    assert all(map(torch.equal, found[0], found[1])) and all(map(torch.equal, found[0], found[2]))


@pytest.mark.parametrize("recipe", [None, "mixed_fp16"])
def test_inference_mode_compiled_models_and_shapes_alone(recipe):
    model, x = (each if recipe else each.half() for each in mlp())
    with torch.no_grad(), pytest.warns(UserWarning) as said, ulplab.torch.emulate("h100", recipe) as run:
        y, compiled = model(x), torch.compile(model)
        with torch.inference_mode():
            assert torch.equal(model(x), y)
        assert all(torch.equal(each(x), y) for each in (compiled, compiled, torch.compile(lambda z: model(z))))
        assert copy.deepcopy(model).to("meta")(x.to("meta")).shape == y.shape
    assert sum("torch.compile" in str(each.message) for each in said if each.category is UserWarning) == 1
    assert "OptimizedModule" not in run.report().modules


def test_what_is_not_emulated_is_computed_and_listed():
    with emulated() as run:
        torch.ones(2, 2, dtype=torch.float64) @ torch.ones(2, 2, dtype=torch.float64)
        torch.ones(2, 2, dtype=torch.complex64) @ torch.ones(2, 2, dtype=torch.complex64)
        torch.eye(3).to_sparse() @ torch.ones(3, 3)
    listed = run.report().not_emulated
    assert {"aten::mm of float64", "aten::mm of complex64", "aten::mm of sparse_coo"} <= set(listed)
    with emulated(), pytest.raises(RuntimeError, match="aten::mm has operands of float16 and float32.* same dtype"):
        torch.ones(2, 2) @ torch.ones(2, 2).half()


def test_a_pattern_without_a_module_is_an_error_with_near_names():
    model, x = mlp()
    with pytest.raises(ValueError, match=r"fp32 or modules names 'decoder.\*'.* near names: .*encoder"):
        with emulated(fp32=["decoder.*"]):
            nn.Sequential(collections.OrderedDict(encoder=model))(x)


def test_observers_see_operations_with_their_results():
    seen = []
    model, x = mlp()
    with emulated() as run:
        run.observers.append(lambda func, name, where, args, kwargs, result: seen.append((name, where["module"])))
        model(x)
    assert ("addmm", "0") in seen and ("gelu", "1") in seen and ("addmm", "2") in seen


def test_recipes_go_by_the_names_that_others_use():
    for alias, name in (("bf16-mixed", "bf16"), ("bf16_true", "pure_bf16"), ("fp16_mixed", "mixed_fp16")):
        assert ulplab.torch.emulate("h100", alias).recipe["name"] == name


@pytest.mark.parametrize("recipe", [None, "mixed_fp16"])
def test_modules_have_units_and_orders_of_their_own(recipe):
    torch.manual_seed(0)
    model, x = nn.Sequential(nn.Linear(256, 4, bias=False), nn.Linear(4, 4)), torch.randn(3, 256).half()
    model.half()
    expected = {order: torch.from_numpy(ulplab.matmul(x.float().numpy(), model[0].weight.detach().float().t().numpy(),
                                                      unit="sm_80:mma.fp16.fp32", order={"split_k": order})).half()
                for order in (1, 4)}
    seen = []
    model[0].register_forward_hook(lambda module, args, y: seen.append(y.detach().half()))
    if recipe is not None:
        model, x = model.float(), x.float()
    for order in (1, 4):
        with ulplab.torch.emulate("h100", recipe, modules={"0": {"unit": "a100", "order": {"split_k": order}}}):
            model(x)
    assert torch.equal(seen[0], expected[1]) and torch.equal(seen[1], expected[4])
    with pytest.raises(ValueError, match="has units; there are recipe, order, unit"):
        ulplab.torch.emulate("h100", recipe, modules={"0": {"units": "a100"}})


def test_a_unit_without_the_row_says_so():
    with ulplab.torch.emulate("v100"), pytest.raises(ValueError, match="v100.* has no products of torch.bfloat16"):
        torch.ones(2, 2).bfloat16() @ torch.ones(2, 2).bfloat16()


@pytest.mark.parametrize("recipe", [None, "mixed_fp16"])
def test_grouped_products_of_experts_are_the_units(recipe):
    torch.manual_seed(0)
    x, w = torch.randn(10, 16).bfloat16(), torch.randn(3, 16, 8).bfloat16()
    ends = torch.tensor([4, 4, 10], dtype=torch.int32)
    with ulplab.torch.emulate("h100", recipe) as run:
        y = torch._grouped_mm(x, w, offs=ends)
    if recipe is None:
        assert torch.equal(y, torch.cat([product(x[:4], w[0]), product(x[4:], w[2])]).bfloat16())
    assert int(run.report().products) == 2 and not run.report().not_emulated


def test_casts_to_fp32_hold_on_the_way_back_under_a_recipe():
    class Norm(nn.Module):
        def forward(self, x):
            wide = x.float()
            return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-12)).to(x.dtype)

    x = torch.full((1, 4), 2.0**-14, requires_grad=True)
    with ulplab.torch.emulate("h100", "mixed_fp16") as run:
        (Norm()(x) * 8).sum().backward()
    assert run.report().first_not_finite is None and torch.isfinite(x.grad).all()


def test_the_logarithm_of_0_in_a_table_is_no_failure():
    with emulated() as run:
        torch.where(torch.arange(4) > 0, torch.log(torch.arange(4).float()), 0.0)
    assert first(run) is None
    with emulated() as run:
        torch.log(torch.zeros(2).half())
    assert first(run)["operation"] == "log"


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_running_statistics_of_batch_norm_move_in_the_tensors_type(dtype):
    norm = torch.nn.BatchNorm1d(4).to(dtype)
    x = (torch.randn(64, 4, generator=torch.Generator().manual_seed(1)) * 100).to(dtype)
    with ulplab.torch.emulate("h100") as run:
        norm(x)
    wide = x.double()
    for found, wanted in ((norm.running_mean, 0.1 * wide.mean(0)), (norm.running_var, 0.9 + 0.1 * wide.var(0))):
        assert found.dtype is dtype
        assert torch.allclose(found.double(), wanted, rtol=2 * torch.finfo(dtype).eps)
    assert run.report().first_not_finite is None


@pytest.mark.parametrize("recipe", ["mixed_fp16", "fp16"])
def test_a_step_with_a_closure_trains_as_one_without(recipe):
    class Norm(nn.Module):
        def forward(self, x):
            wide = x.to(torch.float32)
            return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)

    def trained(closed):
        torch.manual_seed(0)
        model, x = nn.Sequential(nn.Linear(4, 8), Norm(), nn.Linear(8, 2)), torch.randn(5, 4)
        with torch.no_grad():
            model[0].weight.mul_(0.01)
            model[0].bias.zero_()  # the norm's way back has cubes of reciprocals of 0.003
        optimizer, seen = torch.optim.SGD(model.parameters(), lr=0.001), []

        def closure():
            optimizer.zero_grad()
            loss = (model(x) - 1).pow(2).mean()
            loss.backward()
            seen.append(run.where("", "")["pass"])
            return loss

        with ulplab.torch.emulate("h100", recipe) as run:
            for _ in range(3):
                if closed:
                    optimizer.step(closure)
                else:
                    closure()
                    optimizer.step()
        assert first(run) is None and seen == ["forward"] * 3
        return [p.detach().numpy() for p in model.parameters()]

    assert all(same_bits(a, b) for a, b in zip(trained(True), trained(False)))


@pytest.mark.filterwarnings("ignore")
def test_scalers_and_regions_made_before_the_block_act_inside():
    scaler, other, off, unused = (torch.amp.GradScaler("cuda", init_scale=8.0, growth_interval=1), torch.cuda.amp.GradScaler(),
                                  torch.amp.GradScaler("cuda", enabled=False), torch.amp.GradScaler("cuda"))
    half, wide = torch.autocast("cuda", dtype=torch.float16), torch.autocast("cuda", enabled=False)
    brain = torch.autocast("cuda", dtype=torch.bfloat16)
    model, x = mlp()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    called = half(lambda y: model(y))
    for scale in (8.0, 16.0):  # the scaler's state outlives the block
        with emulated() as run:
            with half:
                y = model(x)
                with wide:
                    assert model(x).dtype is torch.float32
                loss = y.pow(2).mean()
            with brain:
                assert model(x).dtype is torch.bfloat16
            assert y.dtype is torch.float16 and called(x).dtype is torch.float16
            assert other.scale(torch.ones(1)).item() == 65536 and off.scale(torch.ones(1)).item() == 1
            assert scaler.scale(loss).item() == pytest.approx(loss.item() * scale)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        assert scaler.get_scale() == 2 * scale and not run.report().not_emulated
        assert not unused.is_enabled() and not off.is_enabled()  # as PyTorch left them
        with half:
            assert model(x).dtype is torch.float32 and not torch.is_autocast_enabled("cuda")


@pytest.mark.parametrize("recipe", [None, "mixed_fp16"])
def test_rows_of_attention_that_a_mask_hides_are_0(recipe):
    """As fused kernels have them since PyTorch 2.5: the row and its gradients are 0."""
    mask = torch.ones(3, 3, dtype=torch.bool)
    mask[1] = False
    dtype = torch.float16 if recipe is None else torch.float32
    q, k, v = (torch.randn(1, 2, 3, 4, dtype=dtype, requires_grad=True) for _ in range(3))
    with ulplab.torch.emulate("h100", recipe) as run:
        y = functional.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        y.sum().backward()
    assert (y[..., 1, :] == 0).all() and (q.grad[..., 1, :] == 0).all() and (y[..., 0, :] != 0).all() and first(run) is None
    assert all(torch.isfinite(each.grad).all() for each in (q, k, v))


@pytest.mark.parametrize("recipe", [None, "mixed_fp16"])
def test_bilinear_layers_are_products_of_the_unit(recipe):
    torch.manual_seed(0)
    layer, dtype = nn.Bilinear(4, 3, 2), torch.float16 if recipe is None else torch.float32
    layer.to(dtype)
    x, y = torch.randn(5, 4).half().to(dtype), torch.randn(5, 3).half().to(dtype)
    with ulplab.torch.emulate("h100", recipe) as run:
        z = layer(x, y)
        z.float().sum().backward()
    assert run.report().modules["Bilinear"]["products"]["forward"] == 2 + 2 * 5 and not run.report().not_emulated
    exact = functional.bilinear(*(each.double() for each in (x, y, layer.weight, layer.bias)))
    assert torch.allclose(z.double(), exact, atol=5e-3)
    wanted = torch.einsum("bi,bj->ij", x.double(), y.double()).expand(2, 4, 3)
    assert torch.allclose(layer.weight.grad.double(), wanted, atol=2e-2)


def test_layers_of_many_kinds_run_in_half():
    x, table = torch.randn(3, 2, 4).half(), nn.Embedding(5, 4, sparse=True).half()
    packed = nn.utils.rnn.pack_padded_sequence(x, [3, 2])
    normed = nn.utils.parametrizations.weight_norm(nn.Linear(4, 3)).half()
    with emulated() as run:
        for layer, given in ((nn.LSTM(4, 5, 2, bidirectional=True), x), (nn.LSTM(4, 5), packed), (nn.GRU(4, 5), x)):
            y = layer.half()(given)[0]
            getattr(y, "data", y).float()
            assert (y.data if given is packed else y).dtype is torch.float16
        assert normed(x).dtype is torch.float16 and torch.linalg.norm(x).dtype is torch.float16
        assert not run.report().not_emulated
        normed(table(torch.tensor([1, 2, 1]))).float().sum().backward()
        torch.optim.SparseAdam(table.parameters()).step()
        assert torch.equal(copy.deepcopy(table).weight, table.weight)
    assert any("sparse" in name for name in run.report().not_emulated)
    with emulated(), pytest.raises(NotImplementedError, match=r"does not transform float16 tensors \(fft_rfft\): give it"):
        torch.fft.rfft(x)
    with emulated(strict=False) as run:
        torch.fft.rfft(x.float())
    assert list(run.report().not_emulated)[0].startswith("aten::_fft_r2c")


@pytest.mark.parametrize("outer", [None, "mixed_fp16"])
def test_of_blocks_inside_each_other_the_innermost_computes(outer):
    model, x = mlp()
    with emulated() as alone:
        wanted = model.half()(x.half())
    model.float()
    with ulplab.torch.emulate("a100", outer) as around:
        with emulated() as inside:
            assert copy.deepcopy(model).half()[0].weight.dtype is torch.float16
            found = copy.deepcopy(model).half()(x.half())
        assert int(around.report().products) == 0
        model(x) if outer else None
    assert found.dtype is torch.float16 and same_bits(found.detach().numpy(), wanted.detach().numpy())
    assert inside.report().products == alone.report().products
    with ulplab.torch.emulate("h100", "fp16", against="fp32") as around:  # would keep weights in fp16
        with ulplab.torch.emulate("h100", "mixed_fp16", against="fp32") as inside:
            optimizer = torch.optim.Adam(model.parameters())
            model(x).sum().backward()
            optimizer.step()
    assert not torch.equal(model[0].weight, model[0].weight.half().float()) and (
        around.report().against.operations == [] != inside.report().against.operations)
    with emulated() as run, pytest.raises(RuntimeError, match="entered already"):
        run.__enter__()


@pytest.mark.parametrize("recipe", [None, "mixed_fp16"])
def test_sparse_gradients_are_pytorchs_own(recipe):
    table, bag = nn.Embedding(5, 4, sparse=True), nn.EmbeddingBag(5, 4, sparse=True, mode="sum")
    with ulplab.torch.emulate("h100", recipe) as run:
        (table(torch.tensor([[1, 2]])).sum(1) + bag(torch.tensor([[1, 2]]))).sum().backward()
        torch.optim.SGD([*table.parameters(), *bag.parameters()], lr=0.1).step()
    assert table.weight.grad.is_sparse and bag.weight.grad.is_sparse
    assert all(name.endswith("sparse_coo") for name in run.report().not_emulated)


def test_loaders_of_data_hand_on_their_numbers():
    third = torch.full((2,), 1 / 3)
    for recipe in (None, "fp16"):
        with ulplab.torch.emulate("h100", recipe):
            batch = torch.utils.data.default_collate([{"x": third, "y": 1 / 3}] * 2)
        assert torch.equal(batch["x"], third.expand(2, 2)) and batch["y"].tolist() == [1 / 3] * 2
