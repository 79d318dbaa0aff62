#!/usr/bin/env python3
"""What ptxas made of kernels: reads the machine code of cubins and object files, and counts.

    machine_code.py FILE...           a line for each kernel
    machine_code.py --table FILE...   those on tensor cores as a Markdown table

Needs cuobjdump beside nvdisasm: from the CUDA toolkit, from PyPI's triton wheel, or from the folder that HEDDLE_CUDA_TOOLS names."""
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field

# Straight code ends behind these.
JUMPS = {"BRA", "EXIT", "RET", "BRX", "JMX", "CALL", "BREAK", "KILL"}


@dataclass
class Instruction:
    address: int
    name: str      # with its suffixes: LDG.E.128
    operands: str
    target: int | None = None  # of a jump

    def is_copy(self): return self.name.startswith("LDGSTS") and ".128" in self.name
    def is_mma(self): return self.name.startswith("HMMA")


@dataclass
class Kernel:
    chip: str
    name: str  # kernel<arguments>, without namespaces and parameters
    registers: int = 0
    stack: int = 0
    code: list = field(default_factory=list)

    def count(self, pattern):
        """Instructions whose name, with its suffixes, matches the whole pattern."""
        return sum(1 for i in self.code if re.fullmatch(pattern, i.name))

    def spills(self):
        """Loads and stores of a thread's own memory: spilled registers, and arrays that do not fit into registers."""
        return self.count(r"(LDL|STL)\b.*")

    def accesses(self, kind, bytes):
        """Accesses of `bytes` bytes: kind is LDG, STG (global), LDS or STS (shared memory)."""
        suffix = {1: r"\.[SU]8", 2: r"\.[SU]16", 4: "", 8: r"\.64", 16: r"\.128"}[bytes]
        plain = [re.sub(r"\.(E|CONSTANT|EF|EL|LU|NA|STRONG|GPU|SYS|CTA|CI|U|LTC\d+B|MMIO|WEAK)(?=\.|$)", "", i.name) for i in self.code]
        return sum(1 for name in plain if re.fullmatch(kind + suffix, name))

    def loops(self):
        """[first, last] address of each loop: what a jump backwards encloses."""
        return sorted({(i.target, i.address) for i in self.code if i.target is not None and i.target < i.address})

    def between(self, first, last): return [i for i in self.code if first <= i.address <= last]

    def straight(self):
        """The pieces of code without a jump into or out of them."""
        starts = {i.target for i in self.code if i.target is not None}
        piece = []
        for i in self.code:
            if i.address in starts and piece:
                yield piece
                piece = []
            piece.append(i)
            if i.name.split(".")[0] in JUMPS:
                yield piece
                piece = []
        if piece: yield piece

    def per_mma(self):
        """Instructions for each mma in the straight pieces of code that have any; None without."""
        pieces = [p for p in self.straight() if any(i.is_mma() for i in p)]
        mmas = sum(i.is_mma() for p in pieces for i in p)
        return sum(map(len, pieces)) / mmas if mmas else None

    def per_mma_of_loop(self):
        """Instructions for each mma in the shortest loop that has most of them, with all that happens only sometimes: masks, dropout, edges.
        None where no loop has any."""
        loops = [(sum(i.is_mma() for i in body), -len(body)) for body in (self.between(*l) for l in self.loops())]
        mmas, length = max(loops, default=(0, 0))
        return -length / mmas if mmas else None

    def per_copy(self):
        """Instructions for each asynchronous 16-byte copy: of the innermost loops around copies, or, where such a loop has become straight
        code, of the pieces with copies. None without copies."""
        total, copies = 0, 0
        inner = [l for l in self.loops() if not any(i.is_mma() for i in self.between(*l))]
        inside = set()
        for first, last in inner:
            body = self.between(first, last)
            if not any(i.is_copy() for i in body): continue
            if any((a, b) != (first, last) and first <= a and b <= last and any(i.is_copy() for i in self.between(a, b)) for a, b in inner):
                continue
            total += len(body)
            copies += sum(i.is_copy() for i in body)
            inside |= {i.address for i in body}
        for piece in self.straight():
            if not any(i.is_copy() and i.address not in inside for i in piece): continue
            total += len(piece)
            copies += sum(i.is_copy() for i in piece)
        return total / copies if copies else None


def tool(name):
    """cuobjdump from the PATH, the CUDA toolkit, PyPI's `triton` wheel, or the folder that HEDDLE_CUDA_TOOLS names; None when missing."""
    folders = [os.environ.get("HEDDLE_CUDA_TOOLS", ""), "/usr/local/cuda/bin"]
    try:
        import importlib.util
        found = importlib.util.find_spec("triton")
        if found and found.submodule_search_locations:
            folders.append(os.path.join(list(found.submodule_search_locations)[0], "backends/nvidia/bin"))
    except ImportError:
        pass
    return shutil.which(name) or next((p for f in folders if f and os.access(p := os.path.join(f, name), os.X_OK)), None)


def plain_name(demangled):
    """kernel<arguments> of a whole demangled name."""
    name = re.sub(r"^void ", "", demangled)
    name = re.sub(r"heddle::(kernels::|device::)?|\(anonymous namespace\)::", "", name)
    depth = 0
    for i, c in enumerate(name):
        depth += (c == "<") - (c == ">")
        if c == "(" and depth == 0: return name[:i]
    return name


def output(*command): return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def read(path, cuobjdump):
    """The kernels of a cubin, or of an object file, which may hold the code for several chips."""
    kernels, current, chip = {}, None, ""
    for line in output(cuobjdump, "-sass", path).splitlines():
        if found := re.match(r"\s*code for (\S+)", line): chip = found[1]
        elif found := re.match(r"\s*Function : (\S+)", line): kernels[chip, found[1]] = current = Kernel(chip, found[1])
        elif found := re.match(r"\s*/\*([0-9a-f]+)\*/\s+(?:@!?U?P\w+\s+)?(\S+)\s*([^;]*);", line):
            name, operands = found[2], found[3]
            if name == "NOP": continue
            target = None
            if name.split(".")[0] == "BRA" and (to := re.search(r"0x([0-9a-f]+)\s*$", operands)): target = int(to[1], 16)
            current.code.append(Instruction(int(found[1], 16), name, operands, target))
    used = None
    for line in output(cuobjdump, "--dump-resource-usage", path).splitlines():
        if found := re.search(r"\barch = (\S+)", line): chip = found[1]  # of object files; a cubin has one chip
        elif found := re.match(r"\s*Function (\S+):", line): used = kernels.get((chip, found[1]))
        elif used and (found := re.search(r"REG:(\d+) STACK:(\d+)", line)): used.registers, used.stack = int(found[1]), int(found[2])
    names = output("c++filt", *(name for _, name in kernels)).splitlines() if kernels else []
    for kernel, name in zip(kernels.values(), names): kernel.name = plain_name(name)
    for kernel in kernels.values():
        # Behind the end: the jump to itself that ptxas puts there.
        while kernel.code and kernel.code[-1].target == kernel.code[-1].address: kernel.code.pop()
    return list(kernels.values())


def number(x): return "-" if x is None else f"{x:.1f}"


def table(kernels):
    """Markdown: the kernels on tensor cores."""
    print("| kernel | chip | registers | spills | instructions | `mma` | a `mma`, straight | a `mma`, tile loop | 16-byte copies | a copy |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for k in sorted(kernels, key=lambda k: (k.name, k.chip)):
        mmas = sum(i.is_mma() for i in k.code)
        if mmas == 0: continue
        copies = sum(i.is_copy() for i in k.code)
        print(f"| `{k.name}` | {k.chip} | {k.registers} | {k.spills()} | {len(k.code)} | {mmas} | {number(k.per_mma())} |"
              f" {number(k.per_mma_of_loop())} | {copies} | {number(k.per_copy())} |")


if __name__ == "__main__":
    arguments = sys.argv[1:]
    as_table = arguments[:1] == ["--table"]
    cuobjdump = tool("cuobjdump")
    if cuobjdump is None: sys.exit("machine_code.py: there is no cuobjdump; it comes with the CUDA toolkit and with PyPI's triton wheel")
    kernels = [k for path in arguments[as_table:] for k in read(path, cuobjdump)]
    if as_table: table(kernels)
    else:
        for k in kernels:
            print(f"{k.chip:8} {k.name:56} registers {k.registers:3} stack {k.stack:3} spills {k.spills():3} instructions {len(k.code):5}"
                  f" mma {k.count('HMMA.*'):4} per mma {number(k.per_mma()):>5} in its loop {number(k.per_mma_of_loop()):>5}"
                  f" copies {k.count('LDGSTS.*128.*'):3} per copy {number(k.per_copy()):>5}"
                  f" loads {k.accesses('LDG', 16)}/{k.accesses('LDG', 8)}/{k.accesses('LDG', 4)}"
                  f" stores {k.accesses('STG', 16)}/{k.accesses('STG', 8)}/{k.accesses('STG', 4)}")
