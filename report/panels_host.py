# SPDX-License-Identifier: MIT
"""Panels of the host-managed allocators."""

from .cells import cell, number, table
from .plots import axis, curve, plot

MIB = 1 << 20
CALL = axis("call", log=False)


def measured(results, item):
    return [row for row in results.rows(item) if row.get("passes")]


def latency(results):
    rows = measured(results, "host-3")

    def curves(key):
        windows = [(row["label"], row["passes"][0].get("windows", [])) for row in rows]
        return [
            curve(label, [w["op"] for w in part], [w[key] for w in part]) for label, part in windows
        ]

    columns = [
        f"{when}: {what}"
        for when in ("first pass", "later")
        for what in ("allocate, median", "99.9%", "free, median", "99.9%")
    ]
    lines = []
    for row in rows:
        line = [cell(row["label"], heading=True)]
        for source in (row["passes"][0], row.get("warm", {})):
            for kind in ("allocate_us", "free_us"):
                line += [number(source.get(kind, {}).get(key)) for key in ("p50", "p99_9")]
        lines.append(line)
    return [
        plot(
            "Median latency in each hundredth of the first pass",
            CALL,
            axis("microseconds"),
            curves("median_us"),
        ),
        plot(
            "Slowest call in each hundredth of the first pass",
            CALL,
            axis("microseconds"),
            curves("max_us"),
        ),
        table("Latency, microseconds", ["", *columns], lines),
    ]


def memory(results):
    rows = measured(results, "host-4")
    curves = []
    for row in rows:
        windows = [w for w in row["passes"][0].get("windows", []) if w.get("mapped_bytes")]
        curves.append(
            curve(
                row["label"], [w["op"] for w in windows], [w["mapped_bytes"] / MIB for w in windows]
            )
        )
    windows = rows[0]["passes"][0].get("windows", []) if rows else []
    curves.append(
        curve(
            "requested", [w["op"] for w in windows], [w["requested_bytes"] / MIB for w in windows]
        )
    )
    lines = []
    for row in rows:
        first = row["passes"][0]
        ratio = first.get("mapped_over_requested_mean")
        values = (first.get("peak_requested_bytes"), first.get("peak_mapped_bytes"))
        lines.append(
            [
                cell(row["label"], heading=True),
                *(number(v / MIB if v else None) for v in values),
                number(1 / ratio if ratio else None, 2),
                number(first.get("mappings")),
            ]
        )
    columns = [
        "",
        "max requested, MiB",
        "max mapped, MiB",
        "mean share of mapped in use",
        "mappings",
    ]
    return [
        plot("Memory mapped over the first pass", CALL, axis("MiB", log=False), curves),
        table("Memory, first pass", columns, lines),
    ]
