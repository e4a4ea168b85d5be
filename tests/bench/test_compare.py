#!/usr/bin/env python3
"""Tests of compare.py, through its command line."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

COMPARE = pathlib.Path(__file__).resolve().parents[2] / "bench" / "compare.py"


def result(name, ratio, better="lower", **more):
    return {"name": name, "unit": "ns", "value": 1, "ratio": ratio, "better": better, **more}


class Compare(unittest.TestCase):
    def run_compare(self, old, new, *options):
        with tempfile.TemporaryDirectory() as folder:
            paths = []
            for name, report in (("old", old), ("new", new)):
                path = pathlib.Path(folder) / f"{name}.json"
                path.write_text(report if isinstance(report, str) else json.dumps({"results": report}))
                paths.append(str(path))
            done = subprocess.run([sys.executable, COMPARE, *options, *paths], capture_output=True, text=True,
                                  check=False)
        return done.returncode, done.stdout, done.stderr

    def test_same_reports_are_fine(self):
        report = [result("a", 1.5), result("b", 0.7, "higher")]
        status, out, _ = self.run_compare(report, report)
        self.assertEqual(status, 0)
        self.assertEqual(out, "2 results, nothing worse (tolerance 10 %)\n")

    def test_small_changes_are_not_reported(self):
        status, out, _ = self.run_compare([result("a", 1.0)], [result("a", 1.09)])
        self.assertEqual((status, out.count("\n")), (0, 1))

    def test_worse_when_lower_is_better(self):
        status, out, _ = self.run_compare([result("a", 1.0)], [result("a", 1.2)])
        self.assertEqual(status, 1)
        self.assertIn("worse      a: 1 -> 1.2 (20.0 %)", out)

    def test_worse_when_higher_is_better(self):
        status, out, _ = self.run_compare([result("a", 1.0, "higher")], [result("a", 0.8, "higher")])
        self.assertEqual(status, 1)
        self.assertIn("worse      a: 1 -> 0.8 (20.0 %)", out)

    def test_better_is_printed_and_fine(self):
        status, out, _ = self.run_compare([result("a", 1.0), result("b", 1.0, "higher")],
                                          [result("a", 0.5), result("b", 2.0, "higher")])
        self.assertEqual(status, 0)
        self.assertIn("better     a", out)
        self.assertIn("better     b", out)

    def test_tolerance_is_the_callers(self):
        old, new = [result("a", 1.0)], [result("a", 1.2)]
        self.assertEqual(self.run_compare(old, new, "--tolerance", "25")[0], 0)
        self.assertEqual(self.run_compare(old, new, "--tolerance", "5")[0], 1)

    def test_one_instruction_more_is_worse(self):
        old = [result("a", 19, unit="instr")]
        self.assertEqual(self.run_compare(old, [result("a", 19.01, unit="instr")])[0], 1)
        self.assertEqual(self.run_compare(old, old)[0], 0)

    def test_missed_target(self):
        report = [result("a", 9, bound="<=", target=8, met=False)]
        status, out, _ = self.run_compare(report, report)
        self.assertEqual(status, 1)
        self.assertIn("missed     a: 9, target <= 8", out)

    def test_gone_and_new(self):
        status, out, _ = self.run_compare([result("a", 1)], [result("b", 1)])
        self.assertEqual(status, 1)
        self.assertIn("gone       a", out)
        self.assertIn("new        b", out)
        self.assertEqual(self.run_compare([], [result("b", 1)])[0], 0)

    def test_unusable_input(self):
        good = [result("a", 1)]
        for bad in ("", "[]", "{}", '{"results": [{"name": "a"}]}', '{"results": [{"name": "a", "ratio": "x"}]}'):
            status, out, err = self.run_compare(good, bad)
            self.assertEqual((status, out), (2, ""), bad)
            self.assertEqual(err.count("\n"), 1)
            self.assertIn("new.json", err)
        self.assertEqual(self.run_compare(good, good, "--tolerance", "x")[0], 2)
        self.assertEqual(self.run_compare(good, good, "--tolerance", "-1")[0], 2)


if __name__ == "__main__":
    unittest.main()
