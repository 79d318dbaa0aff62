#!/usr/bin/env python3
"""The model of docs/examples/microgpt.cpp in PyTorch eager, in f32 on one thread: the shortest and the median time of an update.

    microgpt_peer.py [UPDATES]
"""
import sys
import time

import torch
import torch.nn.functional as F

NAMES = "ada blaise carl dorothy emmy euclid florence grace hedy isaac joan karen leonhard maria niels olga".split()
MARK, WIDTH, HEADS = 26, 16, 4


def main():
    torch.set_num_threads(1)
    longest = max(map(len, NAMES)) + 1
    read = torch.full((len(NAMES), longest), MARK)
    written = torch.full((len(NAMES), longest), -100)
    for i, name in enumerate(NAMES):
        letters = torch.tensor([ord(letter) - ord("a") for letter in name])
        read[i, 1:len(name) + 1] = written[i, :len(name)] = letters
        written[i, len(name)] = MARK
    shapes = [(27, WIDTH), (16, WIDTH)] + [(WIDTH, WIDTH)] * 4 + [(4 * WIDTH, WIDTH), (WIDTH, 4 * WIDTH), (27, WIDTH)]
    weights = [torch.nn.Parameter(0.08 * torch.randn(shape)) for shape in shapes]
    token, position, query, key, value, output, inner, outer, head = weights
    adam = torch.optim.Adam(weights, lr=0.01, betas=(0.85, 0.99))
    norm = lambda x: F.rms_norm(x, (WIDTH,), eps=1e-5)
    by_head = lambda x: x.view(len(NAMES), longest, HEADS, WIDTH // HEADS).transpose(1, 2)

    def update():
        adam.zero_grad()
        x = norm(token[read] + position[:longest])
        h = norm(x)
        found = F.scaled_dot_product_attention(*(by_head(F.linear(h, w)) for w in (query, key, value)), is_causal=True)
        x = x + F.linear(found.transpose(1, 2).reshape(len(NAMES), longest, WIDTH), output)
        x = x + F.linear(F.relu(F.linear(norm(x), inner)), outer)
        F.cross_entropy(F.linear(x, head).view(-1, 27), written.view(-1)).backward()
        adam.step()

    times = []
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 1000):
        start = time.perf_counter()
        update()
        times.append(1e6 * (time.perf_counter() - start))
    times.sort()
    print(f"PyTorch {torch.__version__}: {times[0]:.0f} us, median {times[len(times) // 2]:.0f} us an update")


main()
