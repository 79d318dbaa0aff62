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


@pytest.fixture(scope='session')
def text_of_names(tmp_path_factory):
    path = tmp_path_factory.mktemp('texts') / 'names.txt'
    path.write_text(''.join(a + b + c + '\n' for a in ('ma', 'an', 'e', 'jo', 'li') for b in ('r', 'nn', 'l', 'ss') for c in ('a', 'ia', 'en', 'o')) * 3,
                    encoding='utf-8')
    return path


@pytest.fixture(scope='session')
def names(text_of_names, tmp_path_factory):
    """A language model."""
    folder = tmp_path_factory.mktemp('runs') / 'names'
    heddle.train({'task': 'names', 'text': text_of_names, 'out': folder, 'updates': 30, 'd_model': 16, 'heads': 2, 'd_ff': 32, 'layers': 1,
                  'batch_sentences': 16}, progress=False)
    return folder
