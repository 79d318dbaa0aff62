"""One process with others: import orders, fork, threads, what the module shows."""

import importlib.metadata
import os
import pathlib
import subprocess
import sys

import pytest

import heddle
from conftest import needs

# Each uses what it has of protobuf, SentencePiece and OpenMP.
USES = {
    'heddle': '''
import heddle, tempfile
with tempfile.TemporaryDirectory() as d:
    heddle.train({'task': 'numbers', 'out': d + '/r', 'updates': 2, 'd_model': 16, 'heads': 2, 'd_ff': 16, 'layers': 1, 'vocab_type': 'bpe', 'vocab_size': 60}, progress=False)
    heddle.Translator(d + '/r').translate(['twelve'])
''',
    'torch': 'import torch; assert torch.ones(3).sum() == 3; torch.randn(64, 64) @ torch.randn(64, 64)',
    'sentencepiece': '''
import sentencepiece, io
model = io.BytesIO()
sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(['a b c d e f'] * 50), model_writer=model, vocab_size=15, model_type='char', minloglevel=2)
assert sentencepiece.SentencePieceProcessor(model_proto=model.getvalue()).encode('a b')
''',
    'google.protobuf': 'from google.protobuf import struct_pb2; s = struct_pb2.Struct(); s["a"] = 1; assert struct_pb2.Struct.FromString(s.SerializeToString()) == s',
    'ctranslate2': 'import ctranslate2; ctranslate2.contains_model("/nowhere")',
    'pyarrow': 'import pyarrow; assert pyarrow.array([1, 2]).sum().as_py() == 3',
}


def use(*names):
    done = subprocess.run([sys.executable, '-c', '\n'.join(USES[name] for name in names)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, f'{names}: {done.returncode}\n{done.stderr[-2000:]}'


def test_imports_among_all_others():
    there = [name for name in USES if name == 'heddle' or not needs(name.split('.')[0]).args[0]]
    others = [name for name in there if name != 'heddle']
    for place in range(len(others) + 1):
        use(*others[:place], 'heddle', *others[place:])
    use('heddle', *reversed(others))


def test_a_forked_child_computes_with_its_own_threads(run):
    translator = heddle.Translator(str(run))
    lines = ['twelve', 'ten', 'eighty'] * 30
    heddle.set_threads(2)
    expected = translator.translate(lines)
    for _ in range(3):
        child = os.fork()
        if child == 0:
            import signal
            signal.alarm(60)
            os._exit(0 if translator.translate(lines) == expected else 1)
        assert os.waitpid(child, 0)[1] == 0
    assert translator.translate(lines) == expected


def test_a_pool_of_processes(run):
    import multiprocessing
    heddle.set_threads(2)
    heddle.Translator(str(run)).translate(['twelve', 'ten'])
    with multiprocessing.get_context('fork').Pool(2) as pool:
        assert len(set(map(tuple, pool.map(_translate, [str(run)] * 4)))) == 1


def _translate(run):
    return heddle.Translator(run).translate(['twelve', 'ten'])


def test_the_module_is_typed():
    package = pathlib.Path(heddle.__file__).parent
    stub = (package / '_native.pyi').read_text(encoding='utf-8')
    assert (package / 'py.typed').exists()
    compile(stub, '_native.pyi', 'exec')
    for text in ('class Translator', 'def translate', '-> list[str]', '-> list[list[Translation]]', 'Parameters\n', 'numpy.typing.ArrayLike'):
        assert text in stub, text
    ops = (package / 'ops.pyi').read_text(encoding='utf-8')
    compile(ops, 'ops.pyi', 'exec')
    assert 'def layer_norm(x: numpy.typing.ArrayLike' in ops and 'def layer_norm_backward(' in ops and '_native' not in stub.split('class Error')[0]


def test_its_metadata_is_installed():
    assert importlib.metadata.version('heddle') == heddle.__version__
    [plugin] = [each for each in importlib.metadata.entry_points(group='pytest11') if each.name == 'heddle']
    assert plugin.value == 'heddle_pytest'


def test_every_public_name_has_a_docstring():
    for name in heddle.__all__:
        assert getattr(heddle, name).__doc__, name
    for name in dir(heddle.ops):
        assert name.startswith('_') or getattr(heddle.ops, name).__doc__, name


def test_the_level_is_chosen_at_run_time():
    done = subprocess.run([sys.executable, '-c', 'import heddle; print(heddle.cpu_level())'], capture_output=True, text=True,
                          env={**os.environ, 'HEDDLE_CPU_LEVEL': 'v2'})
    assert done.stdout.startswith('v2'), done.stderr
