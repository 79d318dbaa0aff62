"""Translator and the metrics: the bits of the command, from several threads."""

import concurrent.futures
import random
import re
import signal
import threading
import time

import numpy as np
import pytest
import sacrebleu

import heddle
from heddle import _command

LINES = ['twelve', 'seven', '', 'three hundred forty-five', 'eight thousand', 'ninety-nine']


def command(*words, text):
    done = _command.run(words, input=text, capture_output=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_translates_as_the_command_does(run):
    translator = heddle.Translator(str(run))
    assert translator.translate(LINES) == command('translate', str(run), text='\n'.join(LINES) + '\n').splitlines()
    assert (translator.source, translator.target) and translator.parameters > 1000
    assert str(run) in repr(translator)


def test_lists_as_the_command_does(run):
    translator = heddle.Translator([str(run)], weights='best')
    lists = translator.translate(LINES, beam=4, n_best=3)
    told = command('translate', str(run), '--weights', 'best', '--beam', '4', '--n-best', '3', '--scores', text='\n'.join(LINES) + '\n')
    ours = [f'{i} ||| {each} ||| {each.log_probability:.6f} {each.score:.6f}' for i, each_line in enumerate(lists) for each in each_line]
    assert ours == told.splitlines()


def test_samples_as_the_command_does(run):
    drawn = heddle.Translator(str(run)).translate(LINES, sample=True, n_best=2, top_k=5, temperature=1.5, seed=7)
    told = command('translate', str(run), '--sample', '--n-best', '2', '--top-k', '5', '--temperature', '1.5', '--seed', '7',
                   text='\n'.join(LINES) + '\n')
    assert [f'{i} ||| {each}' for i, line in enumerate(drawn) for each in line] == told.splitlines()


@pytest.mark.parametrize('options, text', [({'top_k': 5}, 'top_k is for sample=True'), ({'temperature': 1.0}, 'temperature is for sample=True'),
                                           ({'seed': 1}, 'seed is for sample=True'), ({'sample': True, 'beam': 5}, 'give one of them')])
def test_refuses_options_that_have_no_effect(run, options, text):
    with pytest.raises(heddle.UsageError, match=text):
        heddle.Translator(run).translate(['twelve'], **options)


def test_a_language_model_draws_and_scores_as_the_command_does(names, run, tmp_path):
    model = heddle.LanguageModel(names)
    assert str(names) in repr(model) and model.parameters > 1000
    drawn = model.generate('a', samples=4, top_k=8, top_p=.9, temperature=1.2, seed=3)
    assert drawn == command('generate', str(names), '--prompt', 'a', '--samples', '4', '--top-k', '8', '--top-p', '0.9', '--temperature', '1.2',
                            '--seed', '3', text='').splitlines()
    assert len(set(model.generate(samples=8))) > 1 and all(each.startswith('a') for each in drawn)
    assert model.generate(temperature=0) == command('generate', str(names), '--temperature', '0', text='').splitlines()
    (tmp_path / 't').write_text(''.join(each + '\n' for each in drawn), encoding='utf-8')
    told = command('score', str(names), '--target-file', str(tmp_path / 't'), text='').splitlines()
    assert [f'{each:.6f}' for each in model.score(drawn)] == told
    assert model.score(drawn, normalize=True) != model.score(drawn)
    with pytest.warns(UserWarning, match='were cut before their end; max_tokens'):
        model.generate(samples=20, max_tokens=2)
    with pytest.raises(heddle.UsageError, match='the prompt .*the vocabulary reads it as'):
        model.generate('☃')
    for options in ({'top_p': 0}, {'top_k': -1}, {'temperature': -1}, {'samples': 0}, {'max_tokens': 0},
                    {'temperature': 0, 'seed': 1}, {'samples': 2, 'temperature': 0}):
        with pytest.raises(heddle.UsageError, match=f'generate: {next(iter(options))}'):
            model.generate(**options)
    with pytest.raises(heddle.UsageError, match='is a language model.*use heddle.LanguageModel'):
        heddle.Translator(names)
    with pytest.raises(heddle.UsageError, match='translates; use heddle.Translator'):
        heddle.LanguageModel(run)


def test_control_c_ends_scoring(run):
    pairs = [('twelve', 'zwölf')] * 200_000
    timer = threading.Timer(.5, lambda: signal.raise_signal(signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        heddle.Translator(run).score(pairs)


def test_attention_sums_to_one(run):
    [[translation]] = heddle.Translator(str(run)).translate([LINES[3]], attention=True)
    attention = translation.attention
    cross = attention.cross[-1]
    assert cross.shape == (2, len(attention.written), len(attention.source)) and cross.dtype == np.float32
    assert np.allclose(cross.sum(-1), 1, atol=1e-5)
    assert attention.encoder[0].shape[1:] == (len(attention.source),) * 2
    assert re.match(r'[0-2]-0( |$)', attention.alignment), 'a word of the source for the first one of the target'
    del translation
    assert cross.sum() > 0, 'the array keeps its memory alive'


def test_scores_as_the_command_does(run, tmp_path):
    pairs = [('twelve', 'zwölf'), (LINES[3], 'dreihundert'), ('', ''), ('seven', 'sieben')]
    for name, side in (('s', 0), ('t', 1)):
        (tmp_path / name).write_text(''.join(pair[side] + '\n' for pair in pairs), encoding='utf-8')
    told = command('score', str(run), '--source-file', str(tmp_path / 's'), '--target-file', str(tmp_path / 't'), text='')
    translator = heddle.Translator(str(run))
    assert [f'{each:.6f}' for each in translator.score(pairs)] == told.splitlines()
    assert translator.score(pairs, normalize=True) != translator.score(pairs)


def test_several_threads_get_the_same_and_python_goes_on_meanwhile(run):
    translator = heddle.Translator(str(run))
    lines = [f'{a} hundred {b}' for a in ('one', 'two', 'three', 'five', 'eight') for b in ('forty', 'fifty', 'ten')] * 30
    expected = translator.translate(lines)
    steps, ended = [], threading.Event()

    def count():
        while not ended.is_set():
            steps.append(time.perf_counter())
            time.sleep(0.001)

    counter = threading.Thread(target=count)
    counter.start()
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        begin = time.perf_counter()
        assert all(found == expected for found in pool.map(translator.translate, [lines] * 4))
        end = time.perf_counter()
    ended.set()
    counter.join()
    during = [step for step in steps if begin < step < end]
    assert len(during) > 5, 'the lock of the interpreter was held'


@pytest.mark.parametrize('options, text', [({'n_best': 9}, 'use beam=9'), ({'beam': 0}, 'beam')])
def test_refuses_searches_that_cannot_be(run, options, text):
    with pytest.raises(heddle.Error, match=text):
        heddle.Translator(str(run)).translate(['twelve'], **options)


def test_errors_say_what_to_do(run, tmp_path):
    with pytest.raises(heddle.Error, match='config.toml'):
        heddle.Translator(str(tmp_path / 'nothing'))
    with pytest.raises(ValueError, match='line end'):
        heddle.Translator(str(run)).translate(['twelve\nten'])
    with pytest.raises(TypeError):
        heddle.Translator(str(run)).translate('twelve')
    with pytest.warns(UserWarning, match='vocabulary'):
        heddle.Translator(str(run)).translate(['twelve ☃'])


@pytest.mark.parametrize('tokenize', ['13a', 'zh', 'char', 'none'])
def test_bleu_and_chrf_are_sacrebleus(tokenize):
    words = 'the a dog, cat sat. on mat! 中文 ½ naïve "yes" 3.14 (so) it\'s'.split()
    draw = random.Random(5)
    references = [' '.join(draw.choices(words, k=draw.randint(3, 15))) for _ in range(200)]
    hypotheses = [' '.join(word for word in line.split() if draw.random() > .2) for line in references]
    ours = heddle.bleu(hypotheses, references, tokenize=tokenize)
    theirs = sacrebleu.corpus_bleu(hypotheses, [references], tokenize=tokenize)
    assert ours.score == pytest.approx(theirs.score, abs=1e-9) and float(ours) == ours.score
    assert ours.precisions == pytest.approx(theirs.precisions) and ours.brevity_penalty == pytest.approx(theirs.bp)
    assert heddle.chrf(hypotheses, references) == pytest.approx(sacrebleu.corpus_chrf(hypotheses, [references]).score, abs=1e-9)
    assert heddle.chrf(hypotheses, references, word_order=2) == pytest.approx(
        sacrebleu.corpus_chrf(hypotheses, [references], word_order=2).score, abs=1e-9)


def test_evaluates_as_the_command_does(run, tmp_path):
    scores = heddle.evaluate(run, test=run / 'test', beam=2)
    assert scores['lines'] > 10 and 0 <= scores['bleu']['score'] <= 100
    (tmp_path / 'h').write_text('a dog\n', encoding='utf-8')
    (tmp_path / 'r').write_text('a dog\n', encoding='utf-8')
    assert heddle.evaluate(hypotheses=tmp_path / 'h', reference=tmp_path / 'r')['exact'] == 1
    with pytest.raises(heddle.UsageError, match='--tests'):
        heddle.evaluate(run, tests='x')
