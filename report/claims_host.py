# SPDX-License-Identifier: MIT
"""The claims of the paper on host-managed allocators.

The results are from `heapwood host-bench`: passes over one trace."""

from .claims import claim, figure, need


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
    return 0.4 <= value <= 0.6, f"{value:.2f}"


@claim()
def host_tlsf(results):
    tlsf, segfit = (in_use(results, a) for a in ("tlsf", "segfit"))
    return tlsf > segfit, f"{tlsf:.2f} against {segfit:.2f}"


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
    return max(unused) <= 0.75, f"{100 * min(unused):.0f} to {100 * max(unused):.0f}%"


@claim()
def host_metadata(results):
    share = 6 / 7
    return abs(share - 0.83) <= 0.005, f"6 of 7 words are {100 * share:.1f}%; 83% are 5 of 6"
