# # A training that diverges in fp16, found and corrected
#
# Answers: why does a training in fp16 become NaN, in which step and operation, and what corrects it?
#
# A small net with layer normalisation, trained in mixed precision with a constant loss scale of 2^20.

# %%
import torch

import ulplab.torch


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.norm = torch.nn.Linear(16, 32), torch.nn.LayerNorm(32)
        self.mix, self.head = torch.nn.Linear(32, 32), torch.nn.Linear(32, 1)

    def forward(self, x):
        return self.head(torch.tanh(self.mix(self.norm(self.embed(x)))))


def train(scaler, steps=12):
    torch.manual_seed(0)
    model = Net()
    x, losses = torch.randn(64, 16), []
    y = x[:, :1] * 3
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with ulplab.torch.emulate("h100", "mixed_fp16") as run:
        for _ in range(steps):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            scaler(loss, optimizer)
            losses.append(loss.item())
    return losses, run.report()


def constant(loss, optimizer):
    (loss * 2.0**20).backward()
    for group in optimizer.param_groups:
        for p in group["params"]:
            p.grad.div_(2.0**20)
    optimizer.step()


losses, report = train(constant)
print("losses:", ["%.3f" % loss for loss in losses[:4]], "... last %.3f" % losses[-1])
first = report.first_not_finite
print("overflows:", report.overflows, "| first:", first["value"], "by", first["operation"], "in", first["module"] or
      "the loss", "|", first["pass"], "pass of step", first["step"])

# The loss itself is finite in the first step: its scaled gradients are not, and the weights are lost with them. A scaler
# that skips such steps and lowers the scale corrects it.

# %%
scaler = ulplab.torch.GradScaler("pytorch", init_scale=2.0**20)


def dynamic(loss, optimizer):
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


losses, report = train(dynamic)
print("losses:", ["%.3f" % loss for loss in losses[:8]], "... last %.3f" % losses[-1])
print("scale: 2^%d" % torch.tensor(scaler.get_scale()).log2())
