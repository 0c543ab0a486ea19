#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Ends commands by a signal at random points, and starts two writers of one file at once. Whatever
happens, the file is whole, with the old or the new content, nothing else remains in the folder, and
a command that was asked to end (SIGINT, SIGTERM, SIGHUP) says so with one error line. SIGKILL may
leave a temporary name, which the next writer removes.

    tests/faults/kills.py HEAPWOOD [POINTS_PER_COMMAND [SEED]]
"""
import random
import signal
import subprocess
import sys
import time

from commands import COMMANDS, Place, is_whole

SIGNALS = [signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP,
           signal.SIGPIPE, signal.SIGXFSZ, signal.SIGQUIT]
# These ask a command to end: it reports an error, or ends with its results. Before main() they end
# it immediately.
REQUESTS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def start(command):
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def kill(place, command, after, number):
    """What is wrong after a signal, or None."""
    place.restore()
    run = start(command)
    time.sleep(after)
    run.send_signal(number)
    try:
        output, errors = run.communicate(timeout=60)
    except subprocess.TimeoutExpired:
        run.kill()
        return "does not end"
    if run.returncode >= 0:
        return place.fault_of(run.returncode, errors, output)
    if run.returncode != -number:
        return f"ended by signal {-run.returncode}"
    if number in REQUESTS and after > 0.05 and errors:
        return f"ended by the signal, with {errors}"
    return None if is_whole(place.out) else "the file is damaged"


def two_writers(place, command):
    """What is wrong after two runs at once, or None."""
    place.restore()
    runs = [start(command) for _ in range(2)]
    codes = []
    for run in runs:
        output, errors = run.communicate(timeout=120)
        what = place.fault_of(run.returncode, errors, output)
        if what:
            return what
        codes.append(run.returncode)
    return None if 0 in codes else f"both failed: {codes}"


def main():
    points = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    random.seed(sys.argv[3] if len(sys.argv) > 3 else None)
    place = Place(sys.argv[1])
    failures = 0
    for name in COMMANDS:
        command = place.prepare(name)
        begin = time.monotonic()
        place.run(command[1:])
        duration = time.monotonic() - begin
        cases = [(f"signal {number.name} after {after * 1000:.1f} ms",
                  lambda after=after, number=number: kill(place, command, after, number))
                 for _ in range(points)
                 for after in [random.uniform(0, 1.1 * duration)]
                 for number in [random.choice(SIGNALS)]]
        cases += [("two writers", lambda: two_writers(place, command))] * (points // 8 + 1)
        for text, case in cases:
            what = case()
            if any(path.endswith(".tmp") for path in place.left_behind()):
                place.run(command[1:])
            left = place.left_behind()
            if what or left:
                failures += 1
                print(f"{name}: {text}: {what or ''} {left or ''}")
                place.remove_others()
        print(f"{name}: {len(cases)} cases", flush=True)
    sys.exit(1 if failures else 0)


main()
