# # Why a sampler and a trainer disagree, and what each remedy buys
#
# Answers: with the same weights and tokens, how far apart are the log-probabilities of two engines, where does the gap begin,
# and which remedy removes how much of it?
#
# The models have the code of transformers and random weights of standard deviation 0.06: a Llama, a Mixtral with 4 experts and
# a GPT-2, each of 2 layers and width 128. The sampler splits the sums of its products into 4 pieces and takes tiles of 32 keys;
# the trainer adds in one chain, with tiles of 64. Both compute on an H100 in bf16.

# %%
import os

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
import transformers

import ulplab.torch

shape = {"vocab_size": 256, "num_hidden_layers": 2, "hidden_size": 128, "num_attention_heads": 4, "intermediate_size": 256}
gpt2 = {"vocab_size": 256, "n_layer": 2, "n_embd": 128, "n_head": 4, "resid_pdrop": 0, "embd_pdrop": 0, "attn_pdrop": 0}
configurations = {
    "Llama-like": transformers.LlamaConfig(**shape, num_key_value_heads=2, initializer_range=0.06),
    "Mixtral-like": transformers.MixtralConfig(**shape, num_key_value_heads=2, num_local_experts=4, initializer_range=0.06),
    "GPT-2-like": transformers.GPT2Config(**gpt2, initializer_range=0.06)}
models = {}
for name, configuration in configurations.items():
    torch.manual_seed(1)
    models[name] = transformers.AutoModelForCausalLM.from_config(configuration, attn_implementation="sdpa").eval()
tokens = torch.randint(0, 256, (2, 64), generator=torch.Generator().manual_seed(2))
sampler = {"order": ulplab.Order(split_k=4), "attention": {"tile": 32}}
trainer = {"attention": {"tile": 64}}
found = {name: ulplab.torch.mismatch(model, tokens, a=sampler, b=trainer) for name, model in models.items()}
print(found["Llama-like"])

# One number of one product differs first. Then the difference grows from layer to layer, up to the size of the rounding error
# itself:

# %%
for each in found["Llama-like"].growth_by_module:
    if each["module"].endswith(("q_proj", "o_proj", "down_proj", "lm_head")):
        print(f"{each['module']:<32} {each['differ']:>7.2%} of the numbers differ, by {each['relative']:.1e} (rms; from fp64: "
              f"{each['from_fp64']:.1e}), at most {each['ulps']:.0f} ulp")

# Each module's arithmetic exchanged alone. Shares need not add up: any difference sets off roundings in all later layers.

# %%
print(found["Llama-like"].by_module(["self_attn", "mlp", "lm_head"]))

# What each remedy buys, over three orders of the tokens:

# %%
print("| model | remedy | rms that remains | factor (95 %) | products |")
print("|---|---|---|---|---|")
for name, each in found.items():
    for remedy in each.remedies():
        whole = sum(remedy["cost"].values())
        cost = ", ".join(f"{count / whole:.0%} {format}" for format, count in sorted(remedy["cost"].items()))
        factor = "none remains" if remedy["rms"] == 0 else (
            f"{remedy['factor']:.2g} ({remedy['low']:.2g} to {remedy['high']:.2g})" if remedy["low"] < remedy["high"] else "1")
        print(f"| {name} | {remedy['name']} | {remedy['rms']:.2g} | {factor} | {cost} |")

# A router's choice is a comparison: where two experts have nearly the same score, another order sends the token elsewhere.

# %%
for each in found["Mixtral-like"].routers:
    print(f"{each['module']}: {each['flips']} of {each['tokens']} tokens go to other experts; margin {each['margin']:.2g}"
          + (f", of these {each['margin_of_flips']:.2g}" if each["flips"] else ""))

# A sampler in FP8 is another matter than an order:

# %%
fp8 = ulplab.torch.mismatch(models["Llama-like"], tokens, a={"recipe": "te_current"}, b={})
print(f"rms {fp8.rms:.2g}, KL {fp8.kl:.2g}, {fp8.outside:.0%} of the ratios outside 0.8 to 1.2")
print(fp8.remedies())
