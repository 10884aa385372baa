"""Models of today as nets of the trainer: their numbers and gradients against float64, and training runs."""

import numpy
import pytest

torch = pytest.importorskip("torch")

import ulplab  # noqa: E402
import ulplab.torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional  # noqa: E402


class Norm(nn.Module):
    """RMSNorm, written out."""

    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(width) + 0.5)

    def forward(self, x):
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6) * self.weight


class Llama(nn.Module):
    """A Llama from plain code: grouped queries, rotary places of neighbouring pairs, a SiLU gate."""

    def __init__(self, words=32, width=16, heads=4, key_heads=2, layers=2, time=5):
        super().__init__()
        self.words, self.heads, self.key_heads = nn.Embedding(words, width), heads, key_heads
        each = width // heads
        angles = torch.arange(time)[:, None] * 500.0 ** (-torch.arange(0, each, 2) / each)
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles), persistent=False)
        linear = lambda a, b: nn.Linear(a, b, bias=False)  # noqa: E731
        self.blocks = nn.ModuleList(nn.ModuleDict({
            "norm1": Norm(width), "wq": linear(width, width), "wk": linear(width, key_heads * each),
            "wv": linear(width, key_heads * each), "wo": linear(width, width), "norm2": nn.RMSNorm(width, eps=1e-5),
            "w1": linear(width, 24), "w3": linear(width, 24), "w2": linear(24, width)}) for _ in range(layers))
        self.norm, self.out = nn.RMSNorm(width), linear(width, words)

    def turned(self, x):
        pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * self.turns[:, None]).flatten(-2)

    def forward(self, x):
        x = self.words(x)
        for b in self.blocks:
            y = b["norm1"](x)
            q, k, v = (b[n](y).unflatten(-1, (h, -1)) for n, h in (("wq", self.heads), ("wk", self.key_heads),
                                                                    ("wv", self.key_heads)))
            q, k, v = (each.transpose(1, 2) for each in (self.turned(q), self.turned(k), v))
            k, v = (each.repeat_interleave(self.heads // self.key_heads, 1) for each in (k, v))
            mask = torch.full((x.shape[1],) * 2, -torch.inf).triu(1)
            p = torch.softmax(q @ k.transpose(2, 3) / (q.shape[-1] ** 0.5) + mask, -1)
            x = x + b["wo"]((p @ v).transpose(1, 2).flatten(2))
            y = b["norm2"](x)
            x = x + b["w2"](functional.silu(b["w1"](y)) * b["w3"](y))
        return self.out(self.norm(x))


class Residual(nn.Module):
    """ResNet's block with another way around, as torchvision writes it."""

    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = (nn.Conv2d(c, 6, 3, stride=s, padding=1, bias=False) for c, s in ((3, 2), (6, 1)))
        self.bn1, self.bn2 = nn.BatchNorm2d(6), nn.BatchNorm2d(6)
        self.downsample = nn.Sequential(nn.Conv2d(3, 6, 1, stride=2, bias=False), nn.BatchNorm2d(6))
        self.fc = nn.Linear(6, 4)

    def forward(self, x):
        y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(x)))))
        y = torch.relu(y + self.downsample(x))
        return self.fc(functional.adaptive_avg_pool2d(y, 1).flatten(1))


class Gpt(nn.Module):
    """A block as nanoGPT's: queries, keys and values of one matrix."""

    def __init__(self, bias, dropout=0.0):
        super().__init__()
        self.dropout = dropout
        self.wte, self.wpe = nn.Embedding(20, 8), nn.Embedding(12, 8)
        self.attn, self.proj = nn.Linear(8, 24, bias=bias), nn.Linear(8, 8, bias=bias)
        self.norm, self.out = nn.LayerNorm(8), nn.Linear(8, 20)

    def forward(self, x):
        x = self.wte(x) + self.wpe(torch.arange(x.shape[1]))
        q, k, v = (each.unflatten(-1, (2, 4)).transpose(1, 2) for each in self.attn(self.norm(x)).split(8, -1))
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=self.dropout if self.training else 0)
        return self.out(x + self.proj(y.transpose(1, 2).reshape(x.shape)))


def transformers_model(kind, **options):
    transformers = pytest.importorskip("transformers")
    small = {"vocab_size": 40, "hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2,
             "num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 64}
    config = getattr(transformers, f"{kind}Config")(**{**small, **options})
    return getattr(transformers, f"{kind}ForCausalLM")(config)


def cnn():
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.SiLU(), nn.MaxPool2d(2),
                         nn.Conv2d(4, 4, 3, padding=1, groups=4), nn.LeakyReLU(), nn.AvgPool2d(3), nn.Flatten(), nn.Linear(4, 5))


class Lstm(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.lstm, self.out = nn.Embedding(20, 6), nn.LSTM(6, 8, batch_first=True), nn.Linear(8, 20)

    def forward(self, x):
        return self.out(self.lstm(self.words(x))[0])


NETS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(12, 16), nn.SiLU(), nn.Linear(16, 3, bias=False)), (12,), None, ()),
    "cnn": (cnn, (1, 8, 8), None, ("batch_norm", "silu", "average_pool")),
    "resnet block": (Residual, (3, 8, 8), None, ("sum", "global_average")),
    "lstm": (Lstm, (5,), 20, ("lstm",)),
    "gpt": (lambda: Gpt(True), (6,), 20, ("places", "attention")),
    "gpt without bias": (lambda: Gpt(False), (6,), 20, ("places", "grouped_attention")),
    "llama": (Llama, (5,), 32, ("rms_norm", "grouped_attention", "product")),
    "LlamaForCausalLM": (lambda: transformers_model("Llama"), (6,), 40, ("rms_norm", "grouped_attention", "product")),
    "Qwen2ForCausalLM": (lambda: transformers_model("Qwen2"), (6,), 40, ("grouped_attention",)),
    "MixtralForCausalLM": (lambda: transformers_model("Mixtral", num_local_experts=4), (6,), 40, ("experts",))}


def kinds(layers):
    """All kinds of layers of a net."""
    found = set()
    for layer in layers:
        found |= {layer["layer"]} | kinds(layer.get("inside", []))
        for lists in ("branches", "experts"):
            for inside in layer.get(lists, []):
                found |= kinds(inside)
    return found


def of_model(model, key):
    """A parameter's gradient by its name in the net."""
    parameters = dict(model.named_parameters())
    names = {"wq": "q_proj", "wk": "k_proj", "wv": "v_proj", "wo": "o_proj"}
    for name, parameter in parameters.items():
        parts = [names.get(part, part) for part in name.split(".")]
        if ".".join(parts) == key:
            return parameter.grad
    return None


@pytest.mark.parametrize("name", NETS)
def test_exported_nets_compute_what_pytorch_does_in_float64(name, tmp_path):
    make, shape, tokens, layers = NETS[name]
    torch.manual_seed(1)
    model = make()
    net, weights = ulplab.torch.export(model, tmp_path / "net.json", shape=shape, tokens=tokens)
    assert kinds(net["layers"]) >= set(layers)
    x = torch.randint(0, tokens, (3, *shape)) if tokens else torch.randn(3, *shape)
    model.double().train()
    if name == "MixtralForCausalLM":
        model.config._experts_implementation = "eager"  # others multiply in fp32 or less
    y = model(x if tokens else x.double())
    y = y if isinstance(y, torch.Tensor) else y.logits
    dy = torch.randn(y.shape)
    y.backward(dy.double())
    found, gradients = ulplab.gradients(net, x, dy, weights=weights, recipe="fp32", unit="ieee")
    assert numpy.allclose(found, y.detach().numpy(), rtol=1e-4, atol=1e-5)
    compared = 0
    for key, gradient in gradients.items():
        expected = of_model(model, key)
        if expected is not None:
            expected = expected[:len(gradient)]  # a longer table of places
            scale = expected.abs().max().item() + 1e-12
            assert numpy.abs(gradient - expected.numpy()).max() < 1e-4 * scale + 2e-6, key
            compared += 1
    assert compared >= 3 and not net["name"] == ""


@pytest.mark.parametrize("name", ["llama", "MixtralForCausalLM"])
def test_exported_nets_train(name, tmp_path):
    torch.manual_seed(2)
    model = Llama(128) if name == "llama" else transformers_model("Mixtral", num_local_experts=4, vocab_size=128)
    net, weights = ulplab.torch.export(model, tmp_path / "net.json", shape=(5,), tokens=128)
    text = numpy.tile(numpy.arange(128), 10)
    for recipe in ("bf16", "mixed_fp16", "te_current", "mxfp8"):
        found = ulplab.train(net, weights=weights, recipe=recipe, data=text, batch=8, steps=30, optimizer="adam",
                             learning_rate=0.01)
        assert found.losses[-1] < found.losses[0], recipe


@pytest.mark.parametrize("model, shape, text", [
    (nn.Sequential(nn.Linear(4, 4), nn.GELU(approximate="tanh")), (4,), r"1 \(GELU\) .*approximate is tanh"),
    (nn.Sequential(nn.Conv2d(2, 2, 3, dilation=2)), (2, 8, 8), r"0 \(Conv2d\) .*dilation is 2"),
    (nn.Sequential(nn.Embedding(9, 4, padding_idx=0), nn.Linear(4, 9)), (5,), "padding_idx is 0; it must be None"),
    (nn.Sequential(nn.LSTM(4, 4, num_layers=2, batch_first=True)), (5, 4), "num_layers is 2; it must be 1")])
def test_what_nets_cannot_express_is_refused_with_its_module(model, shape, text, tmp_path):
    if isinstance(model[0], nn.LSTM):
        lstm = model[0]

        class First(nn.Module):
            def __init__(self):
                super().__init__()
                self.lstm = lstm

            def forward(self, x):
                return self.lstm(x)[0]
        model = First()
    with pytest.raises(NotImplementedError, match=text):
        ulplab.torch.export(model, tmp_path / "net.json", shape=shape, tokens=9 if shape == (5,) else None)
    assert not list(tmp_path.iterdir())


def test_dropout_of_attention_is_in_the_net(tmp_path):
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)  # PyTorch's default: 0.1 in four places
    for model in (Gpt(True, 0.1), nn.Sequential(nn.Embedding(20, 8), layer, nn.Linear(8, 20))):
        net, _ = ulplab.torch.export(model, tmp_path / "net.json", shape=(6,), tokens=20)
        assert '"dropout": 0.1' in str(net).replace("'", '"')


def test_tied_weights_are_refused(tmp_path):
    with pytest.raises(NotImplementedError, match="used twice"):
        ulplab.torch.export(transformers_model("Llama", tie_word_embeddings=True), tmp_path / "net.json", shape=(6,),
                            tokens=40)
