# SPDX-License-Identifier: MIT
"""The command line as functions. It runs as another process, so this one starts no CUDA."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from ._errors import DeviceError, Error, SceneError

# Exit codes of the command line (docs/architecture.md).
_USAGE, _SCENE, _DEVICE = 2, 3, 4


def program() -> Path:
    """The path of the program `heapwood` that the package contains."""
    path = Path(__file__).parent / "bin" / "heapwood"
    if not path.exists():
        raise Error(f"{path}: no such program: install the package again")
    return path


def _run(*arguments: str) -> Any:
    done = subprocess.run(
        [program(), *arguments], capture_output=True, text=True, errors="replace", check=False
    )
    if done.returncode == 0:
        return json.loads(done.stdout)
    lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
    message = lines[-1].removeprefix("heapwood: error: ")
    if done.returncode == _USAGE:
        raise ValueError(message)
    kind = {_SCENE: SceneError, _DEVICE: DeviceError}.get(done.returncode, Error)
    raise kind(message)


def allocators() -> list[dict[str, Any]]:
    """The allocators that this package was built with: `id`, `label`, `frees` and more of each."""
    found: list[dict[str, Any]] = _run("list", "allocators", "--json")["allocators"]
    return found


def devices() -> list[dict[str, Any]]:
    """The devices of this machine, and why one is unusable."""
    found: list[dict[str, Any]] = _run("list", "devices", "--json")["devices"]
    return found


def bench(
    scenes: str | Iterable[str], *, allocators: str | Iterable[str] = "all", **options: Any
) -> dict[str, Any]:
    """Measures builds of scenes with allocators, as `heapwood bench` does.

    scenes: names such as "atrium:10k", or paths of OBJ, PLY or glTF files.
    allocators: ids, or "all".
    options: those of the command line: `runs=3` is `--runs 3`, `keep_degenerate=True` is
    `--keep-degenerate`.

    Returns the report of docs/measuring.md, "JSON": `results` has an entry per scene and allocator
    with `runs_ms`, `median_ms`, `tree` and more.
    """
    names = [scenes] if isinstance(scenes, str) else list(scenes)
    chosen = allocators if isinstance(allocators, str) else ",".join(allocators)
    arguments = ["bench", *names, "--allocators", chosen, "--format", "json"]
    for name, value in options.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            arguments.append(option)
        elif value is not False and value is not None:
            arguments += [option, str(value)]
    report: dict[str, Any] = _run(*arguments)
    return report
