#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs commands while one host allocation, or all from one on, fail: at every number, in random
order, as far as the time allows. Each run must end with a result or with one error line and its
exit code, and leave a file that is whole.

    tests/faults/allocations.py HEAPWOOD [SECONDS_PER_COMMAND [SEED]]

The first allocations are left out: they precede main(), and nothing can report them yet.
"""
import os
import random
import subprocess
import sys
import time

from commands import COMMANDS, Place

BEFORE_MAIN = 100


def allocations(command, environment):
    counting = {**environment, "FAIL_COUNT": "count"}
    subprocess.run(command, env=counting, check=True, capture_output=True)
    with open("count", encoding="ascii") as file:
        return int(file.read())


def main():
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60
    random.seed(sys.argv[3] if len(sys.argv) > 3 else None)
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fail_allocation.c")
    place = Place(sys.argv[1])
    library = os.path.join(place.folder.name, "fail.so")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    place.inputs |= {"fail.so", "count"}
    open("count", "w", encoding="ascii").close()
    environment = {**os.environ, "LD_PRELOAD": library}
    failures = 0
    for name in COMMANDS:
        command = place.prepare(name)
        total = allocations(command, environment)
        points = [(at, rest) for at in range(BEFORE_MAIN, total + 1) for rest in (False, True)]
        random.shuffle(points)
        start, tried = time.monotonic(), 0
        for at, rest in points:
            if time.monotonic() - start > seconds:
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
        print(f"{name}: {tried} of {len(points)} failures tried", flush=True)
    sys.exit(1 if failures else 0)


main()
