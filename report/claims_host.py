# SPDX-License-Identifier: MIT
"""The claims of the paper on host-managed allocators.

The results are from `heapwood host-bench`: passes over one trace."""

from .claims import always, claim, figure, need


def passes(results, item, allocator):
    rows = [row for row in results.rows(item, allocator) if row.get("passes")]
    return need(rows, f"{allocator} on the host")[0]


@claim(
    "host-latency",
    "Host-managed",
    "section IV, figure 3",
    "host-3",
    "After a warm-up segregated fit is two orders of magnitude faster than cudaMalloc and cudaFree",
    "the median time of a block's allocation and free, after the first pass, is at least 50 times below cudaMalloc's",
)
def _(results):
    ours, theirs = (
        need(
            passes(results, "host-3", a).get("warm", {}).get("both_us", {}).get("p50"),
            f"medians of {a}",
        )
        for a in ("segfit", "cudamalloc")
    )
    return (
        theirs >= 50 * ours,
        f"{figure(ours)} against {figure(theirs)} us, {figure(theirs / ours)} times",
    )


@claim(
    "host-outliers",
    "Host-managed",
    "section IV, figure 3",
    "host-3",
    "Outliers of up to 2 ms at the start disappear in the steady state",
    "the slowest call of segregated fit in the second half of the first pass takes less than a tenth of the slowest in"
    " the first half",
)
def _(results):
    windows = need(
        passes(results, "host-3", "segfit")["passes"][0].get("windows"), "times over the trace"
    )
    half = len(windows) // 2
    first, second = (max(w["max_us"] for w in part) for part in (windows[:half], windows[half:]))
    return second < first / 10, f"{figure(first / 1e3)} ms, then {figure(second / 1e3)} ms"


def in_use(results, allocator):
    ratio = passes(results, "host-4", allocator)["passes"][0].get("mapped_over_requested_mean")
    return 1 / need(ratio, f"memory mapped by {allocator}")


@claim(
    "host-half",
    "Host-managed",
    "section IV, figure 4",
    "host-4",
    "About half of the mapped memory is in use with segregated fit",
    "memory in use over memory mapped, of the means over the first pass without its first tenth, is between 0.4"
    " and 0.6",
    needs="full",
)
def _(results):
    value = in_use(results, "segfit")
    return 0.4 <= value <= 0.6, f"{value:.2f}"


@claim(
    "host-tlsf",
    "Host-managed",
    "section IV",
    "host-4",
    "TLSF fragments less than segregated fit",
    "more of the mapped memory is in use with TLSF, by the same figure",
    needs="full",
)
def _(results):
    tlsf, segfit = (in_use(results, a) for a in ("tlsf", "segfit"))
    return tlsf > segfit, f"{tlsf:.2f} against {segfit:.2f}"


@claim(
    "host-latency-each",
    "Host-managed",
    "section IV, figure 3",
    "host-3",
    "malloc and free are each two orders of magnitude faster, call by call",
    "after the first pass the median of single calls to malloc and of single calls to free is at least 50 times below"
    " cudaMalloc's and cudaFree's, and so are the 99% quantiles",
)
def _(results):
    ours, theirs = (
        need(passes(results, "host-3", a).get("warm"), f"calls of {a}")
        for a in ("segfit", "cudamalloc")
    )
    found = {}
    for call, key in (("malloc", "allocate_us"), ("free", "free_us")):
        for quantile in ("p50", "p99"):
            a, b = (side.get(key, {}).get(quantile) for side in (ours, theirs))
            need(a and b, f"{quantile} of {call}")
            found[f"{call} {quantile}"] = b / a
    return min(found.values()) >= 50, ", ".join(f"{k} {figure(v)} times" for k, v in found.items())


@claim(
    "host-worst",
    "Host-managed",
    "section III.A",
    "host-4",
    "In the worst case 75% of the mapped memory of segregated fit is unused",
    "at no point after the first tenth of the first pass are more than 75% of the mapped bytes not requested",
    needs="full",
)
def _(results):
    windows = passes(results, "host-4", "segfit")["passes"][0].get("windows", [])
    unused = [
        1 - w["requested_bytes"] / w["mapped_bytes"]
        for w in windows[len(windows) // 10 :]
        if w.get("mapped_bytes")
    ]
    need(unused, "mapped memory over the trace")
    return max(unused) <= 0.75, f"{100 * min(unused):.0f} to {100 * max(unused):.0f}%"


@claim(
    "host-metadata",
    "Host-managed",
    "section II.A",
    "host-4",
    "An entry of the hash table has six words, an overhead of 83% for blocks of one word (80% for lists in the blocks)",
    "six words over six and the block's one are 83%, within half a percent; nothing is measured",
    needs="",
)
def _(results):
    share = 6 / 7
    return abs(share - 0.83) <= 0.005, f"6 of 7 words are {100 * share:.1f}%; 83% are 5 of 6"


@claim(
    "host-minimum",
    "Host-managed",
    "section III.C",
    "host-4",
    "A min block of 4 KiB serves device memory best",
    "not judged: it is advice without a measurement",
    needs="",
    substituted=always("no segregated fit here has a min block of 4 KiB"),
)
def _(results):
    return None, ""
