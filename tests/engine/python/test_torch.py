"""ulplab.torch: PyTorch's modules in a unit's arithmetic."""

import importlib
import os
import signal
import threading

import numpy
import pytest

torch = pytest.importorskip("torch")

import ulplab  # noqa: E402
import ulplab.torch  # noqa: E402
from conftest import same_bits  # noqa: E402

UNIT = "sm_90:mma.fp16.fp32"


def rounded(x):
    return x.half().float()


def by_unit(a, b):
    return torch.from_numpy(ulplab.matmul(a.detach().numpy(), b.detach().numpy(), unit=UNIT))


def test_a_linear_layer_has_the_units_bits_forward_and_backward():
    torch.manual_seed(1)
    layer = torch.nn.Linear(40, 24)
    x = rounded(torch.randn(16, 40)).requires_grad_()
    with ulplab.torch.emulate("h100", "mixed_fp16") as run:
        y = layer(x)
        dy = rounded(torch.randn(16, 24))
        y.backward(dy)
    w = rounded(layer.weight)
    expected = rounded(by_unit(x, w.t()) + rounded(layer.bias))
    assert same_bits(y.detach().numpy(), expected.detach().numpy())
    assert same_bits(x.grad.numpy(), rounded(by_unit(dy, w)).numpy())
    assert same_bits(layer.weight.grad.numpy(), rounded(by_unit(dy.t().contiguous(), x)).numpy())
    products = run.report().modules["Linear"]["products"]
    assert products == {"forward": 1, "input gradient": 1, "weight gradient": 1}


def test_tensors_go_in_and_out():
    a = rounded(torch.randn(3, 4))
    d = ulplab.matmul(a, a.t(), unit=UNIT)
    assert isinstance(d, torch.Tensor) and same_bits(d.numpy(), by_unit(a, a.t()).numpy())
    assert isinstance(ulplab.round(a, "bf16"), torch.Tensor)
    assert ulplab.matmul(a.bfloat16(), a.t(), unit=UNIT, round=True).dtype is torch.float32
    shared = torch.ones(4)
    ulplab.round(shared, "fp16", out=shared)
    with pytest.raises(TypeError, match="is on meta; ulplab computes on the CPU"):
        ulplab.matmul(torch.empty(2, 2, device="meta"), a, unit=UNIT)


def test_rounding_is_pytorchs_cast():
    words = numpy.random.default_rng(1).integers(0, 1 << 32, 300_000, dtype="u4")
    x = torch.from_numpy(words.view("f4"))
    x = x[~torch.isnan(x)]
    for name, type in (("fp16", torch.float16), ("bf16", torch.bfloat16)):
        assert same_bits(ulplab.round(x, name).numpy(), x.to(type).float().numpy()), name


CONVOLUTIONS = [
    lambda: (torch.nn.Conv2d(2, 4, 3), (2, 2, 7, 6)),
    lambda: (torch.nn.Conv2d(4, 6, (3, 2), stride=(2, 1), padding=(1, 2), groups=2), (2, 4, 8, 7)),
    lambda: (torch.nn.Conv2d(2, 3, 3, dilation=2, bias=False), (1, 2, 9, 9)),
    lambda: (torch.nn.Conv1d(3, 5, 3, padding=1, stride=2), (2, 3, 11)),
    lambda: (torch.nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1, groups=2), (2, 4, 5, 4)),
    lambda: (torch.nn.ConvTranspose1d(3, 4, 4, stride=2, padding=1), (2, 3, 6)),
    lambda: (torch.nn.Conv3d(2, 4, (2, 3, 1), stride=(1, 2, 1), padding=(1, 0, 0), groups=2), (2, 2, 4, 5, 3)),
    lambda: (torch.nn.ConvTranspose3d(2, 3, 2, stride=(1, 2, 2), dilation=(2, 1, 1)), (1, 2, 3, 2, 2)),
]


@pytest.mark.parametrize("make", CONVOLUTIONS)
def test_convolutions_of_small_integers_are_pytorchs(make):
    """Every product and sum is exact there, so any order gives the same bits."""
    torch.manual_seed(2)
    layer, shape = make()
    with torch.no_grad():
        for each in layer.parameters():
            each.copy_(torch.randint(-2, 3, each.shape))
    x = torch.randint(-2, 3, shape).float()

    def run():
        layer.zero_grad()
        leaf = x.clone().requires_grad_()
        y = layer(leaf)
        y.backward(torch.arange(y.numel()).reshape(y.shape) % 5 - 2.0)
        return [y.detach(), leaf.grad] + [each.grad.clone() for each in layer.parameters()]

    plain = run()
    with ulplab.torch.emulate("h100", "mixed_fp16"):
        emulated = run()
    for expected, found in zip(plain, emulated):
        assert torch.equal(expected, found)


def transformer():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True),
                               torch.nn.LayerNorm(32), torch.nn.Linear(32, 8))


def steps(model, count=2, recipe="mixed_fp16", **options):
    data = torch.randn(4, 6, 32, generator=torch.Generator().manual_seed(4))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    losses = []
    with ulplab.torch.emulate("h100", recipe, **options) as run:
        for _ in range(count):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(data), data[..., :8])
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    return losses, run.report()


def test_the_bits_do_not_depend_on_threads():
    before = torch.get_num_threads()
    results = []
    for threads in (1, 3):
        torch.set_num_threads(threads)
        model = transformer()
        losses, _ = steps(model)
        results.append((losses, [p.detach().numpy().copy() for p in model.parameters()]))
    torch.set_num_threads(before)
    assert results[0][0] == results[1][0]
    assert all(same_bits(x, y) for x, y in zip(results[0][1], results[1][1]))


@pytest.mark.parametrize("recipe", ["mixed_fp16", "bf16", "te_delayed"])
def test_recipes_train(recipe):
    losses, report = steps(transformer(), 4, recipe=recipe, fp32=["layer_norm"])
    assert losses[-1] < losses[0] and not report.not_emulated and report.first_not_finite is None
    assert report.modules["0.self_attn"]["products"]["forward"] == 4 * (2 + 2 * 16)


def test_split_k_changes_bits_as_matmuls_order_does():
    x = rounded(torch.randn(4, 256))
    w = rounded(torch.randn(256, 4))
    with ulplab.torch.emulate("h100", "mixed_fp16", order={"split_k": 4}):
        d = torch.mm(x, w)
    expected = ulplab.matmul(x, w, unit=UNIT, order={"split_k": 4})
    assert same_bits(d.numpy(), rounded(expected).numpy())


@pytest.mark.parametrize("key", ["sm_80:mma.fp16.fp32", "sm_90:wgmma.fp16.fp32", "gfx90a:mfma.fp16.fp32"])
def test_a_units_key_names_its_arithmetic(key):
    x, w = rounded(torch.randn(4, 64)), rounded(torch.randn(64, 4))
    with ulplab.torch.emulate(key, "mixed_fp16", fp32="softmax") as run:
        d = torch.mm(x, w)
    assert same_bits(d.numpy(), rounded(ulplab.matmul(x, w, unit=key)).numpy()) and key in run.report().path


def test_what_cannot_be_emulated_is_refused_by_name_or_listed():
    x = torch.randn(4, 4)
    with ulplab.torch.emulate("h100", "mixed_fp16"), pytest.raises(NotImplementedError, match="aten::linalg_cholesky_ex"):
        torch.linalg.cholesky(x @ x.t() + 4 * torch.eye(4))
    with ulplab.torch.emulate("h100", "mixed_fp16", strict=False) as run:
        torch.linalg.cholesky(x @ x.t() + 4 * torch.eye(4))
    assert run.report().not_emulated["aten::linalg_cholesky_ex"] == 1
    with pytest.raises(ValueError, match="fp32 or modules names 'layernorm', which is no operation .* near names: layer_norm"):
        with ulplab.torch.emulate("h100", fp32=["layernorm"]):
            torch.nn.LayerNorm(2)(torch.ones(1, 2))
    with ulplab.torch.emulate("h100", "mixed_fp16"):
        assert (torch.ones(2, 3, device="meta") @ torch.ones(3, 4, device="meta")).shape == (2, 4)  # a shape, no numbers
    with pytest.raises(NotImplementedError, match="aten::mm has torch.float64"):
        with ulplab.torch.emulate("h100", "mixed_fp16"):
            torch.ones(2, 2, dtype=torch.float64) @ torch.ones(2, 2, dtype=torch.float64)
    with pytest.raises(TypeError, match="a loss scale has no initscale; there are init_scale"):
        ulplab.torch.GradScaler("pytorch", initscale=2)
    with pytest.raises(ValueError, match="soft:h100 has no fp32->fp32 product"):
        ulplab.torch.emulate("h100", "fp32")
    with pytest.raises(ValueError, match="no recipe 'mixed'"):
        ulplab.torch.emulate("h100", "mixed")


def test_the_first_infinity_is_named_with_its_module():
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))
    with torch.no_grad():
        model[2].weight[1] = 60000.0
        model[0].weight.fill_(10.0)
    with ulplab.torch.emulate("h100", "mixed_fp16") as run:
        model(torch.ones(3, 4))
    first = run.report().first_not_finite
    assert first["module"] == "2" and first["pass"] == "forward" and first["element"] == (0, 1)
    assert run.report().overflows == 3 and "first value that is not finite" in repr(run.report())


def test_the_optimizers_first_infinity_is_the_optimizers():
    parameter = torch.nn.Parameter(torch.ones(3))
    optimizer = torch.optim.SGD([parameter], lr=3e38)
    parameter.grad = torch.full((3,), 10.0)
    with ulplab.torch.emulate("h100", "mixed_fp16") as run:
        optimizer.step()
    assert run.report().first_not_finite["pass"] == "optimizer"


def test_pytorch_is_as_before_afterwards():
    asked = [getattr(importlib.import_module(module), name) for module, name in ulplab._private.NAMES]
    model = transformer()
    with pytest.raises(RuntimeError, match="mine"):
        with ulplab.torch.emulate("h100", "mixed_fp16"):
            model(torch.randn(1, 2, 32))
            raise RuntimeError("mine")
    assert asked == [getattr(importlib.import_module(module), name) for module, name in ulplab._private.NAMES]
    assert torch.backends.mkldnn.enabled and torch.backends.cuda.flash_sdp_enabled()
    assert not ulplab.torch.active
    x = torch.full((1, 1), 1 + 2.0**-20)
    assert torch.mm(x, x).item() > 1  # not rounded to fp16


def test_evaluation_takes_attention_apart():
    model = transformer().eval()
    x = torch.randn(2, 3, 32)
    with ulplab.torch.emulate("h100", "mixed_fp16") as run, torch.no_grad():
        y = model(x)
    with torch.no_grad():
        assert torch.allclose(y, model(x), atol=2e-2)
    assert run.report().modules["0.self_attn"]["products"]["forward"] == 2 + 2 * 8


def test_recurrent_layers():
    torch.manual_seed(5)
    layer = torch.nn.LSTM(8, 8)
    with ulplab.torch.emulate("h100", "mixed_fp16") as run:
        layer(torch.randn(3, 2, 8))[0].sum().backward()
    assert run.report().products > 6 and all(p.grad is not None for p in layer.parameters())


def optimized(recipe, make, steps=3):
    """A parameter and its optimizer after some steps with gradients of its own."""
    generator = torch.Generator().manual_seed(1)
    parameter = torch.nn.Parameter(torch.randn(6, 5, generator=generator))
    optimizer = make([parameter])
    with ulplab.torch.emulate("h100", recipe) as run:
        for _ in range(steps):
            parameter.grad = torch.randn(6, 5, generator=generator)
            optimizer.step()
    return parameter.detach(), optimizer.state[parameter], run.report()


def test_optimizers_keep_what_the_recipe_says():
    adam = lambda parameters: torch.optim.Adam(parameters, lr=0.1)  # noqa: E731
    on_grid = lambda tensor, name: torch.equal(tensor, ulplab.round(tensor, name))  # noqa: E731
    plain, state, _ = optimized("bf16", adam)  # masters in fp32: PyTorch's own step
    assert not on_grid(plain, "bf16") and not on_grid(state["exp_avg"], "bf16")
    weights, state, report = optimized("bf16_moments", adam)
    assert not on_grid(weights, "bf16") and on_grid(state["exp_avg"], "bf16") and on_grid(state["exp_avg_sq"], "bf16")
    weights, state, _ = optimized("bf16_weights", adam)
    assert on_grid(weights, "bf16") and not on_grid(state["exp_avg"], "bf16")
    weights, state, _ = optimized("fp16", adam)
    assert on_grid(weights, "fp16") and on_grid(state["exp_avg"], "fp16")
    first, second = (optimized("bf16_sr", adam)[0] for _ in range(2))
    assert on_grid(first, "bf16") and torch.equal(first, second)
    assert not torch.equal(first, optimized("bf16_weights", adam)[0])
    scaled = optimized("msamp_o2", adam)[1]["exp_avg"]
    power = 2.0 ** torch.floor(torch.log2(448 / scaled.abs().max()))
    assert on_grid(scaled * power, "e4m3") or on_grid(scaled * power / 2, "e4m3")
    weights, state, report = optimized("bf16_kahan", adam)
    assert on_grid(weights, "bf16") and on_grid(state["compensation"], "bf16") and state["compensation"].any()
    assert not report.not_emulated


def with_norm(recipe, fp32, make):
    """The parameters and the optimizer of a net with a batch normalisation after some steps."""
    torch.manual_seed(7)
    model = torch.nn.Sequential(torch.nn.Linear(6, 5), torch.nn.BatchNorm1d(5), torch.nn.Linear(5, 2))
    optimizer = make(model.parameters())
    x = torch.randn(16, 6)
    with ulplab.torch.emulate("h100", recipe, fp32=fp32) as run:
        for _ in range(3):
            optimizer.zero_grad()
            model(x).pow(2).sum().backward()
            optimizer.step()
    assert not run.report().not_emulated
    return model, optimizer


@pytest.mark.parametrize("make", [lambda p: torch.optim.SGD(p, lr=0.01, momentum=0.9),
                                  lambda p: torch.optim.Adam(p, lr=0.01, eps=0.01)])
def test_norms_that_stay_in_fp32_keep_their_parameters_and_state_in_it(make):
    on_grid = lambda tensor: torch.equal(tensor, rounded(tensor))  # noqa: E731
    for fp32, norms_on_grid in (((), True), (("batch_norm",), False)):
        model, optimizer = with_norm("fp16", fp32, make)
        for name, parameter in model.named_parameters():
            tensors = [parameter.detach()] + [x for x in optimizer.state[parameter].values()
                                              if isinstance(x, torch.Tensor) and x.dim() > 0]
            for each in tensors:
                assert on_grid(each) == (norms_on_grid or not name.startswith("1.")), (name, fp32)


@pytest.mark.parametrize("make", [torch.optim.SGD, torch.optim.AdamW])
def test_kahans_compensation_adds_up_what_rounding_loses(make):
    """Weights of 256, whose neighbours in bf16 are 255 and 258, and gradients of -1/4; each step in a run of its own, the
    optimizer's state saved and loaded in between."""
    found = {}
    for recipe in ("bf16_weights", "bf16_kahan"):
        parameter = torch.nn.Parameter(torch.full((3,), 256.0))
        state = None
        for _ in range(40):
            optimizer = make([parameter], lr=0.25)
            if state is not None:
                optimizer.load_state_dict(state)
            parameter.grad = torch.full((3,), -1.0)
            with ulplab.torch.emulate("h100", recipe) as run:
                optimizer.step()
            assert not run.report().not_emulated
            state = optimizer.state_dict()
        found[recipe] = parameter.tolist()
    decay = 40 * 0.25 * 256 * (0.01 if make is torch.optim.AdamW else 0)
    assert found["bf16_weights"] == [256] * 3
    assert all(abs(weight - (256 + 40 * 0.25 - decay)) <= 2 for weight in found["bf16_kahan"])


def test_ctrl_c_ends_a_long_product_within_a_second():
    x = torch.zeros(16384, 4096)
    timer = threading.Timer(0.2, signal.raise_signal, [signal.SIGINT])
    with ulplab.torch.emulate("h100", "mixed_fp16"):
        started = os.times().user  # the result's GiB may take the system seconds where free memory is in pieces
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            torch.mm(x, x.t())  # a minute and more
    assert os.times().user < started + 3


def test_parts_of_a_long_product_have_its_bits():
    x, w = rounded(torch.randn(200, 1024)), rounded(torch.randn(1024, 4096))  # parts of 64 rows
    with ulplab.torch.emulate("h100", "mixed_fp16"):
        assert same_bits(torch.mm(x, w).numpy(), rounded(by_unit(x, w)).numpy())


def test_a_closure_of_an_optimizer_is_the_models():
    layer, x = torch.nn.Linear(8, 4), torch.randn(3, 8)
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)

    def closure():
        optimizer.zero_grad()
        loss = layer(x).sum()
        loss.backward()
        return loss

    with ulplab.torch.emulate("h100", "mixed_fp16") as run:
        optimizer.step(closure)
    assert run.report().modules["Linear"]["products"] == {"forward": 1, "weight gradient": 1}


@pytest.mark.parametrize("recipe", ["bf16", "fp16"])
@pytest.mark.parametrize("make", [torch.optim.SGD, torch.optim.AdamW])
def test_optimizers_over_lists_of_tensors_step_as_those_over_each(recipe, make):
    found = [optimized(recipe, lambda parameters: make(parameters, lr=0.1, foreach=foreach))[0]
             for foreach in (False, True)]
    assert same_bits(found[0].numpy(), found[1].numpy())
    if recipe == "bf16":  # with fp32 masters
        fused = optimized(recipe, lambda parameters: make(parameters, lr=0.1, fused=True))[0]
        assert torch.allclose(fused, found[0], atol=1e-6)


def test_parameters_are_read_in_the_recipes_format():
    table = torch.nn.Embedding(4, 3)
    model = torch.nn.Sequential(table)
    with ulplab.torch.emulate("h100", "bf16"):
        y = model(torch.arange(4))
    assert same_bits(y.detach().numpy(), ulplab.round(table.weight, "bf16").detach().numpy())


@pytest.mark.parametrize("recipe", ["mixed_fp16", "msamp_o3"])
def test_a_change_of_a_parameter_by_way_of_data_is_seen(recipe):
    model, x = torch.nn.Sequential(torch.nn.LayerNorm(8), torch.nn.Linear(8, 8)), torch.randn(4, 8)
    with torch.no_grad(), ulplab.torch.emulate("h100", recipe):
        model(x)
        for each in model:
            each.weight.data.zero_()
            each.bias.data.fill_(0.5)
            assert torch.equal(each(x), torch.full((4, 8), 0.5))


def test_scalers_follow_their_dialect():
    parameter = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    scaler = ulplab.torch.GradScaler("pytorch", init_scale=8.0, growth_interval=1)
    with ulplab.torch.emulate("h100", "mixed_fp16"):
        scaler.scale((parameter * 2).sum()).backward()
        assert parameter.grad.tolist() == [16, 16]
        scaler.step(optimizer)
        scaler.update()
        assert parameter.tolist() == [0, 0] and scaler.get_scale() == 16
        parameter.grad.fill_(float("inf"))
        scaler.step(optimizer)
        scaler.update()
    assert parameter.tolist() == [0, 0] and scaler.get_scale() == 8
    other = ulplab.torch.GradScaler("deepspeed")
    other.load_state_dict(other.state_dict())
    with pytest.raises(ValueError, match="pytorch"):
        ulplab.torch.GradScaler("mine")


def test_weights_are_quantised_in_place():
    model = torch.nn.Sequential(torch.nn.Linear(32, 8), torch.nn.Conv2d(4, 4, 2))
    found = ulplab.torch.quantize_(model, "nvfp4")
    assert set(found) == {"0.weight", "1.weight"}
    assert same_bits(model[0].weight.detach().numpy(), ulplab.dequantize(found["0.weight"]).numpy())


def test_recipes_are_compared():
    def train(run):
        model = transformer()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        x = torch.randn(2, 4, 32)
        for _ in range(2):
            optimizer.zero_grad()
            loss = model(x).pow(2).mean()
            loss.backward()
            optimizer.step()
            yield loss.item()

    found = ulplab.torch.compare(train, ["fp32", "bf16", "te_delayed"])
    first = [losses[0] for losses in found.losses.values()]
    assert len(set(first)) == 3 and max(first) - min(first) < 0.1 * max(first) and "te_delayed" in repr(found)


def test_under_a_recipe_types_and_casts_are_answered_as_on_a_card():
    class Norm(torch.nn.Module):
        def forward(self, x):
            self.seen, wide = x.dtype, x.float()
            self.wide = wide.dtype
            return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype)

    x, model = torch.tensor([[300.0, 1.0, -2.0, 4.0]]), Norm()
    for recipe, seen in (("mixed_fp16", torch.float16), ("bf16", torch.bfloat16), ("tf32", torch.float32)):
        with ulplab.torch.emulate("h100", recipe) as run:
            y = model(x)
        assert model.seen is seen and model.wide is torch.float32 and y.dtype is torch.float32
        assert torch.allclose(y, x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True)), atol=1e-2)
        assert run.report().first_not_finite is None and (seen is torch.float32 or torch.equal(y, y.to(seen).float()))


def test_a_mask_that_fp16_cannot_hold_is_refused_under_a_recipe_and_finfo_is_right():
    class Masked(torch.nn.Module):
        def forward(self, x, value):
            return x.masked_fill(torch.ones(2, 3, dtype=torch.bool), value or torch.finfo(x.dtype).min).softmax(-1)

    for recipe in ("mixed_fp16", "bf16"):
        with ulplab.torch.emulate("h100", recipe) as run:
            assert torch.isfinite(Masked()(torch.zeros(2, 3), None)).all() and run.report().first_not_finite is None
            if recipe == "bf16":
                Masked()(torch.zeros(2, 3), -1e9)
            else:
                with pytest.raises(RuntimeError, match="at::Half without overflow"):
                    Masked()(torch.zeros(2, 3), -1e9)


def test_where_nothing_is_kept_in_fp32_everything_is_low():
    average, weights = torch.nn.Parameter(torch.ones(3)), torch.full((3,), 1.2)
    for recipe, value in (("bf16", 1.002), ("bf16_pure", 1.0)):
        with torch.no_grad(), ulplab.torch.emulate("h100", recipe) as run:
            for _ in range(100):
                average.mul_(0.9999).add_(weights, alpha=1e-4)
        assert average[0].item() == pytest.approx(value, abs=1e-4)
        assert bool(run.report().left_in_fp32) or recipe == "bf16_pure" or average.requires_grad
        average.data.fill_(1.0)
    with ulplab.torch.emulate("h100", "fp16"):
        assert (torch.full((4,), 300.0).square().sum().item()) == float("inf")


def test_a_scaler_says_that_the_scale_is_not_the_cause():
    parameter = torch.nn.Parameter(torch.zeros(2))
    optimizer, scaler = torch.optim.SGD([parameter], lr=0.1), ulplab.torch.GradScaler("pytorch")
    with ulplab.torch.emulate("h100", "mixed_fp16"), pytest.warns(RuntimeWarning, match="NaN .* not a matter of the scale"):
        for _ in range(9):
            optimizer.zero_grad()
            scaler.scale((parameter * 0).pow(2).sum().sqrt()).backward()
            scaler.step(optimizer)
            scaler.update()
