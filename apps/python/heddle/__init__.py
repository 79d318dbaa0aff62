"""Heddle: train and run small translation models, prove gradients, check CUDA kernels without a GPU.

    heddle.train({"task": "numbers", "out": "runs/numbers", "epochs": 3})
    heddle.Translator("runs/numbers").translate(["twelve"])
    heddle.prove(my_function, [x], backward=my_derivative)
    heddle.check(cuda_source)

The ``heddle`` command comes with the package: ``heddle --help``.
"""

from . import _native, ops
from ._command import CheckResult, check, evaluate
from ._native import (Attention, BleuScore, Divergence, Error, LanguageModel, OutOfMemory, Translation, Translator, UsageError, bleu, chrf,
                      cpu_level, set_threads, threads)
from ._prove import GradientError, Proof, gradcheck, prove
from ._train import train

__version__ = _native.__version__

__all__ = [
    'Attention', 'BleuScore', 'CheckResult', 'Divergence', 'Error', 'GradientError', 'LanguageModel', 'OutOfMemory', 'Proof', 'Translation',
    'Translator', 'UsageError', 'bleu', 'check', 'chrf', 'cpu_level', 'evaluate', 'gradcheck', 'ops', 'prove', 'set_threads', 'threads', 'train'
]
