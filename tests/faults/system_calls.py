#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs commands while one system call fails with a plausible error (strace's fault injection): each
call of each kind with each error, alone or with all later ones, in random order, as far as the time
allows; the creation of a thread, too. Each run must end with a result or with one error line and
its exit code, and leave a file that is whole.

    tests/faults/system_calls.py HEAPWOOD [SECONDS_PER_COMMAND [SEED]]

Exit status 77: there is no strace, or it may not trace here. Calls before main() are left out.
"""
import collections
import random
import re
import shutil
import subprocess
import sys
import time

from commands import COMMANDS, Place

ERRORS = {
    "openat": ["EMFILE", "EACCES", "ENOSPC"],
    "read": ["EIO", "EINTR"],
    "pread64": ["EIO"],
    "write": ["ENOSPC", "EIO", "EINTR"],
    "pwrite64": ["ENOSPC"],
    "close": ["EIO"],
    "fsync": ["EIO", "ENOSPC"],
    "fdatasync": ["EIO"],
    "fcntl": ["ENOLCK"],
    "flock": ["ENOLCK"],
    "ftruncate": ["ENOSPC"],
    "fallocate": ["ENOSPC"],
    "fchmod": ["EPERM"],
    "fchown": ["EPERM"],
    "linkat": ["EACCES", "ENOSPC", "EEXIST", "ENOENT"],
    "rename": ["EACCES", "ENOSPC"],
    "renameat": ["EACCES"],
    "renameat2": ["EACCES", "EINVAL"],
    # Not brk: the kernel reports its failure without an error code, which strace cannot imitate.
    "unlink": ["EACCES"],
    "unlinkat": ["EACCES"],
    "mkdir": ["ENOSPC"],
    "newfstatat": ["EACCES"],
    "fstat": ["EIO"],
    "statx": ["EACCES"],
    "readlink": ["EACCES"],
    "getdents64": ["EIO"],
    "mmap": ["ENOMEM"],
    "mprotect": ["ENOMEM"],
    "madvise": ["EINVAL"],
    "clone": ["EAGAIN"],
    "clone3": ["EAGAIN"],
    "sched_getaffinity": ["EPERM"],
    "sysinfo": ["EPERM"],
    "uname": ["EPERM"],
}
CALL = re.compile(r"(\w+)\(")


def injected(command, log, *options):
    return ["strace", "-f", "-qq", "-o", log, *options, "--", *command]


def calls(command):
    """The number of calls of each kind before main() and in all."""
    subprocess.run(injected(command, "log", "-e", "trace=" + ",".join(f"?{c}" for c in ERRORS)),
                   check=True, capture_output=True)
    total, before = collections.Counter(), None
    with open("log", encoding="utf8", errors="replace") as file:
        for line in file:
            match = CALL.match(line.split(maxsplit=1)[1])
            if not match:
                continue
            # main() begins with a look at the standard streams.
            if before is None and match[1] == "fcntl":
                before = collections.Counter(total)
            total[match[1]] += 1
    return before, total


def main():
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60
    random.seed(sys.argv[3] if len(sys.argv) > 3 else None)
    if not shutil.which("strace") or subprocess.run(injected(["true"], "/dev/null"),
                                                    capture_output=True, check=False).returncode:
        print("no usable strace")
        sys.exit(77)
    place = Place(sys.argv[1])
    place.inputs.add("log")
    failures = 0
    for name in COMMANDS:
        command = place.prepare(name)
        before, total = calls(command)
        # If all writes failed, there could be no error line; interrupted calls are repeated.
        points = [(call, f"{at}{rest}", error) for call, count in total.items()
                  for at in range(before[call] + 1, count + 1) for error in ERRORS[call]
                  for rest in ("", "+")
                  if not rest or call != "write" and error != "EINTR"]
        random.shuffle(points)
        start, tried = time.monotonic(), 0
        for call, at, error in points:
            if time.monotonic() - start > seconds:
                break
            place.restore()
            what = place.problem(injected(command, "/dev/null", "-e", f"trace={call}", "-e",
                                          f"inject={call}:error={error}:when={at}"))
            tried += 1
            if what:
                failures += 1
                print(f"{name}: {call} number {at}, {error}: {what}")
            if place.left_behind() and call not in ("unlink", "unlinkat", "close"):
                failures += 1
                print(f"{name}: {call} number {at}, {error}: left behind: {place.left_behind()}")
                place.remove_others()
        print(f"{name}: {tried} of {len(points)} failures tried", flush=True)
    sys.exit(1 if failures else 0)


main()
