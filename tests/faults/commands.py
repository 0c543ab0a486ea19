# SPDX-License-Identifier: MIT
"""Commands that read and write files, on tiny inputs, and what must hold after one of them was
disturbed. Used by the other scripts here."""
import json
import os
import signal
import subprocess
import tempfile

BUILD = ["m.obj", "--device", "cpu", "--threads", "2", "--pool", "1M"]
MEASURE = ["--allocators", "atomic", "--runs", "1", "--device", "cpu", "--json", "out"]
# Each writes the file `out`, or that of OUTPUTS.
COMMANDS = {
    "build": ["build", *BUILD, "--runs", "1", "--json", "out"],
    "record": ["build", *BUILD, "--record-trace", "out"],
    "bench": ["bench", *BUILD, "--runs", "1", "--allocators", "atomic", "--json", "out",
              "--resume"],
    "trace": ["trace", *BUILD, "--runs", "1", "--size", "16x16", "--json", "out"],
    "render": ["render", *BUILD, "--size", "16x16", "--spp", "1", "-o", "out.png"],
    "stress": ["stress", "ad", "--payload", "16", *MEASURE],
    "replay": ["replay", "m.trace", *MEASURE],
    "graph": ["graph", "uniform:200:4", "--batch", "100", "--rounds", "1", "--phase",
              "init,insert,triangles", "--threads", "2", *MEASURE],
    "strings": ["strings", "m.obj", "--threads", "2", "--pool", "1M", *MEASURE],
    "particles": ["particles", "--particles", "50", "--rounds", "5", "--threads", "2", "--pool",
                  "1M", *MEASURE],
    "animate": ["animate", "f#.obj", "--frames", "2", "--size", "16x16", "--pool", "1M",
                "--threads", "2", "--allocators", "atomic", "--device", "cpu", "--json", "out"],
    "host-bench": ["host-bench", "--steps", "5", "--passes", "1", "--device", "cpu",
                   "--json", "out"],
    "reproduce": ["reproduce", "regeff-t2", "--device", "cpu", "--threads", "2", "--allocators",
                  "atomic", "--out", "."],
    "merge": ["merge", "out", "1.json", "2.json"],
    "compare": ["compare", "1.json", "1.json", "--json", "out"],
}
OUTPUTS = {"render": "out.png", "reproduce": "results.json"}
# Codes of failures, of which each has one error line: docs/architecture.md.
FAILED = (1, 2, 3, 4, 5)


def mesh(triangles, wide):
    lines = []
    for i in range(triangles):
        x, y, z = i % 17, i * 7 % 13, i * 3 % 11
        lines += [f"v {x} {y} {z}", f"v {x + wide} {y} {z + 0.2}", f"v {x} {y + 0.8} {z + 0.1}"]
    lines += [f"f {3 * i + 1} {3 * i + 2} {3 * i + 3}" for i in range(triangles)]
    return "\n".join(lines) + "\n"


def is_whole(path):
    with open(path, "rb") as file:
        content = file.read()
    if content.startswith(b"\x89PNG"):
        return content.endswith(b"IEND\xaeB`\x82")
    if content.startswith(b"HWTRACE"):
        return True  # has a checksum; replay reads it
    try:
        return bool(json.loads(content))
    except ValueError:
        return False


class Place:
    """A temporary folder with the inputs of all commands; the current folder."""

    def __init__(self, binary):
        self.binary = os.path.abspath(binary)
        self.folder = tempfile.TemporaryDirectory()
        os.chdir(self.folder.name)
        for path, wide in ("m.obj", 0.9), ("f1.obj", 0.9), ("f2.obj", 0.8):
            with open(path, "w", encoding="ascii") as file:
                file.write(mesh(40, wide))
        self.run(["build", *BUILD, "--record-trace", "m.trace"])
        for shard in "12":
            self.run(["stress", "ad", "--payload", "16,32", "--allocators", "atomic", "--runs", "1",
                      "--device", "cpu", "--shard", f"{shard}/2", "--json", f"{shard}.json"])
        self.inputs = set(os.listdir("."))

    def run(self, arguments):
        return subprocess.run([self.binary, *arguments], check=True, capture_output=True)

    def prepare(self, name):
        """Runs a command undisturbed. Returns its command line, and its file as it should be."""
        self.out = None
        self.remove_others()
        self.run(COMMANDS[name])
        self.out = OUTPUTS.get(name, "out")
        with open(self.out, "rb") as file:
            self.good = file.read()
        return [self.binary, *COMMANDS[name]]

    def restore(self):
        with open(self.out, "wb") as file:
            file.write(self.good)

    def left_behind(self):
        return sorted(set(os.listdir(".")) - self.inputs - {self.out})

    def remove_others(self):
        for path in self.left_behind():
            os.remove(path)

    def problem(self, command, environment=None, timeout=60):
        """Runs a command. What is wrong with its outcome, or None."""
        # A session of its own: strace does not pass its end on to the program.
        run = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, start_new_session=True)
        try:
            output, errors = run.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(run.pid, signal.SIGKILL)
            run.communicate()
            return "does not end"
        return self.fault_of(run.returncode, errors, output)

    def fault_of(self, code, errors, output):
        lines = [line for line in errors.decode(errors="replace").splitlines()
                 if not line.startswith(("heapwood: note: ", "heapwood: warning: "))]
        if "error while loading shared libraries" in "".join(lines):
            return None  # before main()
        if code != 0 and (code not in FAILED or len(lines) != 1 or
                          not lines[0].startswith("heapwood: error: ")):
            return f"exit {code}: {lines}"
        if code == 0 and not output:
            return "exit 0 without output"
        if not os.path.exists(self.out):
            return "the file is gone"
        return None if is_whole(self.out) else "the file is damaged"
