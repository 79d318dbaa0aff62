"""Heddle's fused ops on arrays of float32 or float64, each with its backward function, to compare one's own with."""

from . import _native

globals().update({name: each for name, each in vars(_native._ops).items() if not name.startswith('_')})
