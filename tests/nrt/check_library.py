#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks what libnrt.so.1 shows to the loader: exported names with their version nodes, SONAME, flags,
needed libraries. usage: check_library.py LIBRARY EXPORTS [--sanitized]"""

import re
import subprocess
import sys

# No third-party library but simdjson, of which Debian has no archive.
NEEDED = {"libsimdjson.so.14", "libstdc++.so.6", "libm.so.6", "libgcc_s.so.1", "libc.so.6",
          "ld-linux-x86-64.so.2"}
REQUIRED = {"libsimdjson.so.14", "libstdc++.so.6", "libc.so.6"}
NODES = {"NRT_2.0.0", "NRT_3.0.0"}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def main():
    library, exports_file = sys.argv[1:3]
    sanitized = "--sanitized" in sys.argv[3:]
    problems = []

    def expect(condition, text):
        if not condition:
            problems.append(text)

    with open(exports_file, encoding="ascii") as file:
        wanted = set(file.read().split())
    expect(len(wanted) == 147, f"{exports_file} lists {len(wanted)} names, not 147")

    exported, nodes = set(), set()
    for line in output("nm", "-D", "--defined-only", "--with-symbol-versions", library).splitlines():
        _, kind, name = line.split()
        if kind == "A":
            nodes.add(name.split("@")[0])
        else:
            expect(kind == "T", f"{name} is exported with type {kind}, not as a function")
            exported.add(name)
    expect(nodes == NODES, f"version nodes {sorted(nodes)}, want {sorted(NODES)}")
    for name in sorted(wanted - exported):
        problems.append(f"not exported: {name}")
    for name in sorted(exported - wanted):
        problems.append(f"exported by mistake: {name}")

    dynamic = output("readelf", "-d", "-W", library)
    soname = re.search(r"SONAME.*\[(.*)\]", dynamic)
    expect(soname and soname.group(1) == "libnrt.so.1", f"SONAME is {soname and soname.group(1)}")
    expect("NODELETE" in dynamic, "the library can be unloaded while its handlers are registered")
    expect("BIND_NOW" in dynamic or "NOW" in dynamic, "relocations are not resolved at load")
    needed = set(re.findall(r"NEEDED.*\[(.*)\]", dynamic))
    if sanitized:
        needed = {n for n in needed if not re.match(r"lib(asan|ubsan|tsan|lsan)", n)}
    expect(needed <= NEEDED, f"needs {sorted(needed - NEEDED)}")
    expect(REQUIRED <= needed, f"does not need {sorted(REQUIRED - needed)}; is it the right file?")

    # NRT_3.0.0 inherits from NRT_2.0.0, and the base node carries the SONAME.
    versions = output("readelf", "-V", "-W", library)
    expect(re.search(r"Flags: BASE.*Name: libnrt\.so\.1", versions), "no base version node")
    expect(re.search(r"Name: NRT_3\.0\.0\s+\S+: Parent 1: NRT_2\.0\.0", versions),
           "NRT_3.0.0 does not inherit from NRT_2.0.0")

    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
