# SPDX-License-Identifier: MIT
"""RegEff's claims about the Probability test, with the probability that the paper states, 3/4, and
with the one that gives its counts, 1/4."""

import statistics

from .claims import LISTS, NotMeasured, claim, label, medians, need
from .text import figure

ITEMS = (("3/4", 0.75, "regeff-3d"), ("1/4", 0.25, "regeff-3d-quarter"))


def with_both(answers):
    """One verdict of (name, answer, evidence): undecided where the probability decides."""
    evidence = "; ".join(f"with {name}: {text}" for name, _, text in answers)
    decided = {answer for _, answer, _ in answers}
    return decided.pop() if len(decided) == 1 else None, evidence


def counts(results, probability):
    """(allocations, deallocations), counted and expected, of a complete run with 120 blocks."""
    rows = [
        row
        for row in results.rows("regeff-t2")
        if row.get("status") == "ok" and row.get("probability", 0.75) == probability
    ]
    row = need(rows, f"a complete run of P with probability {probability}")[0]
    made, expected = row["allocations"], row["expected"]
    return (
        (made["count"], made["deallocations"]),
        (expected["count"], expected["deallocations"]),
    )


@claim(
    "p-counts",
    "RegEff",
    "section 6 and table 2",
    "regeff-t2",
    "The Probability test, with probability 3/4, makes 1450 allocations and 986 deallocations with 120 blocks",
    "with 3/4 both counts are within 5% of that; the counts with 1/4 stand beside them",
    needs="",
)
def _(results):
    (count, frees), expected = counts(results, 0.75)
    text = f"3/4 makes {count} and {frees} (expected {expected[0]:.0f} and {expected[1]:.0f})"
    try:
        (few, few_frees), quarter = counts(results, 0.25)
        text += (
            f"; 1/4 makes {few} and {few_frees} (expected {quarter[0]:.1f} and {quarter[1]:.1f}), which"
            f" {'are' if near(few, few_frees) else 'are not'} the published counts within 5%"
        )
    except NotMeasured:
        pass
    return near(count, frees), text


def near(count, frees):
    return abs(count - 1450) <= 73 and abs(frees - 986) <= 49


def over_blocks(results, item, allocator):
    times = medians(results, item, allocator, "blocks")
    return need({blocks: ms for blocks, ms in times.items() if blocks <= 120}, allocator)


@claim(
    "p-flat",
    "RegEff",
    "section 7, figure 3(d)",
    "regeff-3d regeff-3d-quarter",
    "AtomicMalloc, AWMalloc, ScatterAlloc and Halloc take almost as long with 120 blocks as with one",
    "the median with 120 blocks is at most twice that with one, for each of the four, with either probability",
)
def _(results):
    answers = []
    for name, _, item in ITEMS:
        found = {}
        for allocator in ("atomic", "awmalloc", "scatter", "halloc"):
            times = over_blocks(results, item, allocator)
            need(1 in times and 120 in times, "1 and 120 blocks")
            found[allocator] = times[120] / times[1]
        text = ", ".join(f"{label(results, a)} {figure(v)}" for a, v in found.items())
        answers.append((name, max(found.values()) <= 2, text))
    return with_both(answers)


def is_linear(times):
    """Whether times over the blocks are close to a line, or to a constant."""
    points, values = list(times), list(times.values())
    return max(values) <= 1.5 * min(values) or statistics.correlation(points, values) >= 0.95


@claim(
    "p-linear",
    "RegEff",
    "section 7, figure 3(d)",
    "regeff-3d regeff-3d-quarter",
    "All allocators scale nearly linearly in the Probability test",
    "for each of the paper's allocators that was measured, the medians from 1 to 120 blocks are at most 1.5 apart or"
    " have a correlation with the blocks of at least 0.95, with either probability",
)
def _(results):
    answers = []
    for name, _, item in ITEMS:
        bent, judged = [], 0
        for allocator in ("cuda", "atomic", "awmalloc", "scatter", "halloc", *LISTS):
            try:
                times = over_blocks(results, item, allocator)
            except NotMeasured:
                continue
            need(len(times) >= 4, "four numbers of blocks")
            judged += 1
            if not is_linear(times):
                bent.append(label(results, allocator))
        need(judged, "times over the blocks")
        text = f"not linear: {', '.join(bent)}" if bent else f"all {judged} that were measured"
        answers.append((name, not bent, text))
    return with_both(answers)
