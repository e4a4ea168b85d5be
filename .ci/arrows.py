#!/usr/bin/env python3
"""Checks that #include lines between folders follow the declared arrows. Prints every violation; exits 1
when there is one."""
import pathlib
import re
import sys

BELOW = {
    "base": set(),
    "uapi": set(),
    "isa": set(),
    "mock_dev": {"uapi", "isa", "base"},
    "hal": {"uapi", "isa", "mock_dev", "base"},
    "dmem": {"hal", "uapi", "base"},
    "neff": {"base"},
    "kelf": {"neff", "base"},
    "tdrv": {"kelf", "neff", "dmem", "hal", "isa", "base"},
    "kmgr": {"tdrv", "kelf", "neff", "dmem", "hal", "base"},
    "nrt": {"kmgr", "tdrv", "kelf", "neff", "dmem", "hal", "base"},
}
root = pathlib.Path(__file__).resolve().parent.parent
include = re.compile(r'^\s*#\s*include\s+[<"]([a-z_]+)/([^">]+)[">]')
bad = []
for folder, allowed in BELOW.items():
    for path in sorted((root / folder).glob("**/*")):
        if path.suffix not in {".h", ".cc", ".c"}:
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            match = include.match(line)
            if not match:
                continue
            target = match.group(1)
            # include/nrt is the public ABI; status codes are everyone's, the rest belongs to nrt/.
            if target == "nrt" and (match.group(2) == "nrt_status.h" or folder == "nrt"):
                continue
            if target in BELOW and target != folder and target not in allowed:
                bad.append(f"{path.relative_to(root)}:{number}: {folder}/ may not include {target}/{match.group(2)}")
print("\n".join(bad) or "arrows: ok")
sys.exit(1 if bad else 0)
