# # A model that overflows in fp16, found and mended
#
# A net squares its activations. The report names the operation and the module where the first value is infinite.

# %%
import torch

import ulplab.torch

torch.manual_seed(0)


class Net(torch.nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.embed, self.mix, self.head = torch.nn.Linear(64, 64), torch.nn.Linear(64, 64), torch.nn.Linear(64, 4)
        self.scale = scale
        with torch.no_grad():
            self.embed.weight.mul_(3000)

    def forward(self, x):
        h = self.embed(x * self.scale)
        return self.head(self.mix(h * h).tanh())


x = torch.ones(2, 64)
with ulplab.torch.emulate("h100", "mixed_fp16") as run:
    y = Net(1.0)(x)
first = run.report().first_not_finite
print("overflows:", run.report().overflows > 0, "| first:", first["operation"], "in", first["module"], "|", first["pass"])

# The product h * h of the net itself leaves fp16's range, not a layer. With its input scaled down it does not.

# %%
with ulplab.torch.emulate("h100", "mixed_fp16") as run:
    Net(2.0**-6)(x)
print("overflows after the change:", run.report().overflows, "| first:", run.report().first_not_finite)
