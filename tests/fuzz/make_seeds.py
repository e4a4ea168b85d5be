#!/usr/bin/env python3
"""Writes seed inputs of the fuzz targets.

make_seeds.py NEFF_TOOL OUT --sample WRITE_SAMPLE: OUT/<target>/* from the test suite's sample and by hand. These are
committed. make_seeds.py NEFF_TOOL OUT NEFF...: from the members of these files instead; compiler output is not kept
in the repository, `make fuzz` reads it where it is.
"""
import gzip
import pathlib
import struct
import subprocess
import sys
import tempfile

STREAMS = ["PE.bin", "Activation.bin", "Pool.bin", "DVE.bin", "SP.bin"]
ENGINES = ["PE.json", "Activation.json", "Pool.json", "DVE.json", "SP.json"]
LIMIT = 96 << 10  # longer inputs slow the fuzzer down

tool, out = sys.argv[1], pathlib.Path(sys.argv[2])


def put(target, name, data):
    if len(data) > LIMIT:
        return
    path = out / target / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def put_members(tag, neff, scratch):
    directory = pathlib.Path(scratch) / tag
    subprocess.run([tool, "extract", str(neff), "-o", str(directory)], check=True, stdout=subprocess.DEVNULL)
    seen = set()
    for path in sorted(directory.rglob("*")):
        if not path.is_file() or (path.name, path.read_bytes()) in seen:
            continue
        seen.add((path.name, path.read_bytes()))
        data = path.read_bytes()
        if path.name == "neff.json":
            put("neff_json", f"{tag}", data)
        elif path.name.startswith("kelf-") and path.suffix == ".json":
            put("kelf_json", f"{tag}", data)
        elif path.name == "def.json":
            put("def_json", f"{tag}-{path.parent.name}", data)
        elif path.name in ENGINES:
            index = ENGINES.index(path.name)
            put("engine_json", f"{tag}-{path.parent.name}-{path.stem}", str(index).encode() + data)
        elif path.name in STREAMS:
            put("isa_text", f"{tag}-{path.parent.name}-{path.stem}",
                b"r%dn" % STREAMS.index(path.name) + data[:64 << 9])
        elif path.suffix == ".npy" and len(data) <= 4096:
            put("npy", f"{tag}-{path.stem}", data)


def containers():
    """The sample compressed and bare, and cut-down archives that the fuzzer can change with less effort."""
    with tempfile.TemporaryDirectory() as scratch:
        root = pathlib.Path(scratch)
        (root / "in" / "sg00").mkdir(parents=True)
        (root / "in" / "neff.json").write_bytes(b"{}")
        (root / "in" / "sg00" / "def.json").write_bytes(b'{"var": {}}')
        (root / "in" / "sg00" / ("n" * 120 + ".bin")).write_bytes(b"")
        for name, options in {"gzip": [], "bare": ["--no-compress"], "sha": ["--pkg-version", "1"]}.items():
            # Says that the model would be refused: the archive is what counts here.
            subprocess.run([tool, "pack", "--force", str(root / "in"), "-o", str(root / name), *options], check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            put("container", name, (root / name).read_bytes())
        # Two gzip members, and stored blocks whose checksums the fuzzer need not find.
        bare = (root / "bare").read_bytes()
        header, tar = bytearray((root / "gzip").read_bytes()[:1024]), bare[1024:]
        for name, payload in {"two": gzip.compress(tar[:700], mtime=0) + gzip.compress(tar[700:], mtime=0),
                              "stored": gzip.compress(tar, 0, mtime=0)}.items():
            header[16:24] = struct.pack("<Q", len(payload))
            put("container", name, bytes(header) + payload)


def programs():
    """Texts with most instructions, and one that is wrong."""
    neff = """.var x 1
.var "-t1 \\x22" 2
.table x var2
.engine pe
SET_ORDERING
LDWEIGHTS src=sbuf[p0, 0x7cfe] step(-1,0,-32) count(32,1,4) fp16, transpose=1, rows=128, columns=128, row_group=all, column_group=all, wait sem8>=16
MATMUL src=sbuf[p0, 0x7f00] step(1) count(64) fp16, dst=psum[p0, 0x0] step(1) count(64), rows=128, columns=128, flags=begin, row_group=all, column_group=all, +sem5
.engine act
ACT_TABLE_LOAD set=1
ACTIVATE src=psum[p0, 0x0] step(1) count(8) fp32, dst=sbuf[p0, 0x100] step(1) count(8) bf16, function=7, scale=0.5, bias=sbuf[p32, 0x50] fp32, channels=64, read sem4+=2
.engine pool
DMA_DIRECT2D src=table[0]=x+0x40 step(512) count(128) bytes(512) fp16, dst=sbuf[p0, 0x37c00] step(262144) count(128) bytes(512) fp16, semaphore=24, increment=16
DMA_DIRECT2D src=table[1]+r9 bytes(4) fp32, dst="-t1 \\x22"+0x8 bytes(4) fp32, src_bound=r61 skip
DMA_BOUND src_size=262144
MOVE dst=(r61), immediate=(0x3f800000), dtype=uint32
AFFINE_SELECT mask=-5 step(1) count(128), src=sbuf[p0, 0x58] step(1) count(8) fp32, dst=sbuf[p0, 0x6a] step(1) count(8) bf16, channels=128, compare=ne, fill_register=r61, channel_multiplier=-1
IOTA pattern=0 step(1) count(8), dst=sbuf[p0, 0x0] step(1) count(8) int32, channels=32, channel_multiplier=8
.engine dve
loop: TENSOR_TENSOR src0=sbuf[p0, 0x0] count(8) fp32, src1=sbuf[p0, 0x40] count(8) fp32, dst=psum[p0, 0x80] count(8) fp32, op=add, channels=128
TENSOR_SCALAR src=[r3] step(1) count(4) fp32, dst=sbuf[p0, 0x0] shape count(0) fp32, op0=multiply, op1=bypass, imm0=sbuf[p0, 0x10], imm1=-1.5, channels=1
TENSOR_REDUCE src=sbuf[p0, 0x0] count(8) fp32, dst=sbuf[p0, 0x40] fp32, channels=2, op=max, dimension=x
MEMSET dst=sbuf[p0, 0x0] count(8) fp32, count=8, channels=2, fill=0x3f800000
ALU_OP op=add, dtype=int32, src1_source=immediate, src0_low=r5, dst_low=r5, immediate=0x1
COMPARE_BRANCH compare=lt, dtype=int32, target=relative, immediate=0x8, reg0=r5, offset=loop
.engine sp
DMATRIGGER queue="qSPIO0", block=3, wait sem6>=1
PSEUDO_TENSOR_LOAD dtype=int32, kind=registers, count0=2, count1=1, step0=1, address=x+0x40, reg=(r10,r0)
EVENT_SEMAPHORE wait sem0>=r1, read -sem0, wait2 event3==1->0, update2 event2:=1
.record """ + "45" + "0" * 126 + "\n"
    image = """.form image
.engine sp
WRITE size0=4, address0=@0x800210081038, value0=0xfffe0001
SEM_RANGE_CLEAR mode=range, first=3, last=53
SEM_RANGE_CLEAR mode=mask, mask=(0x1,0x0,0x80000000)
TENSOR_LOAD dtype=uint32, kind=registers, count0=2, count1=1, step0=1, address=@0x1000, reg=(r62,r63)
TENSOR_STORE dtype=uint32, kind=immediates, count0=2, count1=1, step0=1, address=@0x802000000010, immediate=(0x1,0x0)
NOTIFY queue=4, type=6, extended_hint=2
DMAMEMCPY src=@0x1000 bytes(4) fp32, dst=table[0]+0x10 bytes(4) fp32
COMPARE_BRANCH compare=always, target=registers, target_reg0=r62, target_reg1=r63
"""
    for name, text in {"neff": neff, "image": image, "wrong": neff.replace("MEMSET", "FOO")}.items():
        put("isa_text", name, b"t" + text.encode())


def arrays():
    def npy(descr, shape, data, version=1):
        text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
        base = 10 if version == 1 else 12
        text += " " * (-(base + len(text) + 1) % 64) + "\n"
        length = struct.pack("<H" if version == 1 else "<I", len(text))
        return b"\x93NUMPY" + bytes([version, 0]) + length + text.encode() + data

    put("npy", "f4", npy("<f4", (2, 3), bytes(24)))
    put("npy", "u1", npy("|u1", (5,), b"abcde", 2))
    put("npy", "V2", npy("|V2", (), b"ab", 3))
    put("npy", "empty", npy("<i8", (0, 7), b""))
    put("npy", "fortran", npy("<i2", (1, 4), bytes(8)).replace(b"False", b"True "))


# Steps of ioctl.cc.
OPEN, CLOSE, DUP, READ, MAP, UNMAP, EXIT, ALLOC, COPY, REQUEST = range(10)
LIST = None  # request names in the order of NEURON_IOCTL_LIST


def request(name, words, pointers=(), fd=1, patches=()):
    """One request of process 1: raw words, then values of the target's own kinds at byte offsets."""
    raw = b"".join(struct.pack("<I", w) for w in words)[:63]
    text = bytes([REQUEST, 0, fd, LIST.index(name), len(raw)]) + raw + bytes([len(patches)])
    for kind, offset, wide in patches:
        text += bytes(kind) + bytes([offset // 4, 0 if wide else 1])
    return text + bytes(pointers) + b"\0"


def sequences():
    global LIST
    header = (pathlib.Path(__file__).parents[2] / "uapi/neuron_ioctl.h").read_text()
    block = header[header.index("#define NEURON_IOCTL_LIST"):header.index("#define NEURON_IOCTL_COUNT")]
    LIST = [line.split("X(")[1].split(")")[0] for line in block.splitlines()[1:] if "X(" in line]
    small = bytes([ALLOC, 0, 1, 0x15, 12, 8])
    handle = [0, 1]   # value(): the handle got first
    other = [0, 2]
    middle = [1, 1, 0]  # its address
    wide = lambda n: [7, *struct.pack("<Q", n)]
    put("ioctl", "alloc-copy", b"\1" + small + bytes([COPY, 0, 1, 7, 1, 63, 0, 0]))
    put("ioctl", "map", b"\1" + small + bytes([MAP, 0, 1, *middle, 5, 0, 16, 0, 0, 3, UNMAP, 0, 0, 1]))
    put("ioctl", "two-processes", b"\0" + bytes([OPEN, 0, 1]) + small + bytes([ALLOC, 1, 2, 0x15, 14, 8])
        + bytes([EXIT, 0, COPY, 1, 2, 7, 2, 10, 0, 0]))
    put("ioctl", "free", b"\1" + small + request("MEM_FREE", [], patches=[(handle, 0, True)]))
    put("ioctl", "copies", b"\1" + small + small
        + request("MEM_COPY64", [], patches=[(handle, 0, True), (other, 8, True), (wide(4096), 16, True)])
        + request("MEMSET64", [], patches=[(handle, 0, True), ([2, 9], 16, False), (wide(512), 24, True)])
        + request("MEM_COPY_ASYNC64", [], pointers=[0],
                  patches=[(handle, 0, True), (other, 8, True), (wide(64), 16, True), ([2, 1], 48, False)])
        + request("MEM_COPY_ASYNC_WAIT", [], patches=[(handle, 0, True), (other, 8, True), ([2, 1], 16, False)])
        + request("MEM_BUF_ZEROCOPY64", [], pointers=[11],
                  patches=[(handle, 0, True), (wide(64), 16, True), ([2, 1], 32, False)]))
    put("ioctl", "locks", b"\1" + bytes([OPEN, 0, 1])
        + b"".join(request(n, [0, 1, 2, 3, 4, 5, 6, 7])
                   for n in ["CRWL_WRITER_ENTER", "CRWL_WRITER_DOWNGRADE", "CRWL_READER_ENTER", "CRWL_READER_EXIT"])
        + request("CINIT_SET_STATE", [1, 2]) + request("CINIT_SET_STATE", [1, 3]))
    put("ioctl", "claims", b"\1" + bytes([OPEN, 48, 0]) + request("CRWL_NC_RANGE_MARK_EXT0", [4, 0, 7], fd=2)
        + request("CRWL_NC_RANGE_UNMARK_EXT0", [2, 0, 3], fd=2) + bytes([DUP, 0, 2, CLOSE, 2, CLOSE, 3]))
    put("ioctl", "lookups", b"\1" + small
        + request("MEM_MC_GET_INFO_V2", [], patches=[(middle, 0, True)])
        + request("MEM_GET_INFO", [], pointers=[11, 19], patches=[(handle, 0, True)])
        + request("MEM_GET_EXTENDED_INFO", [], patches=[(handle, 0, True)])
        + request("DUMP_MEM_CHUNKS", [0, 64], pointers=[11])
        + request("RESOURCE_MMAP_INFO", [1, 0, 1]) + request("ACQUIRE_NEURON_DS", [0, 0]))
    put("ioctl", "every", b"\1" + small + b"".join(request(n, [1, 0, 1, 0, 4096, 0], pointers=[11, 19])
                                                   for n in LIST[:60]))
    put("ioctl", "every2", b"\1" + small + b"".join(request(n, [1, 0, 1, 0, 4096, 0], pointers=[11, 19])
                                                    for n in LIST[60:]))


# Steps of dge.cc, and its kinds of addresses.
RECORD, REGISTER, TABLE, DESCRIPTOR, WRITE, HOLD, STEP, RING = range(8)
MEMORY, HOST, SBUF, PSUM, EVENTS, APB, RAW = 1, 2, 3, 4, 5, 6, 7


def at(kind, offset):
    return bytes([kind]) + struct.pack("<Q" if kind == RAW else "<I", offset)


def device(kind, offset):
    return bytes([0]) + at(kind, offset)


def entry(index, offset, register=False):
    return bytes([2 if register else 1, index]) + struct.pack("<I", offset)


def record(source, target, steps, rows, sizes, dtypes=(7, 7), bounds=(0, 0), poison=1, odd=0):
    """`rows`: of both sides; one dimension."""
    text = bytes([RECORD, poison]) + source + target
    text += struct.pack("<iHiH", steps[0], rows, steps[1], rows) + struct.pack("<iHiH", 0, 1, 0, 1)
    return text + struct.pack("<HH", *sizes) + bytes([*bounds, *dtypes, odd])


def descriptor(side, slot, length, address, flags=0x0D000000, engine=0, cast=None):
    where = bytes([DESCRIPTOR, engine + 8 * side, slot])
    kind = bytes([2]) if cast is None else bytes([1])
    return where + kind + struct.pack("<I", length | flags) + (bytes(cast) if cast else address)


def doorbell(side, count, engine=0):
    return bytes([WRITE, 0x80 + engine + 8 * side, 0]) + struct.pack("<I", count)


def transfers():
    lanes = 0x40000
    put("dge", "load", record(device(MEMORY, 0), device(SBUF, 0x4000), (128, lanes), 128, (128, 128)))
    put("dge", "store", record(device(PSUM, 0), device(HOST, 5), (0x8000, 100), 64, (64, 64)))
    put("dge", "cast", record(device(MEMORY, 0), device(SBUF, 0), (64, lanes), 16, (64, 32), (10, 7)))
    put("dge", "table", bytes([TABLE, 3]) + at(MEMORY, 256) + bytes([REGISTER, 9]) + struct.pack("<I", 900)
        + bytes([REGISTER, 33]) + struct.pack("<I", 901)
        + record(entry(3, 9, True), device(SBUF, 0), (30, 10), 4, (10, 10), bounds=(0x80 + 33, 0))
        + record(device(SBUF, 0), entry(3, 902), (10, 30), 4, (10, 10), bounds=(0, 0xC0 + 33)))
    put("dge", "semaphore", record(device(MEMORY, 0), device(EVENTS, 0x1800), (4, 8), 8, (4, 4)))
    put("dge", "gap", record(device(MEMORY, 0), device(SBUF, 0x2FFF0), (32, lanes), 4, (32, 32))
        + record(device(RAW, 1 << 52), device(MEMORY, 0), (-8, 8), 4, (8, 8)))
    both = bytes([RING, 0, 32, RING, 8, 32])
    pair = lambda slot, n: (descriptor(0, slot, n, at(MEMORY, 64 * slot))
                            + descriptor(1, slot, n, at(SBUF, 64 * slot), 0x01000000))
    rings = doorbell(1, 2) + doorbell(0, 2)
    put("dge", "ring", both + pair(0, 64) + pair(1, 33) + rings)
    put("dge", "held", bytes([HOLD, 4]) + both + pair(0, 64) + pair(1, 33) + rings + bytes([STEP, 0, 0] * 3)
        + bytes([HOLD, 0]))
    put("dge", "ring-cast", both + descriptor(0, 0, 0, b"", 0x05800000, cast=(2, 7))
        + descriptor(0, 1, 32, at(MEMORY, 0), 0x09000000) + descriptor(1, 0, 64, at(SBUF, 0), 0x01000000)
        + doorbell(1, 1) + doorbell(0, 2))
    put("dge", "bell", bytes([RING, 4, 32, RING, 12, 32]) + both + bytes([HOLD, 2])
        + descriptor(0, 0, 4, at(RAW, 0x2000000004)) + descriptor(1, 0, 4, at(APB, 0x2038), 0x01000000)
        + doorbell(1, 1) + doorbell(0, 1) + bytes([STEP, 0, 0] * 2))


with tempfile.TemporaryDirectory() as scratch:
    if sys.argv[3] != "--sample":
        for number, neff in enumerate(sys.argv[3:]):
            put_members(f"file{number}", neff, scratch)
    else:
        for tag, arguments in {"one": ["sunda", "1"], "two": ["cayman", "2"]}.items():
            made = pathlib.Path(scratch) / f"{tag}.neff"
            subprocess.run([sys.argv[4], str(made), *arguments], check=True)
            put_members(tag, made, scratch)
        containers()
        programs()
        arrays()
        sequences()
        transfers()
