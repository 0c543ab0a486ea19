# SPDX-License-Identifier: MIT
"""Errors of the command line are one line."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
RESULTS = "docs/results/h100-80gb-hbm3-7c20e56-reproduce.json.gz"


def test_a_missing_package_is_one_line():
    # -S: without site-packages, where packages are.
    run = subprocess.run(
        [sys.executable, "-S", "-m", "report", RESULTS, "-o", "/dev/null"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert run.stderr.startswith("report: error: needs ")
    assert run.stderr.endswith(": make report\n")
    assert run.stderr.count("\n") == 1
