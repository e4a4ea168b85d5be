#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs both examples on NEFFs and compares what they print with neff.json, read here with Python's own
tar, gzip and JSON. usage: check_examples.py C_EXAMPLE PY_EXAMPLE|- LIBRARY SAMPLE...

The corpus (OPENNRT_CORPUS) is added to the samples when it is there."""

import gzip
import io
import json
import math
import os
import pathlib
import subprocess
import sys
import tarfile

SIZES = {"uint64": 8, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "bfloat16": 2, "float16": 2,
         "int32": 4, "uint32": 4, "float32": 4, "int64": 8}


def graph_of(neff):
    payload = neff[1024:]
    if payload[:2] == b"\x1f\x8b":
        payload = gzip.decompress(payload)
    with tarfile.open(fileobj=io.BytesIO(payload)) as tar:
        return json.loads(tar.extractfile("neff.json").read())


def expected_lines(neff):
    """Inputs, then outputs, each sorted by name and once per name."""
    graph = graph_of(neff)
    nodes, rows = graph["nodes"], graph["node_row_ptr"]
    shapes, types = graph["attrs"]["shape"][1], graph["attrs"]["dltype"][1]
    usages = {"input": {}, "output": {}}
    for index in graph["arg_nodes"]:
        usages["input"].setdefault(nodes[index]["name"], rows[index])
    for node, output, _ in graph["heads"]:
        usages["output"].setdefault(nodes[node]["output_names"][output], rows[node] + output)
    lines = []
    for usage, tensors in usages.items():
        for name in sorted(tensors):
            shape, dtype = shapes[tensors[name]], types[tensors[name]]
            size = math.prod(shape) * SIZES.get(dtype, 1)
            known = dtype if dtype in SIZES else "unknown"
            lines.append(f"{usage} {name} {known} [{','.join(map(str, shape))}] {size}")
    return lines


def run(command, environment):
    result = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    return result.returncode, result.stdout.splitlines(), result.stderr


def lnc_of(neff):
    feature_bits = int.from_bytes(neff[544:552], "little")
    return int.from_bytes(neff[552:556], "little") if feature_bits & 0x400 else 1


def main():
    c_example, py_example, library, *samples = sys.argv[1:]
    commands = {"C": [c_example]}
    if py_example != "-":
        commands["Python"] = [sys.executable, py_example]
    corpus = pathlib.Path(os.environ.get("OPENNRT_CORPUS", ""))
    files = [pathlib.Path(s) for s in samples]
    real = sorted(corpus.glob("*.neff")) if corpus.is_dir() else []
    if not real:
        print("skipped: no corpus")
    environment = dict(os.environ, NEURON_RT_MOCK="always", LIBNRT=library)
    failures = 0
    for file in files + real:
        neff = file.read_bytes()
        environment["NEURON_LOGICAL_NC_CONFIG"] = str(lnc_of(neff))
        want = expected_lines(neff)
        for language, command in commands.items():
            code, lines, errors = run(command + [str(file)], environment)
            if code != 0 or lines != want or errors:
                failures += 1
                print(f"{language}, {file.name}: exit {code}\n got {lines}\nwant {want}\n{errors}")
            else:
                print(f"{language}, {file.name}: {len(lines)} tensors")
    # A file that is no NEFF is refused with one log line and the client's own.
    junk = pathlib.Path("junk.neff")
    junk.write_bytes(b"no neff" * 1000)
    for language, command in commands.items():
        code, lines, errors = run(command + [str(junk)], environment)
        if code != 1 or lines or errors.count("ERROR") != 1 or "nrt_load: status 2" not in errors:
            failures += 1
            print(f"{language}, junk: exit {code}, {lines}, {errors}")
    junk.unlink()
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
