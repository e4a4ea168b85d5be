#!/usr/bin/env python3
"""Counts test cases in meson's JUnit report and prints the closing line.

With the corpus present, a test that was skipped for want of it fails the run (rulings.md 29).
"""
import os
import sys
import xml.etree.ElementTree as ET

passed = failed = skipped = 0
no_corpus = []
for case in ET.parse(sys.argv[1]).getroot().iter("testcase"):
    name = f"{case.get('classname', '')}.{case.get('name', '')}"
    skip = case.find("skipped")
    if case.find("failure") is not None or case.find("error") is not None:
        failed += 1
    elif skip is not None or case.get("result") == "skipped":
        skipped += 1
        text = " ".join(filter(None, [skip.get("message") if skip is not None else None,
                                      skip.text if skip is not None else None]))
        if "no corpus" in text:
            no_corpus.append(name)
        print(f"skipped: {name} {text.strip()}")
    else:
        passed += 1

corpus = os.environ.get("OPENNRT_CORPUS", "")
if no_corpus and os.path.isdir(corpus):
    print(f"corpus tests skipped although {corpus} exists: {', '.join(no_corpus)}")
    failed += len(no_corpus)
    skipped -= len(no_corpus)
print(f"{passed} passed, {failed} failed, {skipped} skipped")
sys.exit(1 if failed else 0)
