#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs commands while one host allocation, or all from one on, fail: at every number, in random
order, as far as the time allows. Each run must end with a result or with one error line and its
exit code, and leave a file that is whole.

    tests/faults/allocations.py HEAPWOOD [SECONDS_PER_COMMAND]

The first allocations are left out: they precede main(), and nothing can report them yet.
"""
import json
import os
import random
import subprocess
import sys
import tempfile
import time

BEFORE_MAIN = 100
BUILD = ["m.obj", "--device", "cpu", "--threads", "2", "--pool", "1M"]
COMMANDS = {
    "build": ["build", *BUILD, "--runs", "1", "--json", "out"],
    "bench": ["bench", *BUILD, "--runs", "1", "--allocators", "atomic", "--json", "out",
              "--resume"],
    "trace": ["trace", *BUILD, "--runs", "1", "--size", "16x16", "--json", "out"],
    "render": ["render", *BUILD, "--size", "16x16", "--spp", "1", "-o", "out"],
    "stress": ["stress", "ad", "--allocators", "atomic", "--payload", "16", "--runs", "1",
               "--device", "cpu", "--json", "out"],
    "host-bench": ["host-bench", "--steps", "5", "--passes", "1", "--device", "cpu",
                   "--json", "out"],
}


def mesh(triangles):
    lines = []
    for i in range(triangles):
        x, y, z = i % 17, i * 7 % 13, i * 3 % 11
        lines += [f"v {x} {y} {z}", f"v {x + 0.9} {y} {z + 0.2}", f"v {x} {y + 0.8} {z + 0.1}"]
    lines += [f"f {3 * i + 1} {3 * i + 2} {3 * i + 3}" for i in range(triangles)]
    return "\n".join(lines) + "\n"


def is_whole(path):
    with open(path, "rb") as file:
        content = file.read()
    if content.startswith(b"\x89PNG"):
        return content.endswith(b"IEND\xaeB`\x82")
    try:
        return bool(json.loads(content))
    except ValueError:
        return False


def allocations(command, environment):
    counting = {**environment, "FAIL_COUNT": "count"}
    subprocess.run(command, env=counting, check=True, capture_output=True)
    with open("count", encoding="ascii") as file:
        return int(file.read())


def problem(command, environment):
    """What is wrong with a run, or None."""
    try:
        run = subprocess.run(command, env=environment, capture_output=True, timeout=60, check=False)
    except subprocess.TimeoutExpired:
        return "does not end"
    errors = run.stderr.decode(errors="replace").splitlines()
    lines = [line for line in errors if not line.startswith("heapwood: note: ")]
    if run.returncode != 0 and (run.returncode not in (1, 2, 3, 4) or len(lines) != 1 or
                                not lines[0].startswith("heapwood: error: ")):
        return f"exit {run.returncode}: {lines}"
    return None if is_whole("out") else "the file is damaged"


def main():
    binary = os.path.abspath(sys.argv[1])
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "fail_allocation.c")
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", "fail.so", source], check=True)
        with open("m.obj", "w", encoding="ascii") as file:
            file.write(mesh(40))
        environment = {**os.environ, "LD_PRELOAD": os.path.join(folder, "fail.so")}
        for name, arguments in COMMANDS.items():
            command = [binary, *arguments]
            total = allocations(command, environment)
            with open("out", "rb") as file:
                good = file.read()
            points = [(at, rest) for at in range(BEFORE_MAIN, total + 1) for rest in (False, True)]
            random.shuffle(points)
            start, tried = time.monotonic(), 0
            for at, rest in points:
                if time.monotonic() - start > seconds:
                    break
                with open("out", "wb") as file:
                    file.write(good)
                failing = {**environment, "FAIL_AT": str(at), **({"FAIL_ALL": "1"} if rest else {})}
                what = problem(command, failing)
                tried += 1
                if what:
                    failures += 1
                    print(f"{name}: allocation {at}{' and later' if rest else ''}: {what}")
            left = sorted(set(os.listdir(".")) - {"out", "m.obj", "fail.so", "count"})
            if left:
                failures += 1
                print(f"{name}: left behind: {left}")
            print(f"{name}: {tried} of {len(points)} failures tried")
    sys.exit(1 if failures else 0)


main()
