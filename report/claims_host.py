# SPDX-License-Identifier: MIT
"""The claims of the paper on host-managed allocators.

The results are from `heapwood host-bench`: passes over one trace."""

from .claims import claim, figure, need


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
