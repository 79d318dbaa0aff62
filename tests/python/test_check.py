"""heddle.check and the command's lab and learn."""

import os
import pathlib
import subprocess

import pytest

import heddle

RACE = '''
__global__ void reverse(float* x) {
    __shared__ float tile[64];
    tile[threadIdx.x] = x[threadIdx.x];
    %s
    x[threadIdx.x] = tile[63 - threadIdx.x];
}
#include <cstdio>
int main() {
    float* x;
    cudaMalloc(&x, 64 * sizeof(float));
    cudaMemset(x, 0, 64 * sizeof(float));
    reverse<<<1, 64>>>(x);
    cudaDeviceSynchronize();
    std::printf("done\\n");
}
'''


def test_finds_a_race_and_its_repair():
    found = heddle.check(RACE % '')
    assert not found and found.status == 3 and 'race' in str(found) and 'source.cu:6' in str(found), str(found)
    assert found.details and found.output.count('done') >= 1
    repaired = heddle.check(RACE % '__syncthreads();')
    assert repaired and repaired.status == 0, str(repaired)


def test_checks_a_kernel_alone(tmp_path):
    file = tmp_path / 'scale.cu'
    file.write_text('__global__ void scale(float* x, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i <= n) x[i] *= 2; }\n')
    found = heddle.check(file, kernel='scale', grid=1, block=64, arg=['x=f32[32]', 'n=32'])
    assert not found and 'out-of-bounds: kernel scale' in str(found) and 'thread (32, 0, 0)' in str(found), str(found)


def test_what_does_not_compile_is_an_error():
    with pytest.raises(heddle.UsageError, match='source.cu:1'):
        heddle.check('__global__ void k() { int x = y; }\nint main() {}\n')


def test_a_timeout_ends_all_that_the_check_started(monkeypatch):
    monkeypatch.setenv('HEDDLE_TEST_OF_THE_TIMEOUT', '1')
    with pytest.raises(heddle.Error, match='check: not done after 5 seconds.*timeout'):
        heddle.check('#include <unistd.h>\nint main() { for (;;) sleep(1); }\n', timeout=5)
    assert not children()


def children():
    """The command lines of the processes that inherit the mark of this test."""
    found = []
    for each in pathlib.Path('/proc').glob('[0-9]*'):
        try:
            words = (each / 'cmdline').read_bytes().replace(b'\0', b' ')
            marked = b'HEDDLE_TEST_OF_THE_TIMEOUT=1' in (each / 'environ').read_bytes()
        except OSError:
            continue
        if marked and int(each.name) != os.getpid():
            found.append(words)
    return found


def test_without_a_compiler_it_says_what_installs_one(monkeypatch, tmp_path):
    monkeypatch.setenv('PATH', str(tmp_path))
    monkeypatch.delenv('CXX', raising=False)
    with pytest.raises(heddle.Error, match='install one, with'):
        heddle.check('int main() {}\n')


def test_the_command_is_whole(run, tmp_path):
    version = subprocess.run(['heddle', '--version'], capture_output=True, text=True, check=True).stdout
    assert version.startswith(f'heddle {heddle.__version__}\n')
    assert 'layer-norm' in subprocess.run(['heddle', 'learn'], capture_output=True, text=True, check=True).stdout
    lab = subprocess.run(['heddle', 'lab', 'scaling'], capture_output=True, text=True, cwd=tmp_path, check=True).stdout
    assert lab
    proofs = subprocess.run(['heddle', 'gradcheck', 'layer_norm'], capture_output=True, text=True, check=True).stdout
    assert 'layer_norm' in proofs
    refused = subprocess.run(['heddle', 'serve', str(run)], capture_output=True, text=True)
    assert refused.returncode != 0 and 'without' in refused.stderr


@pytest.mark.parametrize('name, kind', [('map', 'cu'), ('product-rule', 'cpp')])
def test_an_exercise_is_graded(name, kind, tmp_path):

    def learn(*words):
        return subprocess.run(['heddle', 'learn', *words], capture_output=True, text=True, cwd=tmp_path)

    started = learn('start', name)
    assert started.returncode == 0, started.stderr
    [answer] = tmp_path.rglob(f'{name}.{kind}')
    assert learn('check', str(answer)).returncode != 0, 'the starter is no solution'
    learn('solution', name)  # shown when asked twice
    answer.write_text(learn('solution', name).stdout, encoding='utf-8')
    graded = learn('check', str(answer))
    assert graded.returncode == 0, graded.stdout + graded.stderr
