# SPDX-License-Identifier: MIT
"""Panels of the host-managed allocators."""

from .cells import heading, number, table
from .plots import axis, curve_of, plot

MIB = 1 << 20
CALL = axis("call", log=False)


def measured(results, item):
    return [row for row in results.rows(item) if row.get("passes")]


def first_pass(name, row, key, unit=1):
    """A curve over the hundredths of the first pass."""
    windows = [w for w in row["passes"][0].get("windows", []) if w.get(key)]
    return curve_of(name, [(w["op"], w[key] / unit) for w in windows])


def latency(results):
    rows = measured(results, "host-3")
    columns = [
        f"{when}: {what}"
        for when in ("first pass", "later")
        for what in ("allocate, median", "99.9%", "free, median", "99.9%")
    ]
    lines = []
    for row in rows:
        lines.append([heading(row["label"])])
        for source in (row["passes"][0], row.get("warm", {})):
            for kind in ("allocate_us", "free_us"):
                lines[-1] += [number(source.get(kind, {}).get(key)) for key in ("p50", "p99_9")]
    return [
        *(
            plot(
                f"{what} in each hundredth of the first pass",
                CALL,
                axis("microseconds"),
                [first_pass(row["label"], row, key) for row in rows],
            )
            for what, key in (("Median latency", "median_us"), ("Slowest call", "max_us"))
        ),
        table("Latency, microseconds", ["", *columns], lines),
    ]


def memory(results):
    rows = measured(results, "host-4")
    curves = [first_pass(row["label"], row, "mapped_bytes", MIB) for row in rows]
    curves += [first_pass("requested", row, "requested_bytes", MIB) for row in rows[:1]]
    lines = []
    for row in rows:
        first = row["passes"][0]
        ratio = first.get("mapped_over_requested_mean")
        sizes = (first.get("peak_requested_bytes"), first.get("peak_mapped_bytes"))
        lines.append(
            [
                heading(row["label"]),
                *(number(size / MIB if size else None) for size in sizes),
                number(1 / ratio if ratio else None, 2),
                number(first.get("mappings")),
            ]
        )
    columns = ["max requested, MiB", "max mapped, MiB", "mean share of mapped in use", "mappings"]
    return [
        plot("Memory mapped over the first pass", CALL, axis("MiB", log=False), curves),
        table("Memory, first pass", ["", *columns], lines),
    ]
