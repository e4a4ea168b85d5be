#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares rows.txt with the tests that exist and with the table in README.md.

  check_rows.py BINARY          fails when a row has no test, a test no row, or the table is old
  check_rows.py BINARY --write  writes the table
"""
import fnmatch
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
BEGIN, END = "<!-- rows -->\n", "<!-- /rows -->\n"
BACKENDS = ("mock", "kernel")


def tests_of(binary):
    """Suite.Name -> back ends it runs through (all of them for a test without parameters)."""
    found, suite = {}, ""
    listing = subprocess.run([binary, "--gtest_list_tests"], check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        name = line.split("#")[0].rstrip()
        if name.endswith(".") and not name.startswith(" "):
            suite = name
        elif name.startswith(" "):
            test, _, case = name.strip().partition("/")
            found.setdefault(suite + test, set()).update([case.split("_")[0]] if case else BACKENDS)
    return found


def rows_of(path):
    rows = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            fields = [field.strip() for field in line.split("|")]
            if len(fields) != 3 or not all(fields):
                sys.exit(f"{path.name}:{number}: three fields wanted: {line}")
            rows.append(fields)
    return rows


def problems_of(rows, tests):
    covered = set()
    for section, row, what in rows:
        if what.startswith("--"):
            continue
        for pattern in what.split():
            matches = fnmatch.filter(tests, pattern)
            covered.update(matches)
            if not matches:
                yield f"{section} '{row}': no test {pattern}"
    for test in sorted(set(tests) - covered):
        yield f"{test} belongs to no row"
    for test, backends in tests.items():
        for backend in set(BACKENDS) - backends:
            yield f"{test} does not run through the {backend} back end"


def table_of(rows):
    lines = ["| Sheet | Row | Tests |", "|---|---|---|"]
    for section, row, what in rows:
        tests = f"none: {what[2:].strip()}" if what.startswith("--") else ", ".join(f"`{t}`" for t in what.split())
        lines.append(f"| {section} | {row} | {tests} |")
    return "\n".join(lines) + "\n"


def main():
    tests, rows, readme = tests_of(sys.argv[1]), rows_of(HERE / "rows.txt"), HERE / "README.md"
    text = readme.read_text()
    head, rest = text.split(BEGIN)
    new = head + BEGIN + table_of(rows) + END + rest.split(END)[1]
    if "--write" in sys.argv[2:]:
        readme.write_text(new)
        text = new
    problems = list(problems_of(rows, tests))
    if text != new:
        problems.append("README.md: the table is older than rows.txt; run check_rows.py BINARY --write")
    print("\n".join(problems) or f"{len(tests)} tests, {len(rows)} rows, every row has its tests or a reason")
    return 1 if problems else 0


sys.exit(main())
