"""Writes safetensors.safetensors, which safetensors_test.cpp reads: every dtype as the reference library writes it.

Run:  python make_safetensors.py     (needs torch and safetensors; made with torch 2.15, safetensors 0.8)
"""

from pathlib import Path

import torch
from safetensors.torch import save_file

halves = [0.0, -0.0, 1.0, -2.5, 65504.0, 6.103515625e-05, 5.960464477539063e-08, float("inf"), float("-inf"), float("nan")]

save_file(
    {
        "double": torch.tensor([[1.0, -2.5, 1e300], [0.1, 5e-324, float("inf")]], dtype=torch.float64),
        "float": torch.tensor([[[1.5], [-0.25]], [[3.4e38], [1e-45]]], dtype=torch.float32),
        "brain": torch.tensor([1.0, -3.140625, 1e30], dtype=torch.bfloat16),
        "half": torch.tensor(halves, dtype=torch.float16),
        "long": torch.tensor([2**31 - 1, -(2**31), 7], dtype=torch.int64),
        "too long": torch.tensor([1, 2**31], dtype=torch.int64),
        "int": torch.tensor([[2**31 - 1], [-(2**31)]], dtype=torch.int32),
        "short": torch.tensor([1, -1], dtype=torch.int16),
        "byte": torch.tensor([0, 127, 255], dtype=torch.uint8),
        "truth": torch.tensor([True, False, True], dtype=torch.bool),
        "scalar": torch.tensor(42.0, dtype=torch.float32),
        "empty": torch.zeros(3, 0, 2, dtype=torch.float32),
        "größe.☃": torch.tensor([1], dtype=torch.uint8),
    },
    Path(__file__).with_name("safetensors.safetensors"),
    metadata={"format": "pt", "note": 'ein "Text" mit Umlauten: äöü\n'},
)
