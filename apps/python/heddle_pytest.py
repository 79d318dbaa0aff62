"""Pytest's plugin: the mark ``gradcheck``, and a line that counts the proofs. It loads nothing of Heddle by itself."""

import sys


def pytest_configure(config):
    config.addinivalue_line('markers', 'gradcheck: a proof of a gradient, made by @heddle.gradcheck')


def pytest_terminal_summary(terminalreporter):
    proofs = getattr(sys.modules.get('heddle._prove'), '_proofs', [])
    if not proofs:
        return
    good = [each for each in proofs if each]
    text = f'gradients: {len(good)} of {len(proofs)} proven'
    if good:
        text += f', {sum(each.compared for each in good)} derivatives, the worst within {max(each.worst for each in good):.1e}'
    terminalreporter.write_line(text)
