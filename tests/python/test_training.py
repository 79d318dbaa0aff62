"""heddle.train: the command's bits, figures, Ctrl-C."""

import hashlib
import os
import signal
import subprocess
import sys
import textwrap

import pytest

import heddle
from heddle import _command

SMALL = {'task': 'copy', 'updates': 30, 'd_model': 16, 'heads': 2, 'd_ff': 32, 'layers': 1, 'batch_sentences': 16, 'threads': 1}


def digest(run):
    return hashlib.sha256((run / 'model.safetensors').read_bytes()).hexdigest()


def test_gives_the_weights_of_the_command_and_figures(tmp_path):
    updates, validations = [], []
    result = heddle.train(SMALL, out=tmp_path / 'a', on_update=updates.append, on_validation=validations.append, progress=False)
    done = _command.run(['train', *_command.words_of({**SMALL, 'out': tmp_path / 'b'})], capture_output=True)
    assert done.returncode == 0, done.stderr
    assert digest(tmp_path / 'a') == digest(tmp_path / 'b')
    assert [each['update'] for each in updates] == list(range(1, 31))
    assert updates[-1]['loss'] < updates[0]['loss'] and updates[-1]['learning_rate'] > 0
    assert len({each['loss'] for each in updates}) > 25, 'each update has its own loss'
    assert validations and result['validation'] == validations[-1] and result['updates'] == 30
    assert result['run'] == str(tmp_path / 'a')


def test_a_configuration_file_repeats_a_run(tmp_path):
    heddle.train(SMALL, out=tmp_path / 'a', progress=False)
    heddle.train(tmp_path / 'a' / 'config.toml', out=tmp_path / 'b', progress=False)
    assert digest(tmp_path / 'a') == digest(tmp_path / 'b')


def test_a_callback_that_raises_saves_and_the_run_goes_on(tmp_path):
    def stop(figures):
        if figures['update'] == 7:
            raise RuntimeError('enough')

    with pytest.raises(RuntimeError, match='enough'):
        heddle.train(SMALL, out=tmp_path / 'a', on_update=stop, progress=False)
    assert (tmp_path / 'a' / 'saves' / '7').is_dir()
    heddle.train({'resume': tmp_path / 'a'}, progress=False)
    heddle.train(SMALL, out=tmp_path / 'b', progress=False)
    assert digest(tmp_path / 'a') == digest(tmp_path / 'b')


def test_control_c_saves(tmp_path):
    program = textwrap.dedent(f'''
        import os, signal, heddle
        def interrupt(figures):
            if figures['update'] == 5:
                os.kill(os.getpid(), signal.SIGINT)
        try:
            heddle.train({ {**SMALL, 'out': str(tmp_path / 'a')} !r}, on_update=interrupt, progress=False)
        except KeyboardInterrupt:
            print('interrupted')
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        try:
            os.kill(os.getpid(), signal.SIGINT)
            import time; time.sleep(5)
        except KeyboardInterrupt:
            print('Python has its signal back')
    ''')
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ['interrupted', 'Python has its signal back'], done.stderr
    assert (tmp_path / 'a' / 'saves' / '5').is_dir()


def test_a_second_control_c_leaves_the_process_alive(tmp_path):
    program = textwrap.dedent(f'''
        import os, signal, heddle
        def interrupt(figures):
            if figures['update'] == 5:
                os.kill(os.getpid(), signal.SIGINT)
                os.kill(os.getpid(), signal.SIGINT)
        try:
            heddle.train({ {**SMALL, 'out': str(tmp_path / 'a')} !r}, on_update=interrupt, progress=False)
        except KeyboardInterrupt:
            print('interrupted')
    ''')
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True, timeout=120)
    assert done.stdout.splitlines() == ['interrupted'] and done.returncode == 0, done.stderr
    assert done.stderr.count('stopping after this update') == 1 and 'a second time' not in done.stderr
    assert (tmp_path / 'a' / 'saves' / '5').is_dir()


def test_one_training_at_a_time(tmp_path):
    refused = []

    def train_another(figures):
        if figures['update'] == 3:
            with pytest.raises(heddle.UsageError, match='another training runs'):
                heddle.train(SMALL, out=tmp_path / 'b', progress=False)
            refused.append(True)

    heddle.train(SMALL, out=tmp_path / 'a', on_update=train_another, progress=False)
    assert refused and not (tmp_path / 'b').exists()
    heddle.train({**SMALL, 'updates': 2}, out=tmp_path / 'b', progress=False)


def test_the_number_of_threads_is_the_trainings_own(tmp_path):
    heddle.set_threads(2)
    during = []
    heddle.train(SMALL, out=tmp_path / 'a', on_update=lambda figures: during.append(heddle.threads()), progress=False)
    assert set(during) == {1} and heddle.threads() == 2
    with pytest.raises(heddle.UsageError):
        heddle.train({**SMALL, 'lr': -1}, out=tmp_path / 'b', progress=False)
    assert heddle.threads() == 2


def test_a_language_model_has_bits_per_byte_and_texts(text_of_names, tmp_path):
    validations = []
    heddle.train({**SMALL, 'task': 'names', 'text': text_of_names}, out=tmp_path / 'a', on_validation=validations.append, progress=False)
    assert 0 < validations[-1]['bits_per_byte'] < 10
    assert validations[-1]['samples'] and all(isinstance(each, str) for each in validations[-1]['samples'])


def test_a_bar_passes_warnings_on(tmp_path):
    for side, lines in (('a', 'b c\nd e f g h i\n'), ('b', 'c b\ni h g f e d\n')):
        for part in ('train', 'valid'):
            (tmp_path / f'{part}.{side}').write_text(lines * 20, encoding='utf-8')
    with pytest.warns(UserWarning, match='20 of 40 .* are not trained on'):
        heddle.train({**SMALL, 'task': None, 'train': tmp_path / 'train', 'valid': tmp_path / 'valid', 'source': 'a', 'target': 'b',
                      'vocab_type': 'word', 'max_length': 4, 'updates': 2}, out=tmp_path / 'a', progress=True)


def test_a_bar_takes_the_place_of_lines(tmp_path, capfd):
    heddle.train(SMALL, out=tmp_path / 'a', progress=True)
    told = capfd.readouterr().err
    assert '30/30' in told and 'loss' in told and 'model:' not in told


def test_wrong_options_are_named(tmp_path):
    with pytest.raises(heddle.UsageError, match='--d-modell.*--d-model'):
        heddle.train({**SMALL, 'd_modell': 3}, out=tmp_path / 'a', progress=False)
    with pytest.raises(ValueError, match='lr'):
        heddle.train({**SMALL, 'lr': -1}, out=tmp_path / 'a', progress=False)
