"""Which test programs read a source, in the order in which they are tried: the op's own first, those of whole models last."""
import functools
import glob
import os
import re

# What ctest leaves out of watched programs (tests/CMakeLists.txt).
WATCHED = "-*Large*:*OpCpu*:*NaN*:*SameBitsAgain*"

# Folders of kernels whose tests bear another name.
_SHARED = {"concat": "permute_slice_concat", "permute": "permute_slice_concat", "slice": "permute_slice_concat"}
_TAPE = ["tape_test", "tape_errors_test", "tape_life_test", "checkpoint_test", "gradcheck_test", "op_times_test", "random_graphs_test"]
# Whole layers and models, on the CPU and on the device; training on the emulated device takes too long here.
_MODELS = ["nn_gradient_test", "nn_layers_test", "nn_parity_test", "nn_transformer_test", "learner_test", "trainer_test"]
_SEARCHES = ["nn_decoding_test", "search_test", "beam_search_test", "beam_search_cuda_test", "sampling_test", "scoring_test", "ensemble_test", "optim_test"]
_DEVICE_MODELS = ["nn_bf16_test"]
# Rooms without ops: their mutants are drawn by folder.
_MODULES = ("nn", "optim", "heddle")
# Rooms whose tests share a program (tests/CMakeLists.txt), but for the few above.
_JOINED = {"command", "core", "exchange", "lab", "picture", "program", "translation"}
# Those that take long or reserve more memory than a program may here, and those that look at the source and not at what it does.
_OTHERS = re.compile(r"_slow_test$|^(beam_search_memory|emulator|stepping|examples|cpu_levels|rooms|kernel_rules|mutation|add_an_op|proofs|every_op)_")


def op_of(file):
    """The op that a file belongs to: its folder below kernels, its name in autograd/ops; "tape" for the rest of autograd; the folder of a
    module, a search or an optimizer."""
    parts = file.split("/")
    if parts[0] in _MODULES:
        return parts[-2]
    if parts[0] == "kernels":
        return parts[1] if len(parts) > 2 else parts[1].split(".")[0]
    if parts[:2] == ["autograd", "ops"]:
        return parts[2].split(".")[0]
    return "tape"


@functools.lru_cache(maxsize=None)
def _test_files(root):
    """{program: the text of its source}."""
    texts = {}
    for path in sorted(glob.glob(os.path.join(root, "tests/*/*_test.cpp"))):
        room, name = path.split("/")[-2], os.path.basename(path)[:-4]
        if room in _JOINED and name not in _MODELS + _SEARCHES:
            continue
        with open(path, encoding="utf-8") as file:
            texts[name] = file.read()
    return texts


@functools.lru_cache(maxsize=None)
def _owner(root, program):
    """The op whose name the program's name begins with."""
    ops = sorted(os.listdir(os.path.join(root, "kernels")), key=len, reverse=True)
    return next((one for one in [*set(_SHARED.values()), *ops] if program.startswith(one + "_")), None)


def own_programs(root, op):
    """The op's test programs: those without a device, those with one."""
    own = [name for name in _test_files(root) if _owner(root, name) == _SHARED.get(op, op) and not _OTHERS.search(name)]
    own.sort(key=lambda name: (len(name), name))  # attention_test before attention_cached_test
    return [name for name in own if "_device_" not in name], [name for name in own if "_device_" in name]


def _that_name(root, op, left_out):
    """Further programs whose source names the op."""
    return [name for name, text in _test_files(root).items()
            if re.search(rf"\b(?:{op}_(?:forward|backward)|(?:ops|kernels)::{op}|kernels/{op}/)", text)
            and not _OTHERS.search(name) and name not in left_out]


@functools.lru_cache(maxsize=None)
def ops_with_cases(root):
    """The ops whose tables have calls of their kernels."""
    ops = set()
    for path in glob.glob(os.path.join(root, "autograd/ops/*_cases.cpp")):
        with open(path, encoding="utf-8") as file:
            if ".kernels = " in file.read():
                ops.add(os.path.basename(path)[:-len("_cases.cpp")])
    return frozenset(ops)


def programs_for(root, unit):
    """([(program, GoogleTest's filter)], the same): the op's own tests of a .cpp or .cu file, and further ones that read it."""
    op = op_of(unit)
    if unit.split("/")[0] in _MODULES:
        own = _SEARCHES if op == "search" else _of_room(root, unit.split("/")[0])
        further = _of_room(root, "nn") + _SEARCHES + _MODELS + _DEVICE_MODELS
        return _all(own), [test for test in _all(further) if test[0] not in own]
    host, device = own_programs(root, op)
    every_op = [("every_op_device_test", f"*/{op}")] if op in ops_with_cases(root) else []
    nan = [("every_op_device_test", "EveryOp*NDevice.*")] if every_op else []
    kept = [("every_op_in_kept_memory_device_test", f"*{op}*")] if every_op else []
    if op == "device":
        every_op = [("every_op_device_test", "*/*")]
    others = _that_name(root, op, host + device)
    if not os.path.exists(os.path.join(root, "autograd/ops", op + ".cpp")) and op != "tape":
        others += _SEARCHES  # what computes no gradient serves searches and updates
    if unit.startswith("autograd/"):
        own = _all(_TAPE + ["proofs_test"] if op == "tape" else ["proofs_test"] + [name for name in host if "gradient" in name])
        further = _all(host + others + _MODELS + _TAPE + _DEVICE_MODELS)
    elif unit.endswith(".cu"):
        plain = _all(device) + every_op
        own = plain + _all(host) + [("checked/" + name, only + WATCHED) for name, only in plain]
        further = nan + kept + _all(_with_device(root, others) + _DEVICE_MODELS)
    else:
        own = _all(host) + every_op + _all(["proofs_test", "every_op_test"])
        further = nan + _all(device + others + _MODELS + _DEVICE_MODELS)
    return own, [test for test in further if test not in own]


def _of_room(root, room):
    """The test programs of a room, those without a device first."""
    names = [name for name in (os.path.basename(path)[:-4] for path in sorted(glob.glob(os.path.join(root, "tests", room, "*_test.cpp"))))
             if not _OTHERS.search(name)]
    return sorted(names, key=lambda name: name in _DEVICE_MODELS or "_cuda_" in name)


def _all(names):
    return [(name, "*") for name in dict.fromkeys(names)]


def _with_device(root, names):
    return [name for name in names if re.search(r"\bcuda\b|devices\(|all_numbers|Device::", _test_files(root)[name])]
