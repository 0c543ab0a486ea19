#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs commands while one host allocation, or all from one on, fail: first all from each of the
last numbers on, when results are written, then at every number, in random order, as far as the time
allows. Each run must end with a result or with one error line and its
exit code, and leave a file that is whole.

    tests/faults/allocations.py HEAPWOOD [SECONDS_PER_COMMAND [SEED [K/N [COMMAND...]]]]

With K/N only every N-th point from the K-th on: N processes with the same seed try all. COMMANDs
are names from commands.py, all by default. The first allocations are left out: they precede main(),
and nothing can report them yet.
"""
import math
import os
import random
import subprocess
import sys
import time

from commands import COMMANDS, Place

BEFORE_MAIN = 100
LAST = 40


def allocations(command, environment):
    counting = {**environment, "FAIL_COUNT": "count"}
    subprocess.run(command, env=counting, check=True, capture_output=True)
    with open("count", encoding="ascii") as file:
        return int(file.read())


def main():
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60
    random.seed(sys.argv[3] if len(sys.argv) > 3 else None)
    part, parts = map(int, sys.argv[4].split("/")) if len(sys.argv) > 4 else (1, 1)
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fail_allocation.c")
    place = Place(sys.argv[1])
    library = os.path.join(place.folder.name, "fail.so")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    place.inputs |= {"fail.so", "count"}
    open("count", "w", encoding="ascii").close()
    environment = {**os.environ, "LD_PRELOAD": library}
    failures = 0
    for name in sys.argv[5:] or COMMANDS:
        command = place.prepare(name)
        total = allocations(command, environment)
        last = [(at, True) for at in range(max(total - LAST, BEFORE_MAIN), total + 1)]
        others = [(at, rest) for at in range(BEFORE_MAIN, total + 1) for rest in (False, True)
                  if (at, rest) not in last]
        random.shuffle(others)
        tried = 0
        for points, limit in (last, math.inf), (others, seconds):
            start = time.monotonic()
            for at, rest in points[part - 1::parts]:
                if time.monotonic() - start > limit:
                    break
                place.restore()
                failing = {**environment, "FAIL_AT": str(at), **({"FAIL_ALL": "1"} if rest else {})}
                what = place.problem(command, failing)
                tried += 1
                if what:
                    failures += 1
                    print(f"{name}: allocation {at}{' and later' if rest else ''}: {what}")
        if place.left_behind():
            failures += 1
            print(f"{name}: left behind: {place.left_behind()}")
        print(f"{name}: {tried} of {len(last) + len(others)} failures tried", flush=True)
    sys.exit(1 if failures else 0)


main()
