#!/usr/bin/env python3
"""Tests of the mutation tool itself: tool_test.py [BUILD]. With a BUILD of the preset emulated, planted mutants are compiled and run, too."""
import itertools
import os
import sys
import tempfile
import unittest

import changes
import draw
import mutate
import programs
import report
import results
from build import Build
from run import Baseline
from source import Source, code_only

BUILD = sys.argv.pop() if len(sys.argv) > 1 and os.path.isdir(sys.argv[-1]) else None

EXAMPLE = """// a + b, and `c < d`
#define TWICE(x) (x + x)
namespace heddle::ops {
/* x * y */
double mean(const double* x, const double* y, int n) {
    check(n > 0, "n < 1: a + b");
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i] * y[i];
    __syncthreads();  // a - b
    return sum / n;
}
}  // namespace heddle::ops
"""


def mutated(text):
    """{kind: {the new lines}} of all changes of a text."""
    source = Source("example.cpp", text)
    found = {}
    for kind, some in changes.changes_of(source).items():
        for begin, end, new in some:
            line = source.line_of(begin)
            found.setdefault(kind, set()).add((text[:begin] + new + text[end:]).split("\n")[line - 1].strip())
    return found


class Source_(unittest.TestCase):
    def test_comments_texts_and_macros_are_blank(self):
        code = code_only(EXAMPLE)
        self.assertEqual(len(code), len(EXAMPLE))
        self.assertEqual(code.count("\n"), EXAMPLE.count("\n"))
        for gone in ("a + b", "c < d", "TWICE", "x * y", "a - b", "n < 1"):
            self.assertNotIn(gone, code)
        self.assertIn("sum += x[i] * y[i];", code)

    def test_only_the_op_is_changed(self):
        source = Source("example.cpp", EXAMPLE)
        lines = {source.line_of(begin) for some in changes.changes_of(source).values() for begin, _, _ in some}
        self.assertEqual(lines, {7, 8, 9, 10})

    def test_digit_separators_begin_no_character(self):
        self.assertEqual(code_only("a = 1'000 + 'x' + 2'000;"), "a = 1'000 +     + 2'000;")


class Changes(unittest.TestCase):
    def test_each_kind_gives_what_its_name_says(self):
        found = mutated(EXAMPLE)
        for kind, line in {
            "comparison": "for (int i = 0; i <= n; ++i) sum += x[i] * y[i];",
            "product": "for (int i = 0; i < n; ++i) sum += x[i] / y[i];",
            "assignment": "for (int i = 0; i < n; ++i) sum = x[i] * y[i];",
            "factor": "for (int i = 0; i < n; ++i) sum += (x[i] * y[i]) * 1.01f;",
            "index": "for (int i = 0; i < n; ++i) sum += x[i + 1] * y[i];",
            "factor dropped": "for (int i = 0; i < n; ++i) sum += x[i];",
            "barrier dropped": ";  // a - b",
            "name": "for (int i = 0; i < n; ++i) sum += y[i] * y[i];",
            "constant": "double sum = 1;",
        }.items():
            self.assertIn(line, found[kind])
        self.assertEqual(mutated("void f() {\n    g<4, true>();\n}\n")["flag"], {"g<4, false>();"})

    def test_a_percent_is_not_added_to_a_count(self):
        self.assertNotIn("factor", mutated("for (int k = rank() - 2; k >= 0; --k) n += k;"))
        self.assertEqual(mutated("const float y = a - 2;")["factor"], {"const float y = (a - 2) * 1.01f;"})

    def test_nodes_and_reductions(self):
        found = mutated("void f(int a) {\n    g.give(0, back(g.output(), g.saved(1)));\n"
                        "    if (!masked && a - 1 > 0) x = warp_sum(-y) + 2 * max(a, b);\n"
                        "    z = masked ? p : q;\n    h(first, second);\n}\n")
        self.assertIn("g.give(0, back(g.output(), g.saved(2)));", found["saved"])
        self.assertIn("g.give(0, back(g.saved(1), g.output()));", found["arguments"])
        self.assertIn("h(second, first);", found["arguments"])
        self.assertIn("if (!masked && a - 1 > 0) x = warp_max(-y) + 2 * max(a, b);", found["reduction"])
        self.assertIn("if (!masked && a - 1 > 0) x = warp_sum(y) + 2 * max(a, b);", found["minus dropped"])
        self.assertIn("if (!masked || a - 1 > 0) x = warp_sum(-y) + 2 * max(a, b);", found["logic"])
        self.assertIn("if (!masked && a - 1 > 0) x = warp_sum(-y);", found["term dropped"])
        self.assertIn("if (!(!masked && a - 1 > 0)) x = warp_sum(-y) + 2 * max(a, b);", found["condition"])
        self.assertIn("z = !(masked) ? p : q;", found["condition"])

    def test_a_refusal_is_left_alone(self):
        self.assertEqual(mutated('void f(int a) {\n    if (a + 1 < 2) fail("no");\n    check(a * 2 < 3, "no");\n}\n'), {})


class Drawing(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pool = draw.Pool(mutate.ROOT, includes_of_quotes, ["v2", "v3", "v4"])

    def test_the_same_seed_draws_the_same(self):
        first, again, other = (list(itertools.islice(draw.draw(self.pool, seed), 60)) for seed in (3, 3, 4))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)

    def test_every_part_has_its_share_and_a_mutant_is_one_line(self):
        drawn = list(itertools.islice(draw.draw(self.pool, 5), 300))
        self.assertEqual(len({one.key for one in drawn}), 300)
        for part, share in draw.SHARES.items():
            self.assertGreaterEqual(sum(one.part == part for one in drawn), 300 * share // 12 - 15)
        for one in drawn:
            with open(os.path.join(mutate.ROOT, one.file), encoding="utf-8") as file:
                before, after = file.read().split("\n"), one.text.split("\n")
            self.assertEqual(len(before), len(after))
            self.assertEqual([i + 1 for i, (a, b) in enumerate(zip(before, after)) if a != b], [one.line], one)
            self.assertNotEqual(one.old, one.new)
            self.assertFalse(one.old.startswith(("//", "#")), one)
            code = code_only("\n".join(before)).split("\n")[one.line - 1], code_only(one.text).split("\n")[one.line - 1]
            self.assertNotEqual(code[0].strip(), code[1].strip(), "a comment was changed")

    def test_a_kept_mutant_is_found_again(self):
        for one in itertools.islice(draw.draw(self.pool, 6), 40):
            self.assertEqual(self.pool.again(one.part, one.kind, one.file, one.unit, one.variant, one.old, one.new).new, one.new)
            self.assertIsNone(self.pool.again(one.part, one.kind, one.file, one.unit, one.variant, "gone", one.new))

    def test_every_op_is_drawn_from(self):
        kernels = os.path.join(mutate.ROOT, "kernels")
        folders = {name for name in os.listdir(kernels) if os.path.isdir(os.path.join(kernels, name))}
        self.assertEqual(set(self.pool.ops("cuda")), folders - {"emulator"})


class Programs(unittest.TestCase):
    def test_an_ops_own_tests_come_first(self):
        def first(unit, number=1):
            return [program for program, _ in programs.programs_for(mutate.ROOT, unit)[0]][:number]
        self.assertEqual(first("kernels/softmax/softmax.cu"), ["softmax_device_test"])
        self.assertEqual(first("kernels/log_softmax/log_softmax.cpp"), ["log_softmax_test"])
        self.assertEqual(first("kernels/slice/slice.cpp"), ["permute_slice_concat_test"])
        self.assertEqual(first("kernels/attention/attention_fast.cpp", 5),
                         ["attention_test", "attention_rows_test", "attention_cached_test", "attention_variant_test",
                          "attention_gradient_test"])
        self.assertEqual(first("autograd/ops/linear.cpp"), ["proofs_test"])
        self.assertEqual(first("autograd/tape_walk.cpp"), ["tape_test"])

    def test_kernels_are_watched_and_no_program_is_named_that_is_not_there(self):
        files = [name for _, _, some in os.walk(os.path.join(mutate.ROOT, "tests")) for name in some]
        there = {name[:-4] for name in files if name.endswith("_test.cpp")}
        for unit in ("kernels/softmax/softmax.cu", "kernels/adam/adam.cpp", "kernels/device/tickets.cu", "autograd/tape.cpp",
                     "autograd/ops/slice.cpp"):
            named = [program for tests in programs.programs_for(mutate.ROOT, unit) for program, _ in tests]
            self.assertLessEqual({os.path.basename(program) for program in named}, there)
            self.assertEqual(any(program.startswith("checked/") for program in named), unit.endswith(".cu"))


class Lists(unittest.TestCase):
    def test_an_entry_without_a_reason_is_refused(self):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write("file: a.cpp\nline: a + b;\nmutant: a - b;\n")
            file.flush()
            with self.assertRaisesRegex(ValueError, "without reason"):
                results.load_equivalent(file.name)

    def test_every_entry_is_of_a_line_that_is_there(self):
        self.assertEqual(results.unused_reasons(results.load_equivalent(), mutate.ROOT), [])

    def test_the_page_is_what_the_script_writes(self):
        with open(os.path.join(mutate.ROOT, "docs/measured/mutation.md"), encoding="utf-8") as file:
            self.assertEqual(file.read(), report.page(results.load_results()))

    def test_only_what_the_page_names_is_kept_in_full(self):
        def of(old, verdict):
            return {"file": "f", "line": 1, "variant": "plain", "old": old, "new": "n", "op": "o", "part": "tape", "kind": "sign",
                    "verdict": verdict, "by": "t: T.a", "seconds": 1.5, "commit": "c", "date": "2026-01-01"}
        known = results.Results()
        for old, verdict in (("a", "killed"), ("b", "survived"), ("c", "same code"), ("d", "survived"), ("e", "equivalent")):
            known.add(of(old, verdict), {})
        known.add(of("b", "killed"), {})  # run again, after a test was written
        self.assertEqual([record["old"] for record in known.named.values()], ["d"])
        self.assertTrue(all(("f", old, "n") in known for old in "abcde"))
        self.assertNotIn(("f", "g", "n"), known)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "results.jsonl")
            results.save_results(known, path)
            again = results.load_results(path)
        self.assertEqual(vars(again), vars(known))
        self.assertEqual(again.killed["o tape"], 2)
        self.assertIn("| o | 4 | 2 | 1 | 1 | 66.7 % |", report.page(known))


@unittest.skipUnless(BUILD, "no build is given")
class Planted(unittest.TestCase):
    """Changes of a small kernel that are compiled, linked and run."""

    FILE = "kernels/slice/slice.cu"

    @classmethod
    def setUpClass(cls):
        cls.work = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.work.cleanup)
        cls.build = Build(BUILD, cls.work.name, makes=False)
        cls.pool = draw.Pool(cls.build.root, cls.build.includes, ["v2"])

    def verdict(self, old, new):
        with open(os.path.join(self.build.root, self.FILE), encoding="utf-8") as file:
            text = file.read()
        self.assertEqual(text.count(old), 1, old)
        at = text.index(old)
        mutant = self.pool.changed("cuda", "planted", self.FILE, self.FILE, "plain", at, at + len(old), new)
        return mutate.Trial(self.build, Baseline(self.build), mutant).verdict()

    def test_a_wrong_sign_is_killed(self):
        verdict, by = self.verdict("load(values[j]) + load(more[j])", "load(values[j]) - load(more[j])")
        self.assertEqual(verdict, "killed")
        self.assertEqual(by, "every_op_device_test: Of/EveryOpDevice.FollowsItsReference/slice")

    def test_a_program_without_the_source_is_not_tried(self):
        self.assertFalse(self.build.links("graph_device_test", "autograd/ops/slice.cpp", "plain"))
        self.assertTrue(self.build.links("tape_test", "autograd/ops/slice.cpp", "plain"))

    def test_other_words_for_the_same_are_no_mutant(self):
        self.assertEqual(self.verdict("if (first >= n) return;", "if (!(first < n)) return;"), ("same code", ""))

    def test_what_does_not_compile_is_none(self):
        self.assertEqual(self.verdict("load_vector<N>(part + first)", "load_vector<N>(part + nowhere)"), ("does not compile", ""))


def includes_of_quotes(file):
    """The headers below kernels that a file names itself: what a build would find, without one."""
    with open(os.path.join(mutate.ROOT, file), encoding="utf-8") as text:
        return {line.split('"')[1] for line in text if line.startswith('#include "kernels/')}


if __name__ == "__main__":
    unittest.main()
