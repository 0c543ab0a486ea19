# SPDX-License-Identifier: MIT
"""Bulk's claims."""

import statistics

from .claims import NotTestable, claim, figure, need
from .samples import median, ratio_interval
from .text import bytes_text, count_text


def variants(results, item, first, second):
    """[(parameters, samples of first, samples of second)] of cases in which both variants ran."""
    found = []
    for case in results.cases_of(item):
        runs = {
            row["allocator"]: row["runs_ms"]
            for row in case["results"]
            if row["status"] == "ok" and row["runs_ms"]
        }
        if first in runs and second in runs:
            found.append((case["about"], runs[first], runs[second]))
    return need(found, "both variants")


def unfinished(results, item, *variants_of_it):
    """The numbers of threads at which one of these variants has no complete run."""
    points = set()
    for case in results.cases_of(item):
        for row in case["results"]:
            if row["allocator"] in variants_of_it and (row["status"] != "ok" or not row["runs_ms"]):
                points.add(case["about"]["threads"])
    return sorted(points)


def unfinished_text(points):
    return f"not finished with {', '.join(map(count_text, points))} threads"


SEMAPHORE = "published"  # the bulk semaphore with three counts and compare-and-swap


def needs_semaphore(results):
    rows = [row for case in results.cases_of("bulk-5") for row in case["results"]]
    if any(row["allocator"] == SEMAPHORE for row in rows):
        return None
    return (
        "the bulk semaphore here changes by additions alone, and the published one was not measured"
    )


@claim(
    "bulk-semaphore",
    "Bulk",
    "section 5.1, figure 5",
    "bulk-5",
    "Bulk semaphores allow more allocations per second than counting semaphores",
    "with 1,000 threads or more, faster at all points that the 95% interval of the ratio decides, at least one;"
    " undecided if one of the two does not finish at a point",
    substituted=needs_semaphore,
)
def _(results):
    missing = [x for x in unfinished(results, "bulk-5", SEMAPHORE, "counting") if x >= 1000]
    intervals = [
        ratio_interval(bulk, counting)
        for about, counting, bulk in variants(results, "bulk-5", "counting", SEMAPHORE)
        if about["threads"] >= 1000
    ]
    decided = [i for i in intervals if i and not i[0] <= 1 <= i[1]]
    faster = sum(i[1] < 1 for i in decided)
    evidence = f"faster at {faster} of {len(decided)} decided numbers of threads"
    if faster < len(decided):
        return False, evidence
    if missing:
        return None, f"{evidence}; one or both {unfinished_text(missing)}"
    return (True if decided else None), evidence


@claim(
    "bulk-peak",
    "Bulk",
    "section 5.1, figure 5",
    "bulk-5",
    "The rate falls before the number of threads has peaked",
    "the max rate of units per second is at least 5% above the rate with the most threads; undecided if the semaphore"
    " does not finish there",
    substituted=needs_semaphore,
)
def _(results):
    missing = unfinished(results, "bulk-5", SEMAPHORE)
    rates = {
        about["threads"]: about["threads"] / median(bulk)
        for about, _, bulk in variants(results, "bulk-5", SEMAPHORE, SEMAPHORE)
    }
    if missing and missing[-1] > max(rates):
        return None, unfinished_text(missing)
    best, max_threads = max(rates, key=rates.get), max(rates)
    return (
        rates[best] >= 1.05 * rates[max_threads],
        f"{figure(rates[best] / 1e3)} M/s with {best} threads, {figure(rates[max_threads] / 1e3)} with {max_threads}",
    )


def delegation(results):
    return {
        (about["threads"], about["readers"]): median(plain) / median(delegated)
        for about, plain, delegated in variants(results, "bulk-6", "plain", "delegated")
    }


@claim(
    "rcu-best",
    "Bulk",
    "section 5.2, figure 6",
    "bulk-6",
    "Delegation makes RCU up to 14 times faster",
    "the largest ratio of the medians is within a factor of 2 of that",
)
def _(results):
    speed = delegation(results)
    best = max(speed, key=speed.get)
    return 7 <= speed[best] <= 28, f"{figure(speed[best])} times ({best[0]} threads, 1:{best[1]})"


@claim(
    "rcu-worst",
    "Bulk",
    "section 5.2, figure 6",
    "bulk-6",
    "Delegation is at worst 1.01% slower",
    "no ratio of the medians is below 0.95",
)
def _(results):
    speed = delegation(results)
    worst = min(speed, key=speed.get)
    return speed[worst] >= 0.95, f"{figure(speed[worst])} ({worst[0]} threads, 1:{worst[1]})"


@claim(
    "rcu-few",
    "Bulk",
    "section 5.2, figure 6",
    "bulk-6",
    "With few threads RCU takes the same time with and without delegation",
    "with at most 64 threads the median ratio is between 0.9 and 1.1",
)
def _(results):
    values = need(
        [v for (threads, _), v in delegation(results).items() if threads <= 64], "few threads"
    )
    return 0.9 <= median(values) <= 1.1, f"{figure(min(values))} to {figure(max(values))}"


def exhausting(results, allocator):
    """{payload: (requests per ms, share refused)}. The requests include refused ones."""
    found = {}
    for row in results.rows("bulk-7", allocator):
        if row.get("allocate_ms") and row["status"] in ("ok", "incomplete"):
            counts = row["allocations"]
            requested = counts["count"] + counts["refused"]
            found[row["payload_bytes"]] = (
                requested / median(row["allocate_ms"]),
                counts["refused"] / requested,
            )
    return need(found, "runs until the pool is exhausted")


def rates(results):
    bulk, cuda = exhausting(results, "bulk"), exhausting(results, "cuda")
    return need(
        {x: bulk[x][0] / cuda[x][0] for x in sorted(bulk.keys() & cuda.keys())},
        "sizes measured with both",
    )


@claim(
    "bulk-average",
    "Bulk",
    "section 5.3, figure 7",
    "bulk-7",
    "The allocation rate is 16.56 times that of CUDA's allocator on average",
    "the mean over the sizes of the ratio of rates, with refused requests as in the paper, is within a factor of 2"
    " of that",
)
def _(results):
    values = rates(results)
    mean = statistics.fmean(values.values())
    return (
        16.56 / 2 <= mean <= 16.56 * 2,
        f"{figure(mean)} ({figure(min(values.values()))} to {figure(max(values.values()))}; published 0.22 to 346)",
    )


SLOW_SIZES = (2048, 4096, 65536, 131072)


@claim(
    "bulk-where",
    "Bulk",
    "section 5.3, figure 7",
    "bulk-7",
    "It is faster than CUDA's allocator at all sizes but 2, 4, 64 and 128 KB",
    "its rate is higher at every other size that was measured",
)
def _(results):
    others = need({x: v for x, v in rates(results).items() if x not in SLOW_SIZES}, "other sizes")
    slow = [x for x, v in others.items() if v < 1]
    return not slow, (
        f"slower at {', '.join(map(bytes_text, slow))}, faster at {len(others) - len(slow)} other sizes"
        if slow
        else f"faster at all {len(others)} other sizes that were measured"
    )


@claim(
    "bulk-slower",
    "Bulk",
    "section 5.3, figure 7",
    "bulk-7",
    "CUDA's allocator is faster at 2, 4, 64 and 128 KB",
    "its rate is higher at all four sizes",
)
def _(results):
    values = {x: v for x, v in rates(results).items() if x in SLOW_SIZES}
    need(len(values) == len(SLOW_SIZES), "all four sizes")
    return all(v < 1 for v in values.values()), ", ".join(
        f"{bytes_text(x)}: {figure(v)} times CUDA's rate" for x, v in values.items()
    )


@claim(
    "bulk-buddy-rate",
    "Bulk",
    "section 5.3",
    "bulk-7",
    "The buddy system's rate is mostly constant, and grows for larger requests",
    "from 4 KiB on, no rate is below half of the rate of the size before, and the largest size has the highest rate"
    " within a factor of 2",
)
def _(results):
    served = {x: rate for x, (rate, _) in exhausting(results, "bulk").items() if x >= 4096}
    need(len(served) >= 4, "four sizes of 4 KiB or more")
    sizes = sorted(served)
    falls = [x for before, x in zip(sizes, sizes[1:]) if served[x] < 0.5 * served[before]]
    grows = served[sizes[-1]] >= 0.5 * max(served.values())
    return not falls and grows, ", ".join(
        f"{bytes_text(x)} {figure(served[x] / 1e3)} M/s" for x in sizes
    )


@claim(
    "bulk-moderate",
    "Bulk",
    "section 5.3",
    "bulk-7",
    "Moderate shares of the requests of 512 B and 1 KB fail: of 1 KB a quarter",
    "5 to 20% of those of 512 bytes, 20 to 30% of those of 1 KiB are refused",
    needs="",
)
def _(results):
    served = exhausting(results, "bulk")
    need(512 in served and 1024 in served, "512 bytes and 1 KiB")
    half, one = served[512][1], served[1024][1]
    return (
        0.05 <= half <= 0.2 and 0.2 <= one <= 0.3,
        f"{100 * half:.1f}% of 512 bytes, {100 * one:.1f}% of 1 KiB",
    )


@claim(
    "bulk-2k",
    "Bulk",
    "section 5.3, figure 7",
    "bulk-7",
    "Half of the requests of 2 KB fail",
    "40 to 60% of them are refused",
    needs="",
)
def _(results):
    served = exhausting(results, "bulk")
    need(2048 in served, "2 KiB")
    return 0.4 <= served[2048][1] <= 0.6, f"{100 * served[2048][1]:.1f}%"


@claim(
    "bulk-large",
    "Bulk",
    "section 5.3, figure 7",
    "bulk-7",
    "Requests larger than 4 KB never fail",
    "above 4 KiB at most one block's worth of the pool, or 1% of the requests, is refused",
    needs="full",
)
def _(results):
    large = {x: v for x, v in exhausting(results, "bulk").items() if x > 4096}
    worst = max(need(large, "more than 4 KiB"), key=lambda x: large[x][1])
    bad = {}
    for row in results.rows("bulk-7", "bulk"):
        refused, requested = (
            row["allocations"]["refused"],
            row["allocations"]["refused"] + row["allocations"]["count"],
        )
        if row["payload_bytes"] in large and refused > max(1, 0.01 * requested):
            bad[row["payload_bytes"]] = f"{refused} of {requested}"
    return (
        not bad,
        "; ".join(f"{bytes_text(x)}: {v}" for x, v in bad.items())
        or f"at most {100 * large[worst][1]:.2f}% ({bytes_text(worst)})",
    )


@claim(
    "bulk-failures",
    "Bulk",
    "section 5.3, figure 7",
    "bulk-7",
    "It refuses far fewer requests than CUDA's allocator",
    "over the sizes at which the device's heap is as large as the pool, the mean share of refused requests is at most"
    " half of that of CUDA's allocator",
)
def _(results):
    bulk, cuda = exhausting(results, "bulk"), exhausting(results, "cuda")
    shared = need(bulk.keys() & cuda.keys(), "sizes measured with both")
    shared &= {
        row["payload_bytes"]
        for row in results.rows("bulk-7", "cuda")
        if row.get("capacity_bytes", row["pool_bytes"]) == row["pool_bytes"]
    }
    if not shared:
        raise NotTestable("the device's heap has another size than the pool at every size")
    mine, theirs = (statistics.fmean(each[x][1] for x in shared) for each in (bulk, cuda))
    return (
        mine <= theirs / 2,
        f"{100 * mine:.1f}% against {100 * theirs:.1f}% over {len(shared)} sizes",
    )
