#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs examples/run_model on matmul_small.neff and compares its output with a product worked out here.
usage: check_run_example.py EXAMPLE"""

import os
import pathlib
import struct
import subprocess
import sys
import tempfile


def main():
    example = pathlib.Path(sys.argv[1]).resolve()
    neff = pathlib.Path(os.environ.get("OPENNRT_CORPUS", "")).resolve() / "matmul_small.neff"
    if not neff.is_file():
        print("skipped: no corpus")
        return 77
    rows, depth, columns = 128, 256, 128
    x = [(i * 7 + i // depth) % 9 - 4 for i in range(rows * depth)]
    y = [(i * 5 + i // columns * 3) % 7 - 3 for i in range(depth * columns)]
    environment = dict(os.environ, NEURON_RT_MOCK="always")
    with tempfile.TemporaryDirectory() as folder:
        for name, values in (("x", x), ("y", y)):
            data = struct.pack(f"<{len(values)}e", *values)
            (pathlib.Path(folder) / f"{name}.bin").write_bytes(data)
        done = subprocess.run([example, neff, "x=x.bin", "y=y.bin"], cwd=folder, env=environment,
                              capture_output=True, text=True, check=False)
        if done.returncode != 0 or done.stdout != "output0.out: 32768 bytes\n":
            print(done)
            return 1
        out = struct.unpack(f"<{rows * columns}e",
                            (pathlib.Path(folder) / "output0.out").read_bytes())
        refused = subprocess.run([example, neff, f"x={neff}"], cwd=folder, env=environment,
                                 capture_output=True, text=True, check=False)
        if refused.returncode != 1 or "input x takes 65536" not in refused.stderr:
            print(refused)
            return 1
    by_column = [y[c::columns] for c in range(columns)]
    wrong = 0
    for r in range(rows):
        line = x[r * depth:(r + 1) * depth]
        for c in range(columns):
            exact = sum(a * b for a, b in zip(line, by_column[c]))
            nearest = struct.unpack("<e", struct.pack("<e", exact))[0]
            wrong += out[r * columns + c] != nearest
    print(f"{wrong} of {rows * columns} elements wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
