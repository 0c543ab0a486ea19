# SPDX-License-Identifier: MIT
"""RegEff's claims about the Probability test, with the probability that the paper states, 3/4, and
with the one that gives its counts, 1/4."""

import statistics

from .claims import LISTS, NotMeasured, claim, each_text, if_measured, label, medians, need

FIGURE_3D = ("RegEff", "section 7, figure 3(d)", "regeff-3d regeff-3d-quarter")


def with_both(judge):
    """One verdict of judge(item) -> (answer, evidence) with both probabilities: undecided if the
    probability decides."""
    answers = [(name, *judge(item)) for name, item in zip(("3/4", "1/4"), FIGURE_3D[2].split())]
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
    return tuple((row[of]["count"], row[of]["deallocations"]) for of in ("allocations", "expected"))


@claim(("RegEff", "section 6 and table 2", "regeff-t2"), needs="")
def p_counts(results):
    """The Probability test, with probability 3/4, makes 1450 allocations and 986 deallocations with
    120 blocks.
    Rule: with 3/4 both counts are within 5% of that; the counts with 1/4 stand beside them."""
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


@claim(FIGURE_3D)
def p_flat(results):
    """AtomicMalloc, AWMalloc, ScatterAlloc and Halloc take almost as long with 120 blocks as with
    one.
    Rule: the median with 120 blocks is at most twice that with one, for each of the four, with
    either probability."""

    def judge(item):
        found = {}
        for allocator in ("atomic", "awmalloc", "scatter", "halloc"):
            times = over_blocks(results, item, allocator)
            need(1 in times and 120 in times, "1 and 120 blocks")
            found[allocator] = times[120] / times[1]
        return max(found.values()) <= 2, each_text(results, found)

    return with_both(judge)


def is_linear(times):
    """Whether times over the blocks are close to a line, or to a constant."""
    points, values = list(times), list(times.values())
    return max(values) <= 1.5 * min(values) or statistics.correlation(points, values) >= 0.95


@claim(FIGURE_3D)
def p_linear(results):
    """All allocators scale nearly linearly in the Probability test.
    Rule: for each of the paper's allocators that was measured, the medians from 1 to 120 blocks are
    at most 1.5 apart or have a correlation with the blocks of at least 0.95, with either
    probability."""

    def judge(item):
        found = if_measured(
            lambda a: over_blocks(results, item, a),
            ("cuda", "atomic", "awmalloc", "scatter", "halloc", *LISTS),
        )
        need(found, "times over the blocks")
        need(all(len(times) >= 4 for times in found.values()), "four numbers of blocks")
        bent = [label(results, a) for a, times in found.items() if not is_linear(times)]
        return not bent, (
            f"not linear: {', '.join(bent)}" if bent else f"all {len(found)} that were measured"
        )

    return with_both(judge)
