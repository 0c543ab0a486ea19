# SPDX-License-Identifier: MIT
"""The claims of Bulk and of the paper on host-managed allocators."""

import statistics

from .claims import claim, figure, need, range_text, within_factor
from .figures import bytes_text, count_text, median, ratio_interval


def variants(results, item, first, second):
    """[(threads and readers, samples of first, samples of second)] of cases in which both ran."""
    one, other = (
        {row["key"]: row for row in results.rows(item, a, status="ok") if row["runs_ms"]}
        for a in (first, second)
    )
    found = [(row, row["runs_ms"], other[key]["runs_ms"]) for key, row in one.items() if key in other]
    return need(found, "both variants")


def unfinished(results, item, *variants_of_it):
    """The numbers of threads at which one of these variants has no complete run."""
    return sorted(
        {
            row["threads"]
            for variant in variants_of_it
            for row in results.rows(item, variant)
            if row["status"] != "ok" or not row["runs_ms"]
        }
    )


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


@claim(substituted=needs_semaphore)
def bulk_semaphore(results):
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


@claim(substituted=needs_semaphore)
def bulk_peak(results):
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


def exhausting(results, allocator, item="bulk-7", statuses=("ok", "incomplete")):
    """{payload: (requests per ms, share refused)}. The requests include refused ones."""
    found = {}
    for row in results.rows(item, allocator):
        if row.get("allocate_ms") and row["status"] in statuses:
            counts = row["allocations"]
            requested = counts["count"] + counts["refused"]
            found[row["payload_bytes"]] = (
                requested / median(row["allocate_ms"]),
                counts["refused"] / requested,
            )
    return need(found, "runs until the pool is exhausted")


def rates(results):
    """{payload: Bulk's rate over CUDA's}"""
    bulk, cuda = exhausting(results, "bulk"), exhausting(results, "cuda")
    both = {x: bulk[x][0] / cuda[x][0] for x in sorted(bulk.keys() & cuda.keys())}
    return need(both, "sizes measured with both")


@claim()
def bulk_average(results):
    values = rates(results).values()
    mean = statistics.fmean(values)
    return (
        within_factor(mean, 16.56),
        f"{figure(mean)} times ({range_text(values)})",
    )


SLOW_SIZES = (2048, 4096, 65536, 131072)


@claim()
def bulk_where(results):
    others = need({x: v for x, v in rates(results).items() if x not in SLOW_SIZES}, "other sizes")
    slow = [x for x, v in others.items() if v < 1]
    return not slow, (
        f"slower at {', '.join(map(bytes_text, slow))}, faster at {len(others) - len(slow)} other sizes"
        if slow
        else f"faster at all {len(others)} other sizes that were measured"
    )


@claim()
def bulk_slower(results):
    values = {x: v for x, v in rates(results).items() if x in SLOW_SIZES}
    need(len(values) == len(SLOW_SIZES), "all four sizes")
    return max(values.values()) < 1, ", ".join(
        f"{bytes_text(x)}: {figure(v)} times CUDA's rate" for x, v in values.items()
    )


@claim()
def bulk_moderate(results):
    served = exhausting(results, "bulk")
    need(512 in served and 1024 in served, "512 bytes and 1 KiB")
    half, one = served[512][1], served[1024][1]
    return (
        0.05 <= half <= 0.2 and 0.2 <= one <= 0.3,
        f"{100 * half:.1f}% of 512 bytes, {100 * one:.1f}% of 1 KiB",
    )


@claim()
def bulk_2k(results):
    served = exhausting(results, "bulk")
    need(2048 in served, "2 KiB")
    return 0.4 <= served[2048][1] <= 0.6, f"{100 * served[2048][1]:.1f}%"


@claim()
def bulk_large(results):
    large = {x: share for x, (_, share) in exhausting(results, "bulk").items() if x > 4096}
    worst = max(need(large, "more than 4 KiB"), key=large.get)
    bad = {}
    for row in results.rows("bulk-7", "bulk"):
        refused = row["allocations"]["refused"]
        requested = refused + row["allocations"]["count"]
        if row["payload_bytes"] in large and refused > max(1, 0.01 * requested):
            bad[row["payload_bytes"]] = f"{refused} of {requested}"
    return (
        not bad,
        "; ".join(f"{bytes_text(x)}: {v}" for x, v in bad.items())
        or f"at most {100 * large[worst]:.2f}% ({bytes_text(worst)})",
    )


@claim()
def bulk_failures(results):
    bulk, cuda = exhausting(results, "bulk"), exhausting(results, "cuda", "bulk-heap", ("ok",))
    shared = need([(bulk[x][1], cuda[x][1]) for x in bulk.keys() & cuda.keys()], "sizes of both")
    mine, theirs = (statistics.fmean(side) for side in zip(*shared))
    return (
        mine <= theirs / 2,
        f"{100 * mine:.1f}% against {100 * theirs:.1f}% over {len(shared)} sizes",
    )


# The results of host-managed allocators are from `heapwood host-bench`: passes over one trace.

def passes(results, item, allocator):
    rows = [row for row in results.rows(item, allocator) if row.get("passes")]
    return need(rows, f"{allocator} on the host")[0]


def calls(results, kind, quantile):
    """A quantile, in microseconds after the first pass, of segregated fit and of cudaMalloc."""
    return tuple(
        need(
            passes(results, "host-3", a).get("warm", {}).get(kind, {}).get(quantile),
            f"latency of {a}",
        )
        for a in ("segfit", "cudamalloc")
    )


@claim()
def host_latency(results):
    ours, theirs = calls(results, "both_us", "p50")
    return (
        theirs >= 50 * ours,
        f"{figure(ours)} against {figure(theirs)} us, {figure(theirs / ours)} times",
    )


@claim()
def host_outliers(results):
    windows = need(
        passes(results, "host-3", "segfit")["passes"][0].get("windows"), "times over the trace"
    )
    half = len(windows) // 2
    first, second = (max(w["max_us"] for w in part) for part in (windows[:half], windows[half:]))
    return second < first / 10, f"{figure(first / 1e3)} ms, then {figure(second / 1e3)} ms"


def in_use(results, allocator):
    ratio = passes(results, "host-4", allocator)["passes"][0].get("mapped_over_requested_mean")
    return 1 / need(ratio, f"memory mapped by {allocator}")


@claim()
def host_half(results):
    value = in_use(results, "segfit")
    return 0.4 <= value <= 0.6, f"{100 * value:.0f}% of the mapped bytes"


@claim()
def host_tlsf(results):
    tlsf, segfit = (in_use(results, a) for a in ("tlsf", "segfit"))
    return tlsf > segfit, f"{100 * tlsf:.0f}% of the mapped bytes against {100 * segfit:.0f}%"


@claim()
def host_latency_each(results):
    found = {}
    for call, kind in (("malloc", "allocate_us"), ("free", "free_us")):
        for quantile in ("p50", "p99"):
            ours, theirs = calls(results, kind, quantile)
            found[f"{call} {quantile}"] = theirs / ours
    return min(found.values()) >= 50, ", ".join(f"{k} {figure(v)} times" for k, v in found.items())


@claim()
def host_worst(results):
    windows = passes(results, "host-4", "segfit")["passes"][0].get("windows", [])
    unused = [
        1 - w["requested_bytes"] / w["mapped_bytes"]
        for w in windows[len(windows) // 10 :]
        if w.get("mapped_bytes")
    ]
    need(unused, "mapped memory over the trace")
    return max(unused) <= 0.75, f"{100 * min(unused):.0f} to {100 * max(unused):.0f}% unused"


@claim()
def host_minimum(results):
    found = {}
    for row in results.rows("host-minimum", "segfit"):
        latency = row.get("warm", {}).get("both_us", {}).get("p50")
        ratio = row["passes"][0].get("mapped_over_requested_mean") if row.get("passes") else None
        if latency and ratio:
            found[row["min_block_bytes"]] = latency, ratio
    best = need(found.get(4096), "min blocks of 4 KiB")
    text = "; ".join(
        f"{bytes_text(size)}: {figure(latency)} us, {figure(ratio)} times mapped"
        for size, (latency, ratio) in sorted(found.items())
    )
    lowest = [min(values) for values in zip(*found.values())]
    return all(low >= 0.95 * own for low, own in zip(lowest, best)), text
