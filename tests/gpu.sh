#!/usr/bin/env bash
# Builds Heddle on a machine that has a GPU, CUDA, CMake and PyTorch and nothing else, tests it there, and measures it beside PyTorch.
#
#     tests/gpu.sh --pack DIR [--data DIR] [--peer FILE]      here: gathers what the build needs in DIR (tests/gpu/pack.sh)
#     tests/gpu.sh --with DIR [--only STAGE]... [--out DIR] [--build DIR] [--patience N]     there: DIR is the pack
#
# Stages, all of them without --only, in this order; each has its own limit, together nine minutes:
#   build        the program, the device tests and the tests of training, with nvcc, for the GPU's chip alone (sm_90a when none is there)
#   test         the device layer's tests, every other *_device_test, training_*_test, heddle gradcheck --device cuda, eight at a time;
#                then some of them under compute-sanitizer; if the tool cannot run, that is recorded, not a failure
#   bench-ops    heddle bench ops beside PyTorch's ops, heddle bench ladder
#   bench-train  heddle bench train beside the pack's PyTorch program, eager and compiled
#
# What must be carried there: this checkout (git archive, or a copy without build/) and DIR, in which pack.sh has put the libraries,
# GoogleTest's sources, the training data and the PyTorch program. What must be there: bash, coreutils, a C++20 compiler, CMake 3.25,
# nvcc with cuBLASLt (CUDA 12.3 or later; cuBLASLt may be that of PyTorch's packages), nvidia-smi, and for the benchmarks Python 3 with
# PyTorch and sentencepiece; ninja and compute-sanitizer are used where they are. Nothing is downloaded.
#
# All but build need a GPU, and end with status 3 where there is none. Left out, --out is $OUT or build/gpu-results, --build is build/gpu.
# --patience multiplies the limits, for a machine with fewer than 16 cores.
# In the out folder: results.jsonl, a line for each result as soon as it is there; one log a stage; at the end results.md and results.json.
# Ends with status 1 when a test failed or a stage did not end. What the stage had no time left for is recorded as skipped.
set -euo pipefail
self=$(realpath "${BASH_SOURCE[0]}")
called_from=$PWD
cd "$(dirname "$self")/.."

complain() { echo "gpu.sh: $*" >&2; }
usage() { sed -n '4,5s/^# *//p' "$self" >&2; exit 2; }
if [ "${1:-}" = --pack ]; then
    [ $# -ge 2 ] || usage
    shift
    exec bash tests/gpu/pack.sh "$@"
fi

declare -A limits=([build]=150 [test]=130 [bench-ops]=120 [bench-train]=140)  # seconds
all_stages=(build test bench-ops bench-train)
stages=() pack="" out=${OUT:-build/gpu-results} build=build/gpu inside="" patience=1
while [ $# -gt 0 ]; do
    [ $# -ge 2 ] || usage
    case $1 in
        --with) pack=$2 ;;
        --only)
            [ -n "${limits[$2]:-}" ] || { complain "--only $2: there is no such stage; wanted one of ${all_stages[*]}"; exit 2; }
            stages+=("$2")
            ;;
        --out) out=$2 ;;
        --build) build=$2 ;;
        --patience) patience=$2 ;;
        --inside) inside=$2 ;;  # this script's own: the process of one stage
        *) usage ;;
    esac
    shift 2
done
[ ${#stages[@]} -gt 0 ] || stages=("${all_stages[@]}")
[ -n "$pack" ] || usage
absolute() { case $1 in /*) echo "$1" ;; *) [ -e "$called_from/$1" ] && echo "$called_from/$1" || echo "$PWD/$1" ;; esac; }
for stage in "${all_stages[@]}"; do limits[$stage]=$((patience * limits[$stage])); done
pack=$(absolute "$pack") out=$(absolute "$out") build=$(absolute "$build")
[ -e "$pack/NEEDS" ] || { complain "$pack is no pack; make one with tests/gpu.sh --pack"; exit 2; }
mkdir -p "$out" "$build"
heddle=$build/heddle
python=$(command -v python3 || echo python3)

# ---- results

quoted() { local text=${1//\\/\\\\}; printf '"%s"' "$(tr -d '\000-\037' <<<"${text//\"/\\\"}")"; }
# record STAGE NAME STATUS SECONDS [WORDS]: status is passed, failed, refused, skipped, done or stopped.
record() {
    printf '{"stage": "%s", "name": %s, "status": "%s", "seconds": %s, "words": %s}\n' \
        "$1" "$(quoted "$2")" "$3" "$4" "$(quoted "${5:-}")" >>"$out/results.jsonl"
    printf '%-12s %-44s %-8s %6s s  %s\n' "$1" "$2" "$3" "$4" "${5:-}"
}
# record_json STAGE NAME: the JSON objects on stdin, one a line, as results of the name.
record_json() {
    local line
    while IFS= read -r line; do
        [[ $line == '{'*'}' ]] || continue
        printf '{"stage": "%s", "name": %s, "result": %s}\n' "$1" "$(quoted "$2")" "$line" >>"$out/results.jsonl"
    done
}
left() { echo $((limits[$inside] - SECONDS - 3)); }  # seconds of this stage
# limited SECONDS COMMAND...: with no more time than the stage has left.
limited() {
    local seconds=$1
    shift
    seconds=$((patience * seconds))
    [ "$(left)" -ge "$seconds" ] || seconds=$(left)
    [ "$seconds" -gt 0 ] || return 124
    timeout -k 5 "$seconds" "$@"
}
# Whether a command with this limit will be cut short by the stage's.
is_late() { [ "$(left)" -lt $((patience * $1)) ]; }
is_timeout() { [ "$1" -eq 124 ] || [ "$1" -eq 137 ]; }
why() { if [ "$1" -eq 124 ] || [ "$1" -eq 137 ]; then echo "no end within the time"; else echo "status $1"; fi; }

find_gpu() { nvidia-smi -L 2>/dev/null | grep -m 1 GPU; }
need_gpu() {
    find_gpu >/dev/null && return
    complain "$inside needs a GPU, and nvidia-smi shows none"
    record "$inside" gpu failed 0 "nvidia-smi shows no GPU"
    exit 3
}
need_program() {
    [ -x "$heddle" ] && return
    complain "there is no $heddle; run the stage build first"
    exit 2
}

# ---- build

# What the shared libraries of the pack ask for is tried before anything is built.
try_pack() {
    cat >"$build/try.cpp" <<'END'
#include <fmt/format.h>
#include <sentencepiece_processor.h>
#include <zlib.h>
int main() {
    const sentencepiece::SentencePieceProcessor processor;
    fmt::print("zlib {}, pieces {}\n", zlibVersion(), processor.GetPieceSize());
}
END
    local names
    mapfile -t names <"$pack/lib/names"
    "${CXX:-g++}" -std=c++20 -isystem "$pack/include" "$build/try.cpp" -o "$build/try" "$pack"/lib/libfmt.so* "${names[@]/#/$pack/lib/}" \
        "$pack/lib/libz.a" -Wl,-rpath,"$pack/lib" && "$build/try" && return
    complain "the libraries of the pack do not work here; $(tr '\n' ' ' <"$pack/NEEDS")"
    return 1
}

# cuBLASLt comes with the toolkit, or with PyTorch's packages, whose library has no name without a version.
cublas_options=()
find_cublas() {
    local toolkit=$1 found folder
    for folder in "$toolkit/include" "$toolkit/targets/x86_64-linux/include"; do
        [ -e "$folder/cublasLt.h" ] && ls "$toolkit"/lib64/libcublasLt.so >/dev/null 2>&1 && return
    done
    found=$("$python" -c 'import importlib.util as u, glob
for p in u.find_spec("nvidia").submodule_search_locations:
    for h in glob.glob(p + "/**/cublasLt.h", recursive=True): print(h)' 2>/dev/null | head -n 1) || true
    [ -n "$found" ] || return 0  # CMake may know better
    folder=$(dirname "$(dirname "$found")")
    cublas_options=("-DCMAKE_CXX_FLAGS=-w -isystem $folder/include" "-DCMAKE_CUDA_FLAGS=-w -isystem $folder/include"
        "-DCUDA_cublasLt_LIBRARY=$(ls "$folder"/lib/libcublasLt.so.* | head -n 1)")
}

wanted_targets() {
    local file
    for file in tests/*/*_device_test.cpp tests/translation/training_*_test.cpp; do basename "$file" .cpp; done
    echo heddle
}

stage_build() {
    local nvcc toolkit generator=(-G Ninja) chip jobs names words start=$SECONDS
    nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
    [ -x "$nvcc" ] || { complain "there is no nvcc"; record build nvcc failed 0 "no nvcc"; return 1; }
    toolkit=$(dirname "$(dirname "$(realpath "$nvcc")")")
    jobs=$(nproc)
    chmod +x "$pack/tools/ninja" 2>/dev/null || true
    if command -v ninja >/dev/null; then
        generator+=("-DCMAKE_MAKE_PROGRAM=$(command -v ninja)")
    elif "$pack/tools/ninja" --version >/dev/null 2>&1; then
        generator+=("-DCMAKE_MAKE_PROGRAM=$pack/tools/ninja")
    else
        generator=(-G "Unix Makefiles")
    fi
    chip=$(nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null | head -n 1 | tr -d '. ') || true
    case $chip in "" | *[!0-9]* | 90) chip=90a ;; esac
    words="$(find_gpu || echo 'no GPU'); $("$nvcc" --version | sed -n 's/.*release \([0-9.]*\),.*/CUDA \1/p'); "
    words+="$("${CXX:-g++}" --version | head -n 1); $jobs cores; sm_$chip"
    record build machine "done" 0 "$words"

    try_pack || { record build pack failed $((SECONDS - start)) "the pack's libraries do not work here"; return 1; }
    find_cublas "$toolkit"
    start=$SECONDS
    # -w: the warnings of a compiler that nobody has met are no reason to stop.
    cmake -S "$pack/googletest" -B "$build/googletest" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS=-w \
        -DCMAKE_INSTALL_PREFIX="$build/prefix" -DCMAKE_INSTALL_LIBDIR=lib
    cmake --build "$build/googletest" -j "$jobs"
    cmake --install "$build/googletest" >/dev/null
    record build googletest passed $((SECONDS - start))
    start=$SECONDS
    mapfile -t names <"$pack/lib/names"
    cmake -S . -B "$build" "${generator[@]}" -DCMAKE_BUILD_TYPE=Release -DHEDDLE_CUDA=nvcc -DHEDDLE_SLOW_TESTS=OFF \
        -DCMAKE_CUDA_COMPILER="$nvcc" -DCMAKE_CUDA_ARCHITECTURES="${chip}-real" -DCMAKE_CXX_FLAGS=-w -DCMAKE_CUDA_FLAGS=-w \
        -DCMAKE_PREFIX_PATH="$build/prefix;$pack" -DGTest_DIR="$build/prefix/lib/cmake/GTest" -Dfmt_DIR="$pack/lib/cmake/fmt" \
        -DCLI11_DIR="$pack/share/cmake/CLI11" -Dnlohmann_json_DIR="$pack/share/cmake/nlohmann_json" -DXXHASH_INCLUDE_DIR="$pack/include" \
        -DZLIB_INCLUDE_DIR="$pack/include" -DZLIB_LIBRARY="$pack/lib/libz.a" \
        -DSENTENCEPIECE_LIBRARY="$pack/lib/${names[0]}" -DSENTENCEPIECE_TRAIN_LIBRARY="$pack/lib/${names[1]}" \
        "${cublas_options[@]}" || { record build configure failed $((SECONDS - start)) "see build.log"; return 1; }
    record build configure passed $((SECONDS - start))
    start=$SECONDS
    # HEDDLE_GPU_TARGETS builds less: to try the script out.
    # shellcheck disable=SC2046,SC2086
    if cmake --build "$build" -j "$jobs" --target ${HEDDLE_GPU_TARGETS:-$(wanted_targets)} -- \
        $([ "${generator[1]}" != Ninja ] || echo -k 0); then
        record build heddle passed $((SECONDS - start))
    else
        record build heddle failed $((SECONDS - start)) "$(grep -m 1 -E 'error|fatal' "$out/build.log" | cut -c 1-200)"
        return 1
    fi
}

# ---- test

# run_test NAME LIMIT COMMAND...: one test program. Fails when the test does.
run_test() {
    local name=$1 seconds=$2 start=$SECONDS status=0 words counts log=$build/$1.log late=0
    shift 2
    if is_late "$seconds"; then late=1; fi
    limited "$seconds" "$@" >"$log" 2>&1 || status=$?
    { echo "==== $name"; cat "$log"; } >>"$out/test.log"
    counts=$(sed -nE 's/^\[  PASSED  \] ([0-9]+) tests?.*/\1 passed/p; s/^\[  SKIPPED \] ([0-9]+) tests?, listed.*/, \1 skipped/p
        s/^\[  FAILED  \] ([0-9]+) tests?, listed.*/, \1 failed/p' "$log" | tr -d '\n')
    if [ "$status" -eq 0 ]; then
        record test "$name" passed $((SECONDS - start)) "$counts"
    elif [ $late -eq 1 ] && is_timeout "$status"; then
        record test "$name" skipped $((SECONDS - start)) "the stage had no time left"
    else
        words=$(grep -m 2 -E '^\[  FAILED  \] [A-Za-z]|rror' "$log" | tr '\n' ' ' | cut -c 1-240) || true
        record test "$name" failed $((SECONDS - start)) "$(why $status)$counts; $words"
        return 1
    fi
}
# run_tests LIMIT PROGRAM...: eight at a time, as most of a test's time is the host's.
run_tests() {
    local seconds=$1 test running=()
    shift
    for test; do
        if [ ${#running[@]} -eq 8 ]; then
            wait "${running[0]}" || failed=1
            running=("${running[@]:1}")
        fi
        run_test "$(basename "$test")" "$seconds" "$test" --gtest_brief=1 &
        running+=($!)
    done
    for test in "${running[@]}"; do wait "$test" || failed=1; done
}

# sanitize TOOL TEST FILTER: a refusal is a result. compute-sanitizer ends with 86 when it has something to report.
sanitize() {
    local tool=$1 test=$2 filter=$3 start=$SECONDS status=0 log=$build/one.log late=0 unguarded=()
    if is_late 25; then late=1; fi
    # Guards initialise every tensor, so initcheck would not see reads of memory that no kernel wrote.
    if [ "$tool" = initcheck ]; then unguarded=(env HEDDLE_UNGUARDED_MEMORY=1); fi
    limited 25 "${unguarded[@]}" "$sanitizer" --tool "$tool" --error-exitcode 86 "$build/tests/$test" --gtest_brief=1 --gtest_filter="$filter" \
        >"$log" 2>&1 || status=$?
    { echo "==== $tool $test $filter"; cat "$log"; } >>"$out/test.log"
    if grep -qE 'Device not supported|not supported on|Failed to initialize|Unable to' "$log"; then
        record test "$tool $test" refused $((SECONDS - start)) "$(grep -m 1 -E 'not supported|Failed|Unable' "$log" | cut -c 1-160)"
    elif [ $status -eq 0 ]; then
        record test "$tool $test" passed $((SECONDS - start)) "$(grep -m 1 'SUMMARY' "$log")"
    elif [ $late -eq 1 ] && is_timeout $status; then
        record test "$tool $test" skipped $((SECONDS - start)) "the stage had no time left"
    elif is_timeout $status; then
        record test "$tool $test" stopped $((SECONDS - start)) "no end within the time"
    else
        record test "$tool $test" failed $((SECONDS - start)) \
            "$(why $status); $(grep -m 1 -E '=========.*(Invalid|[Rr]ace|[Bb]arrier|[Uu]ninitialized)|SUMMARY' "$log" | cut -c 1-200)"
        failed=1
    fi
}

# PyTorch's compiler takes a minute for each model. It fills its cache while the tests, whose time nobody measures, run.
export TORCHINDUCTOR_CACHE_DIR=$build/inductor TRITON_CACHE_DIR=$build/triton
compile_ahead() {
    local model
    for model in small base; do
        # shellcheck disable=SC2046
        timeout 110 "$python" "$pack/peer/torch_train.py" $(peer_options $model bf16) --updates 12 --skip 1 --compile \
            >"$build/ahead-$model.log" 2>&1 &
    done
}

stage_test() {
    local failed=0 test others sanitizer
    need_gpu
    need_program
    : >"$out/test.log"
    # The programs test on the CPU alone where there is no device; so first: is there one?
    run_test "the device" 60 "$heddle" bench ops --device cuda --sizes tiny --op scale || { complain "the device does not work; see $out/test.log"; return 1; }
    compile_ahead
    # What all others stand on comes first, alone.
    for test in device_layer_device_test device_core_device_test; do
        run_test $test 60 "$build/tests/$test" --gtest_brief=1 || failed=1
    done
    mapfile -t others < <(ls "$build"/tests/*_device_test "$build"/tests/training_*_test | grep -vE '/device_(layer|core)_device_test$')
    run_tests 90 "${others[@]}"
    run_test gradcheck 60 "$heddle" gradcheck --device cuda || failed=1
    sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
    if [ -x "$sanitizer" ]; then
        for tool in memcheck synccheck initcheck racecheck; do  # the slowest last
            sanitize $tool every_op_device_test 'Of/EveryOpDevice.*/softmax:Of/EveryOpDevice.*/layer_norm'
            sanitize $tool layer_norm_device_test '-*Large*'
            sanitize $tool attention_device_test '-*Large*'
            sanitize $tool matmul_device_test '-*Large*'
        done
    else
        record test compute-sanitizer refused 0 "there is none on this machine"
    fi
    jobs -p | xargs -r kill 2>/dev/null || true
    return $failed
}

# ---- bench-ops

# measure NAME LIMIT COMMAND...: records the JSON lines that the command prints, each when it comes.
measure() {
    local name=$1 seconds=$2 start=$SECONDS status=0 late=0
    shift 2
    if is_late "$seconds"; then late=1; fi
    echo "==== $*" >>"$out/$inside.log"
    limited "$seconds" "$@" 2>>"$out/$inside.log" | tee -a "$out/$inside.log" | record_json "$inside" "$name" || status=$?
    if [ $status -eq 0 ]; then
        record "$inside" "$name" "done" $((SECONDS - start))
    elif [ $late -eq 1 ] && is_timeout $status; then
        record "$inside" "$name" skipped $((SECONDS - start)) "the stage had no time left"
    else
        record "$inside" "$name" failed $((SECONDS - start)) "$(why $status)"
        failed=1
    fi
}

# The ops that the program measures with large tensors of a dtype, but attention, which takes longer.
other_ops() {
    "$heddle" bench ops --device cuda --sizes large --dtype "$1" --op none 2>&1 | sed -n 's/.*choose one of \([a-z_, ]*\).*/\1/p' |
        tr -d ',\n' | sed 's/\<attention\>//'
}

stage_bench_ops() {
    local failed=0
    need_gpu
    need_program
    : >"$out/bench-ops.log"
    local bench=("$heddle" bench ops --device cuda --json)
    measure "heddle attention large bf16" 20 "${bench[@]}" --sizes large --op attention --dtype bf16 --seconds 0.2
    # shellcheck disable=SC2046  # several words
    measure "heddle large bf16" 20 "${bench[@]}" --sizes large --op $(other_ops bf16) --dtype bf16 --seconds 0.05
    measure "heddle sentences bf16" 15 "${bench[@]}" --sizes sentences --dtype bf16
    measure "torch attention bf16" 60 "$python" tests/gpu/torch_ops.py --device cuda --sizes sentences,large --op attention --dtype bf16
    # shellcheck disable=SC2046
    measure "heddle large f32" 20 "${bench[@]}" --sizes large --op $(other_ops f32) --seconds 0.05
    measure "heddle sentences f32" 15 "${bench[@]}" --sizes sentences
    measure "heddle translator bf16" 15 "${bench[@]}" --sizes translator --dtype bf16 --seconds 0.05
    measure "heddle translator f32" 15 "${bench[@]}" --sizes translator --seconds 0.05
    measure "torch other ops" 30 "$python" tests/gpu/torch_ops.py --device cuda --sizes large,translator \
        --op softmax,log_softmax,layer_norm,cross_entropy,linear,adam
    measure "heddle ladders" 40 "$heddle" bench ladder --json
    return $failed
}

# ---- bench-train

# The small translator as its defaults are, and the Transformer-base of Vaswani et al. 2017.
model_options() {
    case $1 in
        small) echo "--layers 3 --d-model 128 --heads 4 --d-ff 512 --dropout 0.2" ;;
        base) echo "--layers 6 --d-model 512 --heads 8 --d-ff 2048 --dropout 0.1" ;;
    esac
}
course() { case $1 in small) echo "--updates 500 --skip 300" ;; base) echo "--updates 260 --skip 180" ;; esac; }
batch() { case $1 in small) echo 3000 ;; base) echo 12000 ;; esac; }
# peer_options MODEL DTYPE
peer_options() {
    echo "--device cuda --dtype $2 --threads $(nproc) --data $pack/data --spm $build/peer.model"
    echo "--tokens $(batch "$1") $(model_options "$1")"
}

stage_bench_train() {
    local failed=0 dtype=f32 model options
    need_gpu
    need_program
    : >"$out/bench-train.log"
    if "$heddle" bench train --help | grep -q -- '--dtype'; then dtype=bf16; fi
    # ours MODEL DTYPE and theirs MODE MODEL
    ours() {
        options="--device cuda --json --train $pack/data/train --source de --target en --batch-tokens $(batch "$1") $(course "$1")"
        options="$options $(model_options "$1")"
        [ "$2" = f32 ] || options="$options --dtype $2"
        # shellcheck disable=SC2086
        measure "heddle $1 $2" 30 "$heddle" bench train $options --vocab-model "$build/peer.model"
    }
    theirs() {
        # shellcheck disable=SC2046
        measure "torch $1 $2 $dtype" "$3" "$python" "$pack/peer/torch_train.py" $(peer_options "$2" $dtype) $(course "$2") "${@:4}"
    }
    for model in small base; do ours $model $dtype; done
    for model in small base; do theirs eager $model 40; done
    for model in small base; do theirs compile $model 75 --compile; done
    if [ $dtype != f32 ]; then for model in small base; do ours $model f32; done; fi
    return $failed
}

# ---- the whole

if [ -n "$inside" ]; then
    if [[ $inside == test || $inside == bench-train ]] && [ ! -e "$build/peer.model" ] && find_gpu >/dev/null; then
        # One vocabulary for both sides, made as the peer makes it.
        "$python" - "$pack/data" "$build/peer" <<'END' >>"$out/$inside.log" 2>&1 || complain "no vocabulary could be made; see $inside.log"
import sys, sentencepiece
lines = [line.rstrip("\n") for end in ("de", "en") for line in open(f"{sys.argv[1]}/train.{end}", encoding="utf-8")]
sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_prefix=sys.argv[2], vocab_size=6000, model_type="bpe",
    character_coverage=1.0, pad_id=0, unk_id=1, bos_id=2, eos_id=3, minloglevel=2)
END
    fi
    "stage_${inside//-/_}"
    exit
fi

status=0
for stage in "${stages[@]}"; do
    result=0
    again=(bash "$self" --inside "$stage" --with "$pack" --out "$out" --build "$build" --patience "$patience")
    if [ "$stage" = build ]; then
        timeout -k 5 "${limits[$stage]}" "${again[@]}" >"$out/build.log" 2>&1 || result=$?
        grep -E '^(build  |gpu.sh: )' "$out/build.log" || true
        [ $result -eq 0 ] || grep -m 12 -E 'error|FAILED' "$out/build.log" || true
    else
        timeout -k 5 "${limits[$stage]}" "${again[@]}" || result=$?
    fi
    if [ $result -eq 124 ] || [ $result -eq 137 ]; then record "$stage" "the stage" stopped "${limits[$stage]}" "no end within the time"; fi
    [ $result -eq 0 ] || [ $status -ne 0 ] || status=$result
    if [ "$stage" = build ] && [ $result -ne 0 ] && [ ${#stages[@]} -gt 1 ]; then
        complain "the build failed; see $out/build.log"
        break
    fi
done
if [ -e "$out/results.jsonl" ]; then
    "$python" tests/gpu/table.py "$out/results.jsonl" "$out/results.json" >"$out/results.md" && cat "$out/results.md"
fi
case $status in 0 | 3) exit $status ;; *) exit 1 ;; esac
