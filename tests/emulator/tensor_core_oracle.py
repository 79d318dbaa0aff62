"""D = C + A B of tiles by mmasim: python3 tensor_core_oracle.py ARCHITECTURE INSTRUCTION K INPUT OUTPUT

INPUT: float32 A [n, 16, K], then B [n, K, 8], then C [n, 16, 8]. OUTPUT: float32 D [n, 16, 8]."""
import sys

import numpy
import torch
from mmasim.nv_ptx import MMA

architecture, instruction, k, source, target = sys.argv[1:]
k = int(k)
values = torch.from_numpy(numpy.fromfile(source, dtype=numpy.float32))
tiles = len(values) // (16 * k + k * 8 + 16 * 8)
a, b, c = values.split([tiles * 16 * k, tiles * k * 8, tiles * 16 * 8])
a, b, c = a.view(tiles, 16, 1, k), b.view(tiles, k, 8).transpose(1, 2).unsqueeze(1), c.view(tiles, 16, 8)
product = MMA(architecture, instruction)
with open(target, "wb") as file:
    for first in range(0, tiles, 500):
        some = slice(first, first + 500)
        left, right = (x[some].to(product.a_type).expand(-1, 16, 8, k).contiguous() for x in (a, b))
        product.dpa(left, right, c[some].clone()).numpy().tofile(file)
