"""A run that all tests share, and other packages where they are."""

import importlib.util

import pytest

import heddle


def needs(*packages):
    missing = [each for each in packages if importlib.util.find_spec(each) is None]
    return pytest.mark.skipif(bool(missing), reason=f'not installed: {", ".join(missing)}')


@pytest.fixture(scope='session')
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp('runs') / 'numbers'
    heddle.train({'task': 'numbers', 'out': folder, 'updates': 60, 'd_model': 32, 'heads': 2, 'd_ff': 64, 'layers': 1, 'batch_sentences': 32},
                 progress=False)
    return folder
