"""heddle.train."""

from __future__ import annotations

import os
import sys
from typing import Any, Callable, Mapping

from . import _native
from ._command import words_of

Figures = dict[str, Any]


def _in_notebook() -> bool:
    shell = sys.modules.get('IPython')
    return shell is not None and getattr(shell.get_ipython(), 'kernel', None) is not None


class _Bar:
    """A progress bar of tqdm, with the loss beside it."""

    def __init__(self) -> None:
        from tqdm.auto import tqdm
        self.bar = tqdm(unit=' updates', leave=True)
        self.validated = ''

    def updated(self, figures: Figures) -> None:
        if self.bar.total is None and figures['seconds_left'] > 0 and figures['seconds'] > 0:
            whole = figures['update'] * (1 + figures['seconds_left'] / figures['seconds'])
            self.bar.total = round(whole)
        self.bar.n = figures['update']
        self.bar.set_postfix_str(f"epoch {figures['epoch']}, loss {figures['loss']:.3f}{self.validated}", refresh=False)
        self.bar.update(0)

    def validated_now(self, figures: Figures) -> None:
        self.validated = f", valid {figures['loss']:.3f}"
        for name, digits in (('bleu', 1), ('chrf', 1), ('bits_per_byte', 3)):
            if name in figures:
                self.validated += f", {name.replace('_', ' ')} {figures[name]:.{digits}f}"

    def close(self) -> None:
        self.bar.total = self.bar.n
        self.bar.close()


def train(config: Mapping[str, Any] | str | os.PathLike[str], *, on_update: Callable[[Figures], object] | None = None,
          on_validation: Callable[[Figures], object] | None = None, progress: bool | None = None, **options: Any) -> Figures:
    """Trains a translator or a language model, as ``heddle train`` does, with the same weights, bit for bit.

    Ctrl-C (in a notebook: interrupt) stops after the update, saves and raises KeyboardInterrupt; ``heddle.train({'resume': run})`` goes on.
    Pressed again meanwhile it has no further effect. An exception of a callback does the same and is raised.

    One training at a time: a second one in another thread is a UsageError. ``threads`` and ``batch_invariant`` hold for this training;
    ``cpu_level`` is the process's from its first computation on, and a later training that asks for another one raises.

    Parameters
    ----------
    config : dict or path
        The options of ``heddle train`` with ``_`` or ``-``: ``{'train': 'corpus/train', 'valid': 'corpus/val', 'source': 'de', 'target':
        'en', 'out': 'runs/first'}``; or a ``config.toml``.
    on_update : callable, optional
        Gets a dict after each update: ``epoch``, ``update``, ``loss``, ``accuracy``, ``gradient_norm``, ``learning_rate``,
        ``tokens_per_second``, ``seconds``, ``seconds_left`` and others.
    on_validation : callable, optional
        Gets a dict after each validation: ``loss``, ``perplexity``, ``accuracy``, ``bleu`` or ``chrf``, ``samples`` (tuples of source,
        reference and translation) and others. Of a language model: ``bits_per_byte``, and ``samples`` are texts that it drew.
    progress : bool, optional
        A bar of tqdm in place of log lines, of which the warnings become Python's. By default in a notebook, if tqdm is installed.
    **options
        Further options; they override the config.

    Returns
    -------
    dict
        ``run`` (its folder), ``updates``, ``last`` (the figures of the last update) and ``validation`` (the last one).
    """
    words = words_of({**config, **options}) if isinstance(config, Mapping) else [f'--config={os.fspath(config)}', *words_of(options)]
    bar = None
    if progress or progress is None and _in_notebook():
        try:
            bar = _Bar()
        except ImportError:
            if progress:
                raise
    last: dict[str, Figures] = {}

    def updated(figures: Figures) -> None:
        last['update'] = figures
        if bar is not None:
            bar.updated(figures)
        if on_update is not None:
            on_update(figures)

    def validated(figures: Figures) -> None:
        last['validation'] = figures
        if bar is not None:
            bar.validated_now(figures)
        if on_validation is not None:
            on_validation(figures)

    try:
        _native.train(words, updated, validated, bar is not None)
    finally:
        if bar is not None:
            bar.close()
    merged = {**(config if isinstance(config, Mapping) else {}), **options}
    return {'run': str(merged.get('out') or merged.get('resume') or ''), 'updates': last.get('update', {}).get('update', 0),
            'last': last.get('update'), 'validation': last.get('validation')}
