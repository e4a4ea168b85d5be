#!/usr/bin/env python3
"""Compares two reports of `make bench`.

usage: compare.py [--tolerance PERCENT] OLD.json NEW.json

Prints every ratio that moved by more than the tolerance (10 % unless told; counts of instructions: none), every
missed target of NEW and every benchmark that only one of the two has. Exit status: 0 nothing got worse and all
targets are met; 1 a ratio got worse by more than the tolerance, a target is missed or a benchmark of OLD is gone;
2 the arguments or a file cannot be used.
"""
import json
import sys

TOLERANCE = 10.0


class Unusable(Exception):
    pass


def read_report(path):
    """Results by name."""
    try:
        with open(path, encoding="utf-8") as file:
            results = json.load(file)["results"]
        by_name = {result["name"]: result for result in results}
        for result in results:
            if not isinstance(result["ratio"], (int, float)) or result["better"] not in ("lower", "higher"):
                raise ValueError(f"{result['name']}: ratio or direction is missing")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise Unusable(f"{path}: not a report of make bench: {error}") from None
    return by_name


def percent_worse(old, new):
    """Positive when NEW is worse, in per cent of OLD."""
    if old["ratio"] == new["ratio"]:
        return 0.0
    if old["ratio"] == 0:
        return float("inf") if new["better"] == "lower" else float("-inf")
    change = (new["ratio"] - old["ratio"]) / abs(old["ratio"]) * 100
    return change if new["better"] == "lower" else -change


def compare(old, new, tolerance):
    """Lines to print, and whether something is worse."""
    lines, worse = [], False
    for name, result in new.items():
        if name not in old:
            lines.append(f"new        {name}: {result['ratio']:.4g}")
        else:
            change = percent_worse(old[name], result)
            # A count is exact: it moves only when the code does.
            allowed = 0.0 if result.get("unit") == "instr" else tolerance
            if abs(change) > allowed:
                verdict = "worse" if change > 0 else "better"
                worse = worse or change > 0
                lines.append(f"{verdict:<10} {name}: {old[name]['ratio']:.4g} -> {result['ratio']:.4g} "
                             f"({abs(change):.1f} %)")
        if result.get("met") is False:
            worse = True
            lines.append(f"missed     {name}: {result['ratio']:.4g}, target {result['bound']} {result['target']:g}")
    for name in old:
        if name not in new:
            worse = True
            lines.append(f"gone       {name}")
    return lines, worse


def main(arguments):
    tolerance = TOLERANCE
    try:
        if arguments[:1] == ["--tolerance"]:
            tolerance = float(arguments[1])
            arguments = arguments[2:]
        if len(arguments) != 2 or not tolerance >= 0:
            raise ValueError
    except (ValueError, IndexError):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    try:
        old, new = read_report(arguments[0]), read_report(arguments[1])
    except Unusable as error:
        print(f"compare: {error}", file=sys.stderr)
        return 2
    lines, worse = compare(old, new, tolerance)
    for line in lines:
        print(line)
    print(f"{len(new)} results, {'worse' if worse else 'nothing worse'} (tolerance {tolerance:g} %)")
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
