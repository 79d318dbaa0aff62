"""The notebooks of docs/notebooks run from above to below."""

import os
import pathlib

import nbclient
import nbformat
import pytest

from conftest import needs

FOLDER = pathlib.Path(os.environ.get('HEDDLE_NOTEBOOKS', pathlib.Path(__file__).parents[2] / 'docs' / 'notebooks'))
NAMES = sorted(path.name for path in FOLDER.glob('*.ipynb'))


def test_there_are_three():
    assert len(NAMES) == 3


@pytest.mark.parametrize('name', [pytest.param(name, marks=needs('torch') if 'pytorch' in name else []) for name in NAMES])
def test_runs(name, tmp_path):
    notebook = nbformat.read(FOLDER / name, as_version=4)
    nbclient.NotebookClient(notebook, timeout=300, kernel_name='python3', resources={'metadata': {'path': str(tmp_path)}}).execute()
    assert all(not cell.outputs or cell.outputs[0].output_type != 'error' for cell in notebook.cells if cell.cell_type == 'code')
