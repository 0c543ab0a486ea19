# SPDX-License-Identifier: MIT
"""The claims of the paper on host-managed allocators.

The results are from `heapwood host-bench`: passes over one trace."""

from .claims import claim, figure, need, not_judged

LATENCY = ("Host-managed", "section IV, figure 3", "host-3")


def source(where):
    return ("Host-managed", where, "host-4")


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


@claim(LATENCY)
def host_latency(results):
    """After a warm-up segregated fit is two orders of magnitude faster than cudaMalloc and
    cudaFree.
    Rule: the median time of a block's allocation and free, after the first pass, is at least 50
    times below cudaMalloc's."""
    ours, theirs = calls(results, "both_us", "p50")
    return (
        theirs >= 50 * ours,
        f"{figure(ours)} against {figure(theirs)} us, {figure(theirs / ours)} times",
    )


@claim(LATENCY)
def host_outliers(results):
    """Outliers of up to 2 ms at the start disappear in the steady state.
    Rule: the slowest call of segregated fit in the second half of the first pass takes less than a
    tenth of the slowest in the first half."""
    windows = need(
        passes(results, "host-3", "segfit")["passes"][0].get("windows"), "times over the trace"
    )
    half = len(windows) // 2
    first, second = (max(w["max_us"] for w in part) for part in (windows[:half], windows[half:]))
    return second < first / 10, f"{figure(first / 1e3)} ms, then {figure(second / 1e3)} ms"


def in_use(results, allocator):
    ratio = passes(results, "host-4", allocator)["passes"][0].get("mapped_over_requested_mean")
    return 1 / need(ratio, f"memory mapped by {allocator}")


@claim(source("section IV, figure 4"), needs="full")
def host_half(results):
    """About half of the mapped memory is in use with segregated fit.
    Rule: memory in use over memory mapped, of the means over the first pass without its first
    tenth, is between 0.4 and 0.6."""
    value = in_use(results, "segfit")
    return 0.4 <= value <= 0.6, f"{value:.2f}"


@claim(source("section IV"), needs="full")
def host_tlsf(results):
    """TLSF fragments less than segregated fit.
    Rule: more of the mapped memory is in use with TLSF, by the same figure."""
    tlsf, segfit = (in_use(results, a) for a in ("tlsf", "segfit"))
    return tlsf > segfit, f"{tlsf:.2f} against {segfit:.2f}"


@claim(LATENCY)
def host_latency_each(results):
    """malloc and free are each two orders of magnitude faster, call by call.
    Rule: after the first pass the median of single calls to malloc and of single calls to free is
    at least 50 times below cudaMalloc's and cudaFree's, and so are the 99% quantiles."""
    found = {}
    for call, kind in (("malloc", "allocate_us"), ("free", "free_us")):
        for quantile in ("p50", "p99"):
            ours, theirs = calls(results, kind, quantile)
            found[f"{call} {quantile}"] = theirs / ours
    return min(found.values()) >= 50, ", ".join(f"{k} {figure(v)} times" for k, v in found.items())


@claim(source("section III.A"), needs="full")
def host_worst(results):
    """In the worst case 75% of the mapped memory of segregated fit is unused.
    Rule: at no point after the first tenth of the first pass are more than 75% of the mapped bytes
    not requested."""
    windows = passes(results, "host-4", "segfit")["passes"][0].get("windows", [])
    unused = [
        1 - w["requested_bytes"] / w["mapped_bytes"]
        for w in windows[len(windows) // 10 :]
        if w.get("mapped_bytes")
    ]
    need(unused, "mapped memory over the trace")
    return max(unused) <= 0.75, f"{100 * min(unused):.0f} to {100 * max(unused):.0f}%"


@claim(source("section II.A"), needs="")
def host_metadata(results):
    """An entry of the hash table has six words, an overhead of 83% for blocks of one word (80% for
    lists in the blocks).
    Rule: six words over six and the block's one are 83%, within half a percent; nothing is
    measured."""
    share = 6 / 7
    return abs(share - 0.83) <= 0.005, f"6 of 7 words are {100 * share:.1f}%; 83% are 5 of 6"


not_judged(
    "host-minimum",
    source("section III.C"),
    "A min block of 4 KiB serves device memory best",
    "not judged: it is advice without a measurement",
    "no segregated fit here has a min block of 4 KiB",
)
