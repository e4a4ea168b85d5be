#!/usr/bin/env python3
"""Runs every benchmark, writes BUILD/bench.json and prints the table. Exits 1 when a target is missed, 2 when a
benchmark cannot run.

usage: run.py BUILD [NAME ...]     NAME: resolve, lookup, copy, dma, chunk, compute, small, large, corpus, million
                                   (all, in this order)
"""
import datetime
import json
import os
import pathlib
import platform
import re
import subprocess
import sys
import tempfile

RESOLVES = 20000
SIZES = (100, 1000, 10000, 100000, 1000000)
RESOLVE, LOOKUP = "mem_ref_to_addr*", "lookup_memref_by_idx*"


class Failed(Exception):
    pass


def command_lines(command):
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        raise Failed(f"{' '.join(map(str, command))} ends with status {done.returncode}")
    return done.stdout.splitlines()


def results_of(command):
    return [json.loads(line) for line in command_lines(command)]


def counted(program, kind, size, functions):
    """Instructions executed inside the functions, callees and returns included."""
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder) / "callgrind.out"
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", "--quiet",
                   "--instr-atstart=no"]  # the program starts it when its table stands
        command += [f"--toggle-collect={name}" for name in functions]
        command_lines(command + [str(program), kind, str(size), str(RESOLVES)])
        total = re.search(r"^(?:summary|totals): (\d+)", out.read_text(), re.MULTILINE)
    return int(total.group(1))


def resolve_counts(programs):
    program = programs / "bench_resolve_count"
    for functions, name, target in (((RESOLVE,), "resolve", 20), ((LOOKUP, RESOLVE), "lookup+resolve", 60)):
        for size in SIZES:
            for kind in ("hot", "scattered"):
                value = counted(program, kind, size, functions) / RESOLVES
                yield {"name": f"instructions per {name}, {kind}, {size} variables", "unit": "instr", "value": value,
                       "ratio": value, "bound": "<=", "target": target, "met": value <= target, "better": "lower"}


def million(programs):
    with tempfile.TemporaryDirectory(prefix="opennrt-bench-") as folder:
        return results_of([programs / "bench_load", "million", folder])


BENCHMARKS = {
    "resolve": resolve_counts,
    "lookup": lambda programs: results_of([programs / "bench_lookup"]),
    "copy": lambda programs: results_of([programs / "bench_copy"]),
    "dma": lambda programs: results_of([programs / "bench_dma"]),
    "chunk": lambda programs: results_of([programs / "bench_chunk"]),
    "compute": lambda programs: results_of([programs / "bench_compute"]),
    "small": lambda programs: results_of([programs / "bench_execute", "small"]),
    "large": lambda programs: results_of([programs / "bench_execute", "large"]),
    "corpus": lambda programs: results_of([programs / "bench_load", "corpus"]),
    "million": million,
}


def machine():
    model = platform.machine()
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.split(":", 1)[1].strip()
            break
    return f"{re.sub(r'[^a-z0-9]+', '-', model.lower()).strip('-')}-{os.cpu_count()}cpu"


def revision():
    done = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def table_row(result):
    baseline = f"{result['baseline']} {result['baseline_value']:.4g}" if "baseline" in result else ""
    target = f"{result['bound']} {result['target']:g}" if "bound" in result else ""
    verdict = "" if "met" not in result else "met" if result["met"] else "MISSED"
    return (f"{result['name']:<58} {result['value']:>9.4g} {result['unit']:<5} {baseline:<34} "
            f"{result['ratio']:>8.3f} {target:<8} {verdict}").rstrip()


def main(arguments):
    if not arguments or any(name not in BENCHMARKS for name in arguments[1:]):
        print(__doc__, file=sys.stderr)
        return 2
    build = pathlib.Path(arguments[0])
    os.environ["NEURON_RT_MOCK"] = "always"
    os.environ.setdefault("OPENNRT_CORPUS", str(pathlib.Path(__file__).resolve().parents[2] / "shared" / "neffs"))
    load_before = os.getloadavg()[0]
    results = []
    try:
        for name in arguments[1:] or BENCHMARKS:
            print(f"bench: {name} ...", file=sys.stderr, flush=True)
            results += BENCHMARKS[name](build / "meson" / "bench")
    except (Failed, OSError) as error:
        print(f"bench: {error}", file=sys.stderr)
        return 2
    report = {"machine": machine(), "date": datetime.date.today().isoformat(), "revision": revision(),
              "load_average": [round(load_before, 2), round(os.getloadavg()[0], 2)], "results": results}
    out = build / "bench.json"
    out.write_text(json.dumps(report, indent=1) + "\n")

    print(f"{'benchmark':<58} {'value':>9} {'unit':<5} {'baseline':<34} {'ratio':>8} {'target':<8}")
    for result in results:
        print(table_row(result))
    with_target = [result for result in results if "met" in result]
    missed = [result for result in with_target if not result["met"]]
    print(f"{report['machine']}, revision {report['revision']}, load average {report['load_average'][0]} to "
          f"{report['load_average'][1]}; {len(with_target)} targets, {len(missed)} missed; written to {out}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
