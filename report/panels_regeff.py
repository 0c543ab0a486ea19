# SPDX-License-Identifier: MIT
"""Panels of RegEff's tables 1, 2 and 5 and figures 4 and 5. The grades of table 5 are computed from
figures by the rules that are shown below the table."""

from .cells import allocator_table, cell, name_cell, Notes, number, outcome, table
from .claims import CFMMALLOC, CMALLOC, FDG, medians, need, NotMeasured, spread
from .claims_builds import slowdowns
from .claims_regeff import growth
from .claims_regeff import registers as registers_by_allocator
from .plots import PAYLOAD, axis, sampled_and_grid, valued_and_grid
from .results import blocks_shown
from .figures import bytes_text, figure, median


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
        [{**row, "allocator": str(row["page_bytes"])} for row in rows],
        names={str(size): f"pages of {bytes_text(size)}" for size in sizes},
    )


def fragmentation(item, which, kind, title, results):
    rows = results.rows(item, blocks=blocks_shown(results, item))

    def value(row):
        return row.get("memory", {}).get(which, {}).get(f"{kind}_fragmentation")

    y_axis = axis("fragmentation", log=False)
    return valued_and_grid(results, title, PAYLOAD, y_axis, rows, value)


# The paper's allocators. Of redesigned ones both forms: the published one and ours.
GRADED = (
    "cuda",
    "atomic",
    CMALLOC,
    "cmalloc",
    CFMMALLOC,
    "cfmmalloc",
    "scatter",
    FDG,
    "fdg",
    "halloc",
)


def fewest_registers(results, allocator):
    use = registers_by_allocator(results)
    return need(use.get(allocator), "registers") / min(use.values())


def blocks_growth(results, allocator):
    times = medians(results, "regeff-3d-quarter", allocator, "blocks")
    need(1 in times and 120 in times, "1 and 120 blocks")
    return times[120] / times[1]


def build_slowdown(results, allocator):
    return median(slowdowns(results, "regeff-t3", (allocator, "atomic")))


# Column, figure, function, max value of grade +, max value of grade 0.
RULES = (
    ("registers", "registers over the fewest of all", fewest_registers, 2.5, 4),
    (
        "variable requests",
        "slowest over fastest payload of figure 3(a)",
        lambda results, a: spread(results, "regeff-3a", a, "payload_bytes"),
        2,
        5,
    ),
    ("successive requests", "100 over 10 allocations of figure 3(c)", growth, 5, 15),
    ("scaling", "120 blocks over 1 of figure 3(d)", blocks_growth, 2, 8),
    ("speed", "median slowdown of table 3", build_slowdown, 1.5, 3),
)


def properties(results):
    results = results.with_blocks(120)
    lines, names = [], []
    for allocator in GRADED:
        if allocator not in results.labels():
            continue
        line = [name_cell(results, allocator)]
        for _, _, measure, good, average in RULES:
            try:
                value = measure(results, allocator)
                grade = "+" if value <= good else "0" if value <= average else "-"
                line.append(cell(f"{grade} ({figure(value)})", value))
            except NotMeasured:
                line.append(cell("not measured"))
        lines.append(line)
        names.append(allocator)
    rules = [
        f"{column}: {text}; + up to {good}, 0 up to {average}, - above."
        for column, text, _, good, average in RULES
    ]
    return [table("Properties by rule", ["", *(rule[0] for rule in RULES)], lines, rules, names)]
