# SPDX-License-Identifier: MIT
"""Ouroboros' claims about memory (section 6.1.3), and about what its queues and its initialization
cost."""

from .claims import PAGES, claim, each_text, figure, label, need
from .claims_ouroboros import VARIANTS


def ranges(results, allocator):
    """{payload: address range of the first iteration over the bytes requested}"""
    return {
        row["payload_bytes"]: row["space"]["first_address_bytes"]
        / (row["threads"] * row["request_bytes"])
        for row in results.rows("ouroboros-range", allocator)
        if row.get("space", {}).get("first_address_bytes")
    }


@claim()
def range_tight(results):
    values = {(a, size): v for a in VARIANTS for size, v in ranges(results, a).items()}
    worst = max(need(values, "address ranges"), key=values.get)
    return (
        values[worst] <= 1.5,
        f"at most {figure(values[worst])} times ({label(results, worst[0])}, {worst[1]} bytes)",
    )


@claim()
def range_scatter(results):
    value = need(ranges(results, "scatter").get(16), "ScatterAlloc with 16 bytes")
    return value >= 10, f"{figure(value)} times"


def shares(results):
    found = {
        row["allocator"]: row["space"]["utilization"]
        for row in results.rows("ouroboros-utilization")
        if row["status"] == "ok" and row.get("space", {}).get("utilization") is not None
    }
    return need(found, "a pool that was filled before the time limit")


@claim()
def utilization(results):
    use = shares(results)
    values = need({a: use[a] for a in VARIANTS if a in use}, "Ouroboros")
    worst = min(values, key=values.get)
    return (
        values[worst] >= 0.95,
        f"{100 * values[worst]:.1f}% ({label(results, worst)}) to {100 * max(values.values()):.1f}%",
    )


@claim()
def utilization_order(results):
    use = shares(results)
    need(all(a in use for a in (PAGES[0], "scatter", "halloc")), "all three")
    in_order = (max(use[a] for a in VARIANTS if a in use), use["scatter"], use["halloc"])
    return (
        in_order[0] > in_order[1] > in_order[2],
        ", ".join(f"{100 * share:.1f}%" for share in in_order),
    )


@claim()
def utilization_cuda(results):
    rows = results.rows("ouroboros-utilization", "cuda")
    row = need([row for row in rows if "space" in row], "CUDA's allocator")[0]
    value = row["space"].get("utilization", 0)
    if row["status"] != "ok":
        return False if value > 0.3 else None, f"{100 * value:.1f}% at the time limit"
    return value <= 0.3, f"{100 * value:.1f}%"


def churn(results, allocator, to_the_end=True):
    """The churn result of an allocator; to_the_end: only if a refused request ended it."""
    rows = [
        row
        for row in results.rows("ouroboros-churn", allocator)
        if row.get("space", {}).get("iterations") is not None
        and (row["status"] == "ok" or not to_the_end)
    ]
    need(rows, label(results, allocator) + (" until memory is exhausted" if to_the_end else ""))
    return rows[0]["space"]


@claim()
def churn_lasts(results):
    worst = min(churn(results, a)["iterations"] for a in VARIANTS)
    scatter, halloc = (churn(results, a)["iterations"] for a in ("scatter", "halloc"))
    return (
        worst > scatter > halloc,
        f"at least {worst:.0f}, {scatter:.0f} and {halloc:.0f} iterations",
    )


@claim()
def churn_cuda(results):
    space = churn(results, "cuda", to_the_end=False)
    need("last_ms" in space, "iterations of CUDA's allocator")
    return (
        space["last_ms"] >= 2 * space["iteration_ms"],
        f"median {figure(space['iteration_ms'])} ms, last {figure(space['last_ms'])} ms",
    )


@claim()
def churn_steady(results):
    found = {}
    for allocator in ("halloc", *VARIANTS):
        space = churn(results, allocator)
        need("last_ms" in space, "iterations")
        found[allocator] = space["last_ms"] / space["iteration_ms"]
    return max(found.values()) <= 2, each_text(results, found)


@claim()
def virtual_memory(results):
    tables = {}
    for allocator in PAGES:
        for row in results.rows("regeff-3a", allocator, blocks=120):
            found = row.get("memory", {}).get("peak", {}).get("metadata_bytes")
            if found:
                tables.setdefault(allocator, []).append(found)
    need(len(tables) == len(PAGES), "the tables of all three")
    static = min(tables[PAGES[0]])
    worst = {a: max(tables[a]) / static for a in PAGES[1:]}
    return max(worst.values()) < 1, ", ".join(
        f"{label(results, a)} {figure(v)} of the static one's" for a, v in worst.items()
    )
