# SPDX-License-Identifier: MIT
"""Measures the Python package on a GPU with arrays of PyTorch (docs/python.md, Speed).

    python python/bench/gpu.py [--scenes atrium:1m] [--size 4096] [--rounds 3] [--runs 5]
                               [--json gpu.json] [--only trace,frames]

trace   `cast_rays` beside `heapwood trace` with the same rays and tree: primary rays of a camera,
        and one diffuse ray per hit (render/ray_sets.hpp).
frames  `update` and `cast_rays` per frame: 250,000 triangles, 1 million rays.

Everything that is compared takes turns, `rounds` times. Times are wall-clock times of calls, which
return when their results are complete, with all arrays on the GPU. `heapwood trace` reports times
of its kernel alone; lines with `kernels` are times of a call's kernels, from PyTorch's profiler.
The JSON file has all samples.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from ray_sets import camera_rays, diffuse_rays

import heapwood as hw
from heapwood._cli import program

Samples = dict[str, list[float]]


def milliseconds(call: Callable[[], Any]) -> float:
    torch.cuda.synchronize()
    begin = time.perf_counter()
    call()
    return 1e3 * (time.perf_counter() - begin)


def kernel_milliseconds(call: Callable[[], Any]) -> float:
    """The time that a call's kernels take."""
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        call()
    return 1e-3 * sum(event.device_time_total for event in profile.key_averages()
                      if "heapwood" in event.key)


def take_turns(calls: dict[str, Callable[[], Any]], rounds: int, runs: int) -> Samples:
    """Times of each call, without a first one that warms up; in each round `runs` calls each."""
    samples: Samples = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(rounds):
        for name, call in calls.items():
            samples[name] += [milliseconds(call) for _ in range(runs)]
    return samples


class Report:
    """Collects samples, and prints a line for each."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []

    def add(self, part: str, scene: str, rays: str, count: int, samples: Samples) -> None:
        reference = statistics.median(next(iter(samples.values())))
        for name, values in samples.items():
            middle = statistics.median(values)
            self.entries.append(
                {"part": part, "scene": scene, "rays": rays, "count": count, "name": name,
                 "median_ms": middle, "samples_ms": values}
            )
            print(f"{part:7} {scene:16} {rays:18} {name:24} {middle:9.3f} ms"
                  f" {1e-3 * count / middle:8.0f} Mrays/s  {reference / middle:6.3f}"
                  f"  [{min(values):.3f} .. {max(values):.3f}]", flush=True)

    def note(self, text: str) -> None:
        self.entries.append({"note": text})
        print(text, flush=True)


def run_trace(scene: str, size: int, runs: int, camera: str | None = None) -> dict[str, Any]:
    """The report of `heapwood trace`."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "trace.json")
        command = [str(program()), "trace", scene, "--size", f"{size}x{size}", "--runs", str(runs),
                   "--json", str(file), "--device", "cuda:0"]
        if camera is not None:
            text, up = camera.split(" ")
            command += ["--camera", text, "--up", up]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        report: dict[str, Any] = json.loads(file.read_text())
    return report


class Subject:
    """A scene on the GPU."""

    def __init__(self, name: str) -> None:
        self.name = name
        vertices, triangles = hw.load_mesh(name)
        self.vertices = torch.from_numpy(vertices).cuda()
        self.triangles = torch.from_numpy(triangles.astype("int32")).cuda()
        self.scene = hw.Scene(self.vertices, self.triangles)


class Outputs:
    """Arrays for results, so that no call allocates."""

    def __init__(self, count: int) -> None:
        def array(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
            return torch.zeros(shape, dtype=dtype, device="cuda")

        t, ids = array(count), array(count, dtype=torch.int32)
        uvs, normals = array(count, 2), array(count, 3)
        # What `heapwood trace` writes.
        self.hits = hw.RayHits(t_hit=t, primitive_ids=ids, primitive_uvs=uvs)
        self.all = hw.RayHits(t, ids, uvs, normals)


def calls_of(subject: Subject, rays: torch.Tensor, out: Outputs) -> dict[str, Callable[[], Any]]:
    scene = subject.scene
    return {
        "out: t, ids, uvs": lambda: scene.cast_rays(rays, out=out.hits),
        "out: all": lambda: scene.cast_rays(rays, out=out.all),
        "new arrays": lambda: scene.cast_rays(rays),
    }


def measure_trace(report: Report, subject: Subject, size: int, rounds: int, runs: int) -> None:
    first = run_trace(subject.name, size, 1)
    camera = f"{first['camera']} {first['up']}"
    same_tree = int(first["tree"]["hash"], 16) == subject.scene.tree.hash
    primary = camera_rays(first["camera"], first["up"], size, size)
    hits = subject.scene.cast_rays(primary)
    diffuse = diffuse_rays(primary, hits, size, subject.scene.bounds)
    found = [int((hits.primitive_ids != -1).sum()),
             int((subject.scene.cast_rays(diffuse).primitive_ids != -1).sum())]
    report.note(f"        {subject.name}: the {'same' if same_tree else 'ANOTHER'} tree; "
                + "; ".join(f"{row['kind']}: {row['hits']} hits of {row['rays']} rays, here {here}"
                            f" of {count}" for row, here, count in
                            zip(first["results"], found, (len(primary), len(diffuse)))))
    rays = {"primary": primary, "diffuse": diffuse}
    calls = {kind: calls_of(subject, r, Outputs(len(r))) for kind, r in rays.items()}
    samples: dict[str, Samples] = {kind: {"heapwood trace": []} for kind in rays}
    for _ in range(rounds):
        trace = run_trace(subject.name, size, runs, camera)
        for row in trace["results"]:
            samples[row["kind"]]["heapwood trace"] += row["runs_ms"]
        for kind, of_kind in calls.items():
            for name, values in take_turns(of_kind, 1, runs).items():
                samples[kind].setdefault(name, []).extend(values)
            for name in ("out: t, ids, uvs", "out: all"):
                values = [kernel_milliseconds(of_kind[name]) for _ in range(runs)]
                samples[kind].setdefault(f"{name}, kernels", []).extend(values)
    for kind, of_kind in samples.items():
        report.add("trace", subject.name, kind, len(rays[kind]), of_kind)
    one = primary[:1].contiguous()
    report.add("trace", subject.name, "one ray", 1,
               take_turns(calls_of(subject, one, Outputs(1)), 1, 200))


def measure_frames(report: Report, name: str, frames: int) -> None:
    subject = Subject(name)
    size = 1024
    first = run_trace(name, size, 1)
    primary = camera_rays(first["camera"], first["up"], size, size)
    diffuse = diffuse_rays(primary, subject.scene.cast_rays(primary), size, subject.scene.bounds)
    centre, extent = subject.vertices.mean(0), subject.vertices.std()
    for kind, rays in (("primary", primary), ("diffuse", diffuse)):
        out = Outputs(len(rays))
        samples: Samples = {"update + cast": [], "update": [], "cast": []}
        for frame in range(frames + 3):
            # A wave runs through the mesh.
            phase = (subject.vertices - centre) / extent + 0.1 * frame
            moved = (subject.vertices + 0.01 * extent * torch.sin(phase)).float().contiguous()
            times = [milliseconds(lambda: subject.scene.update(moved)),
                     milliseconds(lambda: subject.scene.cast_rays(rays, out=out.all))]
            times.insert(0, sum(times))
            if frame >= 3:
                for values, value in zip(samples.values(), times):
                    values.append(value)
        report.add("frames", name, kind, len(rays), samples)
        report.note(f"        {name}: the last build took {subject.scene.tree.build_ms:.3f} ms of"
                    " the GPU")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenes", default="atrium:1m,statue:1m")
    parser.add_argument("--frame-scenes", default="atrium:250k,statue:250k")
    parser.add_argument("--size", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--frames", type=int, default=60)
    parser.add_argument("--only", default="trace,frames")
    parser.add_argument("--json", default="gpu.json")
    arguments = parser.parse_args()
    report, parts = Report(), arguments.only.split(",")
    report.note(f"{torch.cuda.get_device_name()}; PyTorch {torch.__version__}; columns: median,"
                " rate, speed over the first line of the group, range")
    try:
        for name in arguments.scenes.split(",") if "trace" in parts else []:
            measure_trace(report, Subject(name), arguments.size, arguments.rounds, arguments.runs)
            torch.cuda.empty_cache()
        for name in arguments.frame_scenes.split(",") if "frames" in parts else []:
            measure_frames(report, name, arguments.frames)
    finally:
        Path(arguments.json).write_text(json.dumps(report.entries))


if __name__ == "__main__":
    main()
