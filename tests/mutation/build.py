"""Compiles a changed copy of one source as its build does, and links test programs with that object ahead of the libraries.

A source that the build compiles together with others (CMake's unity build) is compiled alone, and so is each of these others, once:
their objects go ahead of the libraries, too, so the linker takes nothing from the object that holds all of them.
"""
import hashlib
import json
import os
import re
import shlex
import struct
import subprocess

VARIANTS = ("plain", "checked", "v2", "v3", "v4")
_INCLUDE = re.compile(r'^[ \t]*#include ["<]([\w./]+)[">]', re.MULTILINE)


class BuildError(Exception):
    """The build folder cannot be used as it is: nothing that a mutant did."""


class LinkError(BuildError):
    """A program does not link: a mutant's fault if it does with the unchanged source."""


class Build:
    """A build folder of the preset `emulated`. `work` takes what this program writes and is kept from run to run. `makes`: programs that
    are older than their sources are built first."""

    def __init__(self, folder, work=None, makes=True):
        self.folder = os.path.abspath(folder)
        self.makes = makes
        self.work = work or os.path.join(self.folder, "mutation")
        os.makedirs(self.work, exist_ok=True)
        with open(os.path.join(self.folder, "CMakeCache.txt"), encoding="utf-8") as cache:
            self.root = re.search(r"^CMAKE_HOME_DIRECTORY:INTERNAL=(.*)$", cache.read(), re.MULTILINE).group(1)
        self._entries = {}  # source, relative to the root: [(folder of the object, object, command, sources in it)]
        with open(os.path.join(self.folder, "compile_commands.json"), encoding="utf-8") as commands:
            for entry in json.load(commands):
                self._add(entry)
        self._includes = {}
        self._inputs = {}
        self._links = {}
        self._targets = None
        self._made = set()

    def _add(self, entry):
        output = re.search(r" -o (\S+) -c ", entry["command"]).group(1)
        sources = [entry["file"]]
        if "/Unity/" in entry["file"]:
            with open(entry["file"], encoding="utf-8") as unity:
                sources = re.findall(r'#include "(.*)"', unity.read())
        relative = [os.path.relpath(source, self.root) for source in sources]
        for source in relative:
            self._entries.setdefault(source, []).append((output.split(".dir/")[0], output, entry["command"], relative))

    def _entry(self, source, variant):
        """How the room's library, or with "checked" its watched one, compiles `source`."""
        wanted = {"plain": r"heddle_[a-z]+_(objects|cu)", "checked": r"heddle_[a-z]+_checked_cu"}.get(variant, rf"heddle_[a-z]+_{variant}")
        for folder, output, command, sources in self._entries.get(source, []):
            if re.fullmatch(r"CMakeFiles/" + wanted, folder):
                return output, command, sources
        raise BuildError(f"{self.folder} does not compile {source} as {variant}")

    def has(self, source, variant):
        try:
            self._entry(source, variant)
        except BuildError:
            return False
        return True

    # ---- includes

    def includes(self, path):
        """The project's headers that `path` includes, directly or not, relative to the root."""
        if path not in self._includes:
            self._includes[path] = set()
            full = path if os.path.isabs(path) else os.path.join(self.root, path)
            with open(full, encoding="utf-8") as file:
                names = _INCLUDE.findall(file.read())
            for name in names:
                name = os.path.relpath(name, self.root) if os.path.isabs(name) else name
                if os.path.exists(os.path.join(self.root, name)):
                    self._includes[path] |= {name} | self.includes(name)
        return self._includes[path]

    # ---- compiling

    def _compile(self, command, source, output, flags=()):
        """Whether it compiles. `source` replaces the command's own, and overlaid headers come first."""
        arguments = shlex.split(command)
        at = arguments.index("-c")
        arguments[at + 1] = source
        arguments[arguments.index("-o") + 1] = output
        arguments = [one for one in arguments if one != "-Werror"] + ["-w", *flags]
        os.makedirs(os.path.dirname(output), exist_ok=True)
        done = subprocess.run(arguments, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
        return done.returncode == 0, done.stderr.decode(errors="replace")

    def original(self, source, variant):
        """The object of the unchanged source, compiled alone."""
        output, command, together = self._entry(source, variant)
        if len(together) == 1:
            return os.path.join(self.folder, output)
        alone = os.path.join(self.work, "alone", source + ".o")
        full = os.path.join(self.root, source)
        newest = max(os.path.getmtime(os.path.join(self.root, name)) for name in {source} | self.includes(source))
        if not os.path.exists(alone) or os.path.getmtime(alone) < newest:
            good, message = self._compile(command, full, alone)
            if not good:
                raise BuildError(f"{source} does not compile alone:\n{message}")
        return alone

    def compile(self, file, text, unit, variant, flags=()):
        """The object of `unit` where `file`, itself or a header of it, has this text; None if it does not compile. `flags`: more of them."""
        _, command, _ = self._entry(unit, variant)
        overlay = os.path.join(self.work, "changed")
        place = os.path.join(overlay, file)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        with open(place, "w", encoding="utf-8") as changed:
            changed.write(f'#line 1 "{os.path.join(self.root, file)}"\n{text}')
        header = re.search(r" -include (\S+)", command)
        if header and (flags or file in self.includes(header.group(1))):  # the precompiled header has other flags, or the file as it was
            command = command.replace(header.group(0), "")
        if file != unit:
            command = command.replace(" -I", f" -I{overlay} -I", 1)
        output = os.path.join(self.work, f"{variant}{'-'.join(['', *flags[:1]])}.o")
        try:
            good, _ = self._compile(command, place if file == unit else os.path.join(self.root, unit), output, flags)
        finally:
            os.remove(place)
        return output if good else None

    # ---- linking

    def make(self, program):
        """Brings a test program up to date, with all that it is linked from."""
        if not self.makes or program in self._made:
            return
        done = subprocess.run(["ninja", "-C", self.folder, self.target(program)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              check=False)
        if done.returncode != 0:
            raise BuildError(done.stdout.decode(errors="replace")[-3000:])
        self._made.add(program)

    @staticmethod
    def target(program):
        return "tests/" + program

    def has_program(self, program):
        if self._targets is None:
            with open(os.path.join(self.folder, "build.ninja"), encoding="utf-8") as rules:
                self._targets = set(re.findall(r"^build (tests/\S+):", rules.read(), re.MULTILINE))
        return self.target(program) in self._targets

    def links(self, program, unit, variant):
        """Whether the program is linked from what the build makes of `unit`."""
        if program not in self._inputs:
            listed = subprocess.run(["ninja", "-C", self.folder, "-t", "inputs", self.target(program)], stdout=subprocess.PIPE, check=True)
            self._inputs[program] = set(listed.stdout.decode().splitlines())
        return self._entry(unit, variant)[0] in self._inputs[program]

    def link(self, program, changed, unit, variant, flags=()):
        """The test program with the object `changed`, compiled with `flags`, in place of what the libraries have of `unit`."""
        _, _, together = self._entry(unit, variant)
        objects = [changed] + [self.original(source, variant) for source in together if source != unit]
        if program not in self._links:
            said = subprocess.run(["ninja", "-C", self.folder, "-t", "commands", "-s", self.target(program)], stdout=subprocess.PIPE,
                                  check=True)
            self._links[program] = said.stdout.decode().strip().splitlines()[-1]
        output = os.path.join(self.work, "program")
        command, count = re.subn(r" -o \S+ ", f" -o {shlex.quote(output)} ", self._links[program], count=1)
        first = re.search(r" \S+\.o ", command)
        if count != 1 or not first:
            raise BuildError(f"no program is linked by: {command}")
        command = command[:first.start()] + " " + " ".join(map(shlex.quote, [*flags, *objects])) + command[first.start():]
        done = subprocess.run(command, shell=True, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0:
            raise LinkError(f"{program} does not link with {changed}:\n{done.stdout.decode(errors='replace')[-2000:]}")
        return output

    def same_code(self, changed, unit, variant):
        """Whether the object holds the same instructions and data as the unchanged source's: the compiler has shown the two equal."""
        return code_of(changed) == code_of(self.original(unit, variant))


def code_of(path):
    """A digest of all that an ELF object would load: the contents of its sections, and what they refer to by name."""
    with open(path, "rb") as file:
        data = file.read()
    start, count, names_at = struct.unpack_from("<Q", data, 0x28)[0], *struct.unpack_from("<HH", data, 0x3C)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, start + 64 * i) for i in range(count)]

    def text(table, at):
        begin = sections[table][4] + at
        return data[begin:data.index(b"\0", begin)].decode()

    def content(section):
        return b"" if section[1] == 8 else data[section[4]:section[4] + section[5]]  # 8: zeros that take no room

    names = [text(names_at, section[0]) for section in sections]
    found = []
    for i, section in enumerate(sections):
        if section[2] & 2:  # loaded
            found.append((names[i], section[5], hashlib.sha256(content(section)).hexdigest()))
        if section[1] == 4 and sections[section[7]][2] & 2:  # relocations of a section that is
            symbols, references = sections[section[6]], []
            for offset, info, addend in struct.iter_unpack("<QQq", content(section)):
                name, _, _, where, value, _ = struct.unpack_from("<IBBHQQ", data, symbols[4] + 24 * (info >> 32))
                shown = text(symbols[6], name) or (names[where], value)
                references.append((offset, info & 0xFFFFFFFF, addend, shown))
            found.append((names[i], len(references), hashlib.sha256(repr(references).encode()).hexdigest()))
    return sorted(found)
