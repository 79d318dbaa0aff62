"""Translates stdin with a model that heddle export wrote, greedily, by the toolkit that it was written for.

    python3 translate_export.py huggingface|ctranslate2|argos PATH < lines
"""
import importlib.util
import os
import sys
from unittest import mock


def huggingface(path, lines):
    import torch
    from transformers import MarianMTModel, MarianTokenizer

    model = MarianMTModel.from_pretrained(path, dtype=torch.float32).eval()
    tokenizer = MarianTokenizer.from_pretrained(path)
    for line in lines:
        ids = torch.tensor([tokenizer(line)["input_ids"]])
        with torch.no_grad():
            found = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), num_beams=1, do_sample=False, max_length=257)
        yield tokenizer.decode(found[0], skip_special_tokens=True)


def ctranslate2(path, lines):
    import ctranslate2
    import sentencepiece

    one = os.path.join(path, "sentencepiece.model")
    source, target = (one, one) if os.path.exists(one) else (os.path.join(path, "source.spm"), os.path.join(path, "target.spm"))
    source, target = sentencepiece.SentencePieceProcessor(model_file=source), sentencepiece.SentencePieceProcessor(model_file=target)
    translator = ctranslate2.Translator(path, device="cpu", compute_type="float32", intra_threads=1)
    for result in translator.translate_batch([source.encode(line, out_type=str) for line in lines], beam_size=1, max_decoding_length=256):
        yield target.decode(result.hypotheses[0])


def argos(path, lines):
    import tempfile

    with tempfile.TemporaryDirectory() as home:
        os.environ.update(XDG_DATA_HOME=home, XDG_CONFIG_HOME=home, XDG_CACHE_HOME=home, ARGOS_PACKAGES_DIR=os.path.join(home, "packages"))
        os.makedirs(os.environ["ARGOS_PACKAGES_DIR"])
        for splitter in ("stanza", "minisbd", "spacy"):  # of sentences: not needed here, and large
            if importlib.util.find_spec(splitter) is None:
                sys.modules[splitter] = mock.MagicMock()
        from argostranslate import package, settings, translate
        import ctranslate2

        package.install_from_path(path)
        (installed,) = package.get_installed_packages()
        settings.beam_size = 1  # greedy

        class WholeLine:  # the sentence splitters fetch models of their own
            def split_sentences(self, text):
                return [text]

        translator = ctranslate2.Translator(str(installed.package_path / "model"), device="cpu", compute_type="float32", intra_threads=1)
        for line in lines:
            yield translate.apply_packaged_translation(installed, line, translator, WholeLine(), 1)[0].value


form, path = sys.argv[1:3]
for text in {"huggingface": huggingface, "ctranslate2": ctranslate2, "argos": argos}[form](path, sys.stdin.read().splitlines()):
    print(text)
