# SPDX-License-Identifier: MIT
"""Panels of RegEff's tables 1 and 2 and figures 4 and 5."""

from .cells import Notes, allocator_table, number, outcome
from .plots import PAYLOAD, axis, sampled_and_grid, valued_and_grid
from .results import blocks_shown
from .text import bytes_text


def registers(results):
    calls, notes = ("malloc", "free", "both"), Notes()
    return [
        allocator_table(
            results,
            "Registers per thread",
            [*calls, *(f"{call}, coalesced" for call in calls)],
            results.rows("regeff-t1"),
            lambda row: [
                outcome(row, row.get(key, {}).get(call, {}).get("registers"), notes)
                for key in ("calls", "calls_coalesced")
                for call in calls
            ],
            notes=notes,
        )
    ]


def calls_of_p(results):
    def cells_of(row):
        pairs = [
            row[of][key] for key in ("count", "deallocations") for of in ("allocations", "expected")
        ]
        return [number(row.get("probability", 0.75), 2), *map(number, pairs)]

    return [
        allocator_table(
            results,
            "Calls of the Probability test, 120 blocks, 10 launches",
            ["probability", "allocations", "expected", "deallocations", "expected"],
            [row for row in results.rows("regeff-t2") if "allocations" in row],
            cells_of,
            [
                "Expected: by the paper's rule. The paper states 3/4; its counts, 1450 and 986, are those of 1/4."
            ],
        )
    ]


def pages(results):
    rows = results.rows("regeff-4", "scatter")
    sizes = sorted({row["page_bytes"] for row in rows})
    return sampled_and_grid(
        results,
        "Alloc Cycle Dealloc with ScatterAlloc",
        PAYLOAD,
        "payload_bytes",
        bytes_text,
        [{**row, "allocator": str(row["page_bytes"])} for row in rows],
        names={str(size): f"pages of {bytes_text(size)}" for size in sizes},
    )


def fragmentation(item, which, key, title):
    def panels(results):
        rows = results.rows(item, blocks=blocks_shown(results, item))

        def value(row):
            return row.get("memory", {}).get(which, {}).get(key)

        y_axis = axis("fragmentation", log=False)
        return valued_and_grid(
            results, title, PAYLOAD, y_axis, "payload_bytes", bytes_text, rows, value
        )

    return panels
