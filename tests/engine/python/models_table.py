"""A table: models of today under ulplab.torch.emulate, forward, backward and one optimizer step.

Usage: models_table.py [--layers 4] [--width 256] [--unit h100] [--recipe bf16|types] [NAME...]

With `--recipe types` the model is in bfloat16, and its tensors' own types decide.

For each model whether it works, or the sentence that says why not; its time compared with plain PyTorch's in fp32; the relative
error of the gradient against fp64; the same of PyTorch's own casts (torch.autocast to bfloat16 on the CPU); and which share of
its products was not emulated.
"""

import argparse
import copy
import time

import torch
from torch import nn
from torch.nn import functional

import ulplab.torch

PRODUCTS = {"mm", "bmm", "addmm", "baddbmm", "addbmm", "mv", "addmv", "dot", "vdot", "matmul", "linear", "convolution", "einsum",
            "_scaled_dot_product_attention", "_grouped_mm", "_scaled_mm"}


class UNet(nn.Module):
    """A Stable-Diffusion-like U-Net of a few levels: residual blocks with group norm, SiLU and the step's embedding,
    self-attention and cross attention to a text, on the way down and up."""

    class Block(nn.Module):
        def __init__(self, width_in, width, text):
            super().__init__()
            self.norm1, self.norm2, self.norm3 = (nn.GroupNorm(8, w) for w in (width_in, width, width))
            self.conv1, self.conv2 = nn.Conv2d(width_in, width, 3, padding=1), nn.Conv2d(width, width, 3, padding=1)
            self.step, self.around = nn.Linear(width, width), nn.Conv2d(width_in, width, 1)
            self.self_attention = nn.MultiheadAttention(width, 4, batch_first=True)
            self.cross_attention = nn.MultiheadAttention(width, 4, kdim=text, vdim=text, batch_first=True)
            self.gate, self.out = nn.Linear(width, 4 * width), nn.Linear(2 * width, width)

        def forward(self, x, step, text):
            y = self.conv1(functional.silu(self.norm1(x))) + self.step(step)[:, :, None, None]
            x = self.around(x) + self.conv2(functional.silu(self.norm2(y)))
            y = self.norm3(x).flatten(2).transpose(1, 2)
            y = y + self.self_attention(y, y, y, need_weights=False)[0]
            y = y + self.cross_attention(y, text, text, need_weights=False)[0]
            a, b = self.gate(y).chunk(2, -1)
            return x + (y + self.out(a * functional.gelu(b))).transpose(1, 2).unflatten(2, x.shape[2:])

    def __init__(self, layers, width):
        super().__init__()
        half = max(1, layers // 2)
        self.step = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
        self.first, self.last = nn.Conv2d(4, width, 3, padding=1), nn.Conv2d(width, 4, 3, padding=1)
        self.down = nn.ModuleList(self.Block(width, width, width) for _ in range(half))
        self.up = nn.ModuleList(self.Block(2 * width, width, width) for _ in range(half))

    def forward(self, x, time, text):
        angles = time[:, None].float() * torch.exp(-torch.arange(self.last.in_channels // 2) * 0.1)
        step, x, passed = self.step(torch.cat([angles.sin(), angles.cos()], -1).to(x.dtype)), self.first(x), []
        for block in self.down:
            x = block(x, step, text)
            passed.append(x)
            x = functional.avg_pool2d(x, 2)
        for block in self.up:
            x = functional.interpolate(x, scale_factor=2.0, mode="nearest")
            x = block(torch.cat([x, passed.pop()], 1), step, text)
        return self.last(x)


def _decoder(kind, **options):
    def make(layers, width):
        import transformers
        config = getattr(transformers, f"{kind}Config")(
            vocab_size=256, hidden_size=width, intermediate_size=2 * width, num_hidden_layers=layers, num_attention_heads=4,
            max_position_embeddings=128, **options)
        model = getattr(transformers, f"{kind}ForCausalLM" if kind != "Bert" else "BertForMaskedLM")(config)
        ids = torch.randint(0, 256, (2, 48))
        return model, {"input_ids": ids, "labels": ids}
    return make


def _gpt2(layers, width):
    import transformers
    config = transformers.GPT2Config(vocab_size=256, n_embd=width, n_layer=layers, n_head=4, n_positions=128, resid_pdrop=0,
                                     embd_pdrop=0, attn_pdrop=0)
    ids = torch.randint(0, 256, (2, 48))
    return transformers.GPT2LMHeadModel(config), {"input_ids": ids, "labels": ids}


def _t5(layers, width):
    import transformers
    config = transformers.T5Config(vocab_size=256, d_model=width, d_kv=width // 4, d_ff=2 * width, num_layers=layers // 2,
                                   num_decoder_layers=layers // 2, num_heads=4, dropout_rate=0, decoder_start_token_id=0)
    ids = torch.randint(2, 256, (2, 48))
    return transformers.T5ForConditionalGeneration(config), {"input_ids": ids, "labels": ids}


def _vit(layers, width):
    import transformers
    config = transformers.ViTConfig(hidden_size=width, num_hidden_layers=layers, num_attention_heads=4, intermediate_size=2 * width,
                                    image_size=32, patch_size=8, num_labels=10)
    return transformers.ViTForImageClassification(config), {"pixel_values": torch.randn(2, 3, 32, 32),
                                                            "labels": torch.tensor([3, 7])}


def _whisper(layers, width):
    import transformers
    config = transformers.WhisperConfig(
        vocab_size=256, d_model=width, encoder_layers=layers // 2, decoder_layers=layers // 2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=2 * width, decoder_ffn_dim=2 * width, num_mel_bins=20, max_source_positions=50,
        max_target_positions=48, dropout=0, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1)
    return transformers.WhisperForConditionalGeneration(config), {"input_features": torch.randn(2, 20, 100),
                                                                  "labels": torch.randint(3, 256, (2, 16))}


def _unet(layers, width):
    return UNet(layers, width), {"x": torch.randn(2, 4, 16, 16), "time": torch.tensor([3, 500]),
                                 "text": torch.randn(2, 8, width)}


MODELS = {
    "Llama": _decoder("Llama", num_key_value_heads=2), "Qwen2": _decoder("Qwen2", num_key_value_heads=2),
    "Qwen3": _decoder("Qwen3", num_key_value_heads=2, head_dim=32),
    "Mixtral": _decoder("Mixtral", num_key_value_heads=2, num_local_experts=4),
    "GPT-2": _gpt2, "BERT": _decoder("Bert", hidden_dropout_prob=0, attention_probs_dropout_prob=0), "T5": _t5, "ViT": _vit,
    "Whisper": _whisper, "U-Net": _unet}
#: What is in fp32 on a card, too, since the code says so there: the angles of a step.
FP32 = {"U-Net": ["exp"]}


def loss_of(model, given):
    y = model(**given)
    return (y.float() if y.dtype is torch.bfloat16 else y).square().mean() if isinstance(y, torch.Tensor) else y.loss


def step(model, given):
    """Forward, backward and one optimizer step: the loss, the gradients, seconds."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    started = time.perf_counter()
    loss = loss_of(model, given)
    loss.backward()
    gradients = [None if p.grad is None else p.grad.detach().double() for p in model.parameters()]
    optimizer.step()
    return loss.item(), gradients, time.perf_counter() - started


def error(gradients, reference):
    pairs = [(g, r) for g, r in zip(gradients, reference) if g is not None and r is not None]
    return (sum((g - r).square().sum() for g, r in pairs) / sum(r.square().sum() for _, r in pairs)).sqrt().item()


def share_not_emulated(report):
    """Of the products those that ran in fp32."""
    missed = sum(count for name, count in report.not_emulated.items() if name.split("::")[-1].split(" ")[0].split(".")[0] in PRODUCTS)
    return missed / max(1, missed + int(report.products))


def row(name, layers=4, width=256, unit="h100", recipe="bf16"):
    """A dictionary: works, or sentence; ratio, error, error_of_casts, missed."""
    torch.manual_seed(1)
    model, given = MODELS[name](layers, width)
    double = {key: value.double() if value.is_floating_point() else value for key, value in given.items()}
    exact = copy.deepcopy(model).double()
    if hasattr(exact, "config"):
        exact.config._experts_implementation = "eager"  # products of groups are for narrower types
    _, reference, _ = step(exact, double)
    plain = min(step(copy.deepcopy(model), given)[2] for _ in range(3))
    with torch.autocast("cpu", torch.bfloat16):
        _, casts, _ = step(copy.deepcopy(model), given)
    found = {"model": name, "error_of_casts": error(casts, reference)}
    if recipe == "types":
        model, how = model.bfloat16(), {}
        given = {key: value.bfloat16() if value.is_floating_point() else value for key, value in given.items()}
    else:
        how = {"recipe": recipe, "fp32": FP32.get(name, ())}
    try:
        with ulplab.torch.emulate(unit, **how) as run:
            loss, gradients, seconds = step(copy.deepcopy(model), given)
        report = run.report()
    except (NotImplementedError, RuntimeError, TypeError, ValueError) as sentence:
        return {**found, "works": False, "sentence": str(sentence).split("\n")[0]}
    return {**found, "works": loss == loss and int(report.products) > 0, "ratio": seconds / plain,
            "error": error(gradients, reference), "missed": share_not_emulated(report),
            "products": int(report.products), "not_emulated": report.not_emulated}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--unit", default="h100")
    parser.add_argument("--recipe", default="bf16", help="a recipe, or types")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(MODELS)}; by default all")
    given = parser.parse_args()
    unknown = sorted(set(given.names) - set(MODELS))
    if unknown:
        parser.error(f"there is no model {', '.join(unknown)}; there are {', '.join(MODELS)}")
    print(f"{'model':<10} {'works':<6} {'products':>8} {'time':>7} {'error':>9} {'casts':>9} {'missed':>7}")
    for name in given.names or MODELS:
        r = row(name, given.layers, given.width, given.unit, given.recipe)
        if not r["works"] and "sentence" in r:
            print(f"{name:<10} no     {r['sentence']}", flush=True)
            continue
        print(f"{name:<10} {'yes' if r['works'] else 'no':<6} {r['products']:>8} {r['ratio']:>6.2f}x {r['error']:>9.2e} "
              f"{r['error_of_casts']:>9.2e} {r['missed']:>7.1%}  {dict(r['not_emulated']) or ''}", flush=True)


if __name__ == "__main__":
    main()
