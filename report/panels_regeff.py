# SPDX-License-Identifier: MIT
"""Panels of RegEff's tables 1 and 2 and figures 4 and 5."""

from .cells import Notes, grid, name_cell, number, outcome, row_median, table
from .plots import PAYLOAD, TIME, axis, sampled, valued
from .results import blocks_shown
from .text import bytes_text


def registers(results):
    rows = [row for row in results.rows("regeff-t1")]
    notes, lines, names = Notes(), [], []
    for row in rows:
        line = [name_cell(results, row["allocator"])]
        for key in ("calls", "calls_coalesced"):
            line += [
                outcome(row, row.get(key, {}).get(call, {}).get("registers"), notes)
                for call in ("malloc", "free", "both")
            ]
        lines.append(line)
        names.append(row["allocator"])
    columns = [
        "",
        "malloc",
        "free",
        "both",
        "malloc, coalesced",
        "free, coalesced",
        "both, coalesced",
    ]
    return [
        table(
            "Registers per thread",
            columns,
            lines,
            [f"{i + 1}: {line}" for i, line in enumerate(notes.lines)],
            names,
        )
    ]


def calls_of_p(results):
    rows = [row for row in results.rows("regeff-t2") if "allocations" in row]
    columns = ["", "probability", "allocations", "expected", "deallocations", "expected"]
    lines = [
        [
            name_cell(results, row["allocator"]),
            number(row.get("probability", 0.75), 2),
            number(row["allocations"]["count"]),
            number(row["expected"]["count"]),
            number(row["allocations"]["deallocations"]),
            number(row["expected"]["deallocations"]),
        ]
        for row in rows
    ]
    return [
        table(
            "Calls of the Probability test, 120 blocks, 10 launches",
            columns,
            lines,
            [
                "Expected: by the paper's rule. The paper states 3/4; its counts, 1450 and 986, are those of 1/4."
            ],
            [row["allocator"] for row in rows],
        )
    ]


def pages(results):
    rows = results.rows("regeff-4", "scatter")
    names = {}
    for row in sorted(rows, key=lambda row: row["page_bytes"]):
        names[str(row["page_bytes"])] = f"pages of {bytes_text(row['page_bytes'])}"
    rows = [{**row, "allocator": str(row["page_bytes"])} for row in rows]
    title = "Alloc Cycle Dealloc with ScatterAlloc"
    return [
        sampled(results, title, PAYLOAD, TIME, rows, "payload_bytes", names=names),
        grid(results, title, "ms", rows, "payload_bytes", row_median, bytes_text, names),
    ]


def fragmentation(item, which, key, title):
    def panels(results):
        rows = [
            row for row in results.rows(item) if row.get("blocks") == blocks_shown(results, item)
        ]

        def value(row):
            return row.get("memory", {}).get(which, {}).get(key)

        return [
            valued(
                results,
                title,
                PAYLOAD,
                axis("fragmentation", log=False),
                rows,
                "payload_bytes",
                value,
            ),
            grid(results, title, "", rows, "payload_bytes", value, bytes_text),
        ]

    return panels
