"""ulplab.torch.export: models as nets of the trainer, whose gradients have the bits of emulation."""

import numpy
import pytest

torch = pytest.importorskip("torch")

import ulplab  # noqa: E402
import ulplab.torch  # noqa: E402
from conftest import bits, same_bits  # noqa: E402
from torch import nn  # noqa: E402


class Block(nn.Module):
    """Attention and a feed-forward layer, each with a way around, behind an embedding with learned places."""

    def __init__(self):
        super().__init__()
        self.words, self.places = nn.Embedding(128, 16), nn.Embedding(6, 16)
        self.norm1, self.norm2 = nn.LayerNorm(16), nn.LayerNorm(16)
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
        self.wide, self.narrow, self.out = nn.Linear(16, 24), nn.Linear(24, 16), nn.Linear(16, 128)

    def forward(self, x):
        x = self.words(x) + self.places.weight
        y = self.norm1(x)
        x = x + self.attention(y, y, y)[0]
        x = x + self.narrow(torch.nn.functional.gelu(self.wide(self.norm2(x))))
        return self.out(x)


class Gated(nn.Module):
    """Grouped queries written out, without a bias, and a feed-forward layer with a SiLU gate."""

    def __init__(self):
        super().__init__()
        linear = lambda a, b: nn.Linear(a, b, bias=False)  # noqa: E731
        self.words, self.norm = nn.Embedding(128, 16), nn.RMSNorm(16, eps=1e-6)
        self.attention = nn.ModuleDict({f"{name}_proj": linear(16, width) for name, width in zip("qkvo", (16, 8, 8, 16))})
        self.gate, self.up, self.down, self.out = linear(16, 24), linear(16, 24), linear(24, 16), linear(16, 128)

    def forward(self, x):
        x = self.words(x)
        batch, time, width = x.shape
        y = self.norm(x)

        def heads(y, count):
            y = y.reshape(batch, time, count, 4).transpose(1, 2)
            return y.repeat_interleave(4 // count, 1).reshape(batch * 4, time, 4)
        q, k, v = (heads(self.attention[name](y), count) for name, count in (("q_proj", 4), ("k_proj", 2), ("v_proj", 2)))
        scores = (torch.bmm(q, k.transpose(1, 2)) * 0.5).masked_fill(torch.ones(time, time).triu(1).bool(), -torch.inf)
        mixed = torch.bmm(torch.softmax(scores, -1), v).reshape(batch, 4, time, 4).transpose(1, 2)
        x = x + self.attention["o_proj"](mixed.reshape(batch, time, width))
        x = x + self.down(torch.nn.functional.silu(self.gate(x)) * self.up(x))
        return self.out(x)


def cnn():
    return nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Conv2d(4, 6, 3, stride=2, padding=1), nn.Tanh(), nn.Flatten(), nn.Linear(24, 5))


def encoder():
    layer = nn.TransformerEncoderLayer(16, 4, 24, dropout=0.0, batch_first=True)
    return nn.Sequential(nn.Embedding(128, 16), nn.TransformerEncoder(layer, 2), nn.Linear(16, 128))


NETS = {"linear": (lambda: nn.Sequential(nn.Linear(40, 24), nn.GELU(), nn.Linear(24, 3)), (40,), None, (7, 3)),
        "conv": (cnn, (1, 8, 8), None, (3, 5)), "block": (Block, (6,), 128, (2, 6, 128)),
        "encoder": (encoder, (6,), 128, (2, 6, 128)), "gated": (Gated, (6,), 128, (2, 6, 128))}


@pytest.mark.parametrize("recipe", ["mixed_fp16", "bf16", "te_current", "deepseek_v3", "pure_bf16"])
@pytest.mark.parametrize("name", NETS)
def test_gradients_are_the_trainers_bit_for_bit(name, recipe, tmp_path):
    make, shape, tokens, result = NETS[name]
    torch.manual_seed(1)
    model = make()
    net, weights = ulplab.torch.export(model, tmp_path / "net.json", shape=shape, tokens=tokens)
    count = result[0]
    x = torch.randint(0, tokens, (count, *shape)) if tokens else torch.randn(count, *shape)
    dy = torch.randn(result).bfloat16().half().float()
    with ulplab.torch.emulate("h100", recipe):
        leaf = x if tokens else x.clone().requires_grad_()
        y = model(leaf)
        y.backward(dy)
    expected, gradients = ulplab.gradients(net, x, dy, weights=weights, recipe=recipe, unit="h100")
    assert (bits(y.detach().numpy()) == bits(expected)).all()
    found = {key: parameter.grad for key, parameter in model.named_parameters()}
    if not tokens:
        found["input"] = leaf.grad
    assert found.keys() == gradients.keys()
    for key, gradient in found.items():
        different = bits(gradient.numpy()) != bits(gradients[key])
        assert not different.any(), (key, different.sum(), different.size)


@pytest.mark.parametrize("fp32", [["layer_norm"], ["softmax", "gelu"]])
def test_operations_in_fp32_are_the_trainers(fp32, tmp_path):
    torch.manual_seed(1)
    model = Block()
    net, weights = ulplab.torch.export(model, tmp_path / "net.json", shape=(6,), tokens=128)
    x, dy = torch.randint(0, 128, (2, 6)), torch.randn(2, 6, 128).bfloat16().float()
    with ulplab.torch.emulate("h100", "bf16", fp32=fp32):
        y = model(x)
        y.backward(dy)
    expected, gradients = ulplab.gradients(net, x, dy, weights=weights, recipe="bf16", unit="h100", fp32=fp32,
                                           low=["linear", "matmul"])
    assert same_bits(y.detach().numpy(), expected)
    for key, parameter in model.named_parameters():
        assert same_bits(parameter.grad.numpy(), gradients[key]), key


OPTIMIZERS = {"sgd": lambda parameters: torch.optim.SGD(parameters, lr=0.05, momentum=0.9),
              "adam": lambda parameters: torch.optim.Adam(parameters, lr=0.05)}


@pytest.mark.parametrize("recipe, optimizer", [("bf16_kahan", "sgd"), ("bf16_kahan", "adam"), ("bf16_weights", "sgd"),
                                               ("bf16_moments", "adam"), ("mixed_fp16", "adam"), ("pure_bf16", "sgd"),
                                               ("msamp_o2", "adam"), ("msamp_o3", "adam")])
def test_a_training_is_the_trainers_bit_for_bit(recipe, optimizer, tmp_path):
    """Masters, weights without them, Kahan's compensation, moments: losses and weights of a whole training."""
    torch.manual_seed(3)
    model = nn.Sequential(nn.Linear(12, 16), nn.Tanh(), nn.Linear(16, 4))
    net, weights = ulplab.torch.export(model, tmp_path / "net.json", shape=(12,))
    dialect = "constant" if recipe == "pure_bf16" else "pytorch"
    rng = numpy.random.default_rng(4)
    x, labels = rng.random((100, 12)).astype("f4"), rng.integers(0, 4, 100)
    expected = ulplab.train(net, weights=weights, recipe=recipe, unit="h100", data=x, labels=labels, batch=30, steps=6,
                            seed=5, optimizer=optimizer, scaler=dialect)
    steps, scaler, losses = OPTIMIZERS[optimizer](model.parameters()), ulplab.torch.GradScaler(dialect), []
    with ulplab.torch.emulate("h100", recipe):
        for step in range(6):
            which = ulplab._core.shuffled(90, 5, step // 3)[step % 3 * 30:][:30]
            loss = nn.functional.cross_entropy(model(torch.from_numpy(x[which])), torch.from_numpy(labels[which]))
            steps.zero_grad()
            scaler.scale(loss).backward()
            scaler.step(steps)
            scaler.update()
            losses.append(loss.item())
    assert losses == expected.losses.tolist()
    for key, parameter in model.named_parameters():
        assert same_bits(parameter.detach().numpy(), expected.weights[key]), key


def test_an_exported_net_trains(tmp_path):
    torch.manual_seed(2)
    model = cnn()
    net, weights = ulplab.torch.export(model, tmp_path / "small.json", shape=(1, 8, 8))
    assert (tmp_path / "small.json").exists() and net["outputs"] == 5
    x = numpy.random.default_rng(1).random((40, 1, 8, 8)).astype("f4")
    labels = (x.mean((1, 2, 3)) > 0.5).astype("i8")
    found = ulplab.train(tmp_path / "small.json", weights=weights, data=x, labels=labels, batch=8, steps=20, seed=3)
    assert found.losses[-1] < found.losses[0]
    model.load_state_dict({key: torch.from_numpy(value) for key, value in found.weights.items()})


@pytest.mark.parametrize("model, text", [
    (nn.Sequential(nn.LayerNorm(4, elementwise_affine=False)), r"0 \(LayerNorm\) is nothing .*has no weight"),
    (nn.Sequential(nn.Linear(4, 4), nn.Softsign()), r"1 \(Softsign\) .* there is no such layer"),
    (nn.Linear(4, 4), r"give torch.nn.Sequential\(model\)"),
    (nn.Sequential(nn.TransformerEncoderLayer(4, 1)), "batch_first is False"),
])
def test_what_nets_cannot_express_is_refused_by_name(model, text, tmp_path):
    with pytest.raises(NotImplementedError, match=text):
        ulplab.torch.export(model, tmp_path / "net.json", shape=(4,) if not isinstance(model[0] if isinstance(
            model, nn.Sequential) else model, nn.TransformerEncoderLayer) else (3, 4))
    assert not list(tmp_path.iterdir())


def test_convolutions_and_branches_have_their_limits(tmp_path):
    for layer, text in ((nn.Conv2d(1, 2, 3, padding=(0, 1)), "padding is .0, 1.; it must be square"),
                        (nn.Conv2d(1, 2, 3, padding=1, dilation=2), "dilation"),
                        (nn.BatchNorm2d(1, affine=False), "it has no parameters")):
        with pytest.raises(NotImplementedError, match=text):
            ulplab.torch.export(nn.Sequential(layer), tmp_path / "net.json", shape=(1, 8, 8))

    class Branches(nn.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.out = nn.Conv2d(1, 2, 3, padding=1), nn.Conv2d(1, 3, 1), nn.Linear(5 * 16, 2)

        def forward(self, x):
            return self.out(torch.flatten(torch.relu(torch.cat([self.a(x), self.b(x)], 1)), 1))

    net, _ = ulplab.torch.export(Branches(), tmp_path / "net.json", shape=(1, 4, 4))
    assert [layer["layer"] for layer in net["layers"]] == ["branches", "relu", "flatten", "linear"]

    class Forked(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(NotImplementedError, match="Forked .*cannot be traced"):
        ulplab.torch.export(Forked(), tmp_path / "net.json", shape=(4,))
