#!/usr/bin/env python3
"""Checks that #include lines between folders follow the declared arrows, and that addresses of variables come
from mem_ref_to_addr. Prints every violation; exits 1 when there is one."""
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
# Operand addresses come from lookup_memref_by_idx and mem_ref_to_addr, and from nowhere else: what
# places variables knows their fields, what translates and expands does not.
PLACES = {"mem_ref.h", "mem_ref.cc", "pointers.cc", "io.cc", "io_ref.cc", "dma_ring.h", "dma_ring.cc", "scratchpad.cc"}
TRANSLATES = {"translate.h", "translate.cc", "dma_expand.h", "dma_expand.cc", "vring.h", "vring.cc"}
field = re.compile(r"\b(physical_address|ptr_mem_addr|mem_offset)\b")
other = re.compile(r"\b(dmem_get_pa|tpb_base|hbm_base|aws_hal_stpb_get_axi_offset)\b")
for folder in ("tdrv", "kmgr", "nrt"):
    for path in sorted((root / folder).glob("*")):
        if path.suffix not in {".h", ".cc"} or (folder == "tdrv" and path.name in PLACES):
            continue
        for number, line in enumerate(path.read_text().splitlines(), 1):
            code = line.split("//")[0]
            if field.search(code) or (folder == "tdrv" and path.name in TRANSLATES and other.search(code)):
                bad.append(f"{path.relative_to(root)}:{number}: addresses of variables come from mem_ref_to_addr only")
print("\n".join(bad) or "arrows: ok")
sys.exit(1 if bad else 0)
