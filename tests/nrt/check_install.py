#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Installs into a scratch directory and builds clients from what landed there, in C and C++, with the
flags pkg-config gives. usage: check_install.py BUILD_DIR MESON HEADERS_C EXAMPLE_C SAMPLE"""

import os
import pathlib
import shlex
import subprocess
import sys
import tempfile


def run(*command, **kwargs):
    result = subprocess.run(command, capture_output=True, text=True, check=False, **kwargs)
    if result.returncode != 0:
        sys.exit(f"{shlex.join(command)}: exit {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def one(root, pattern):
    found = list(root.rglob(pattern))
    if len(found) != 1:
        sys.exit(f"{pattern}: installed {len(found)} times")
    return found[0]


def main():
    build, meson, headers_c, example_c, sample = sys.argv[1:]
    with tempfile.TemporaryDirectory(prefix="nrt_install_") as scratch:
        root = pathlib.Path(scratch)
        run(*shlex.split(meson), "install", "-C", build, "--no-rebuild", "--destdir", str(root))
        library = one(root, "libnrt.so.1")
        for name in ("libnrt.so", "libnrt.so.1"):
            link = library.with_name(name)
            if not link.is_symlink() or not link.resolve().name.startswith("libnrt.so.1."):
                sys.exit(f"{name} is not a link to the library")
        package = one(root, "nrt.pc")
        environment = dict(os.environ, PKG_CONFIG_PATH=str(package.parent),
                           PKG_CONFIG_SYSROOT_DIR=str(root), NEURON_RT_MOCK="always",
                           LD_LIBRARY_PATH=str(library.parent))
        flags = shlex.split(run("pkg-config", "--cflags", "nrt", env=environment))
        libs = shlex.split(run("pkg-config", "--libs", "nrt", env=environment))
        warnings = ["-Wall", "-Wextra", "-Werror", "-pedantic", "-Wno-overlength-strings"]
        for compiler, std, language in (("cc", "c11", "c"), ("cc", "c17", "c"),
                                        ("c++", "c++17", "c++"), ("c++", "c++20", "c++")):
            # Flexible array members are no part of ISO C++.
            extra = ["-Wno-pedantic"] if language == "c++" else []
            run(compiler, f"-std={std}", *warnings, *extra, *flags, "-x", language, "-c", headers_c,
                "-o", str(root / "headers.o"))
        client = root / "client"
        run("cc", "-std=gnu11", *warnings, *flags, example_c, *libs, "-o", str(client))
        lines = run(str(client), sample, env=environment).splitlines()
        if not any(line.startswith("input ") for line in lines):
            sys.exit(f"the client printed {lines}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
