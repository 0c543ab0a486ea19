# SPDX-License-Identifier: MIT
"""RegEff table 5: grades computed from figures by the rules that are shown below the table."""

from .cells import cell, name_cell, table
from .claims import CFMMALLOC, CMALLOC, FDG, NotMeasured, medians, need, spread
from .claims_builds import slowdowns
from .claims_regeff import P120, growth, registers
from .samples import median
from .text import figure

# The paper's; those that are redesigned here beside their published forms.
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
    use = registers(results)
    return need(use.get(allocator), "registers") / min(use.values())


def blocks_growth(results, allocator):
    times = medians(results, "regeff-3d", allocator, "blocks")
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
        lambda results, a: spread(results, "regeff-3a", a, "payload_bytes", **P120),
        2,
        5,
    ),
    ("successive requests", "100 over 10 allocations of figure 3(c)", growth, 5, 15),
    ("scaling", "120 blocks over 1 of figure 3(d)", blocks_growth, 2, 8),
    ("speed", "median slowdown of table 3", build_slowdown, 1.5, 3),
)


def properties(results):
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
