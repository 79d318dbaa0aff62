#!/usr/bin/env python3
"""Makes optimizers.txt: ten steps of PyTorch's optimizers in float64 on given gradients.

    python tests/golden/make_optimizers.py > tests/golden/optimizers.txt

Line 1: the number of parameters and of steps. Then the first parameters; the gradient of each step, one line each; and per optimizer
its name on a line, the parameters after each step, and its state arrays after the last step. The learning rate of step i
(from 0) is 0.01 (i + 1). Numbers are written with 17 digits, which is every bit of a double.
"""
import torch

PARAMETERS, STEPS = 13, 10
OPTIMIZERS = {
    "adam": (torch.optim.Adam, dict(betas=(0.9, 0.98), eps=1e-9), ("exp_avg", "exp_avg_sq")),
    "adam_l2": (torch.optim.Adam, dict(betas=(0.9, 0.999), eps=1e-8, weight_decay=0.1), ("exp_avg", "exp_avg_sq")),
    "adamw": (torch.optim.AdamW, dict(betas=(0.9, 0.98), eps=1e-9, weight_decay=0.1), ("exp_avg", "exp_avg_sq")),
    "sgd": (torch.optim.SGD, dict(momentum=0.9, weight_decay=0.05), ("momentum_buffer",)),
    "adam_clipped": (torch.optim.Adam, dict(betas=(0.9, 0.98), eps=1e-9), ("exp_avg", "exp_avg_sq")),
}


def line(values):
    return " ".join(f"{value:.17g}" for value in values.tolist())


def main():
    torch.manual_seed(1)
    start = torch.randn(PARAMETERS, dtype=torch.float64)
    # Gradients of very different sizes, one parameter without any, and one whose gradient stops after three steps.
    gradients = torch.randn(STEPS, PARAMETERS, dtype=torch.float64) * 10.0 ** torch.linspace(-6, 3, PARAMETERS, dtype=torch.float64)
    gradients[:, 4] = 0
    gradients[3:, 7] = 0
    print(PARAMETERS, STEPS)
    print(line(start))
    for gradient in gradients:
        print(line(gradient))
    for name, (kind, options, state) in OPTIMIZERS.items():
        print(name)
        parameter = start.clone().requires_grad_()
        optimizer = kind([parameter], lr=0.01, **options)
        for step, gradient in enumerate(gradients):
            parameter.grad = gradient.clone()
            if name.endswith("clipped"):
                torch.nn.utils.clip_grad_norm_([parameter], 2.5)
            optimizer.param_groups[0]["lr"] = 0.01 * (step + 1)
            optimizer.step()
            print(line(parameter.detach()))
        for array in state:
            print(line(optimizer.state[parameter][array]))


main()
