# SPDX-License-Identifier: MIT
"""Ouroboros' claims about memory (section 6.1.3), and about what its queues and its initialization
cost."""

from .claims import CHUNKS, PAGES, claim, figure, label, need
from .claims_ouroboros import VARIANTS


@claim(
    "range-tight",
    "Ouroboros",
    "section 6.1.3, figure 3",
    "ouroboros-range",
    "Ouroboros' address range stays very close to the requested bytes",
    "at every size the range of the first iteration is at most 1.5 times the bytes requested, for each variant",
    needs="full",
)
def _(results):
    values = {}
    for allocator in VARIANTS:
        for row in results.rows("ouroboros-range", allocator):
            got = row.get("space", {}).get("first_address_bytes")
            if got:
                values[(allocator, row["payload_bytes"])] = got / (
                    row["threads"] * row["request_bytes"]
                )
    worst = max(need(values, "address ranges"), key=values.get)
    return (
        values[worst] <= 1.5,
        f"at most {figure(values[worst])} times ({label(results, worst[0])}, {worst[1]} bytes)",
    )


@claim(
    "range-scatter",
    "Ouroboros",
    "section 6.1.3, figure 3",
    "ouroboros-range",
    "ScatterAlloc's addresses are far apart even for small requests",
    "with 16 bytes its range is at least 10 times the bytes requested",
    needs="full",
)
def _(results):
    rows = [
        row
        for row in results.rows("ouroboros-range", "scatter", payload_bytes=16)
        if row.get("space", {}).get("first_address_bytes")
    ]
    need(rows, "ScatterAlloc with 16 bytes")
    value = rows[0]["space"]["first_address_bytes"] / (rows[0]["threads"] * 16)
    return value >= 10, f"{figure(value)} times"


def utilization(results):
    found = {
        row["allocator"]: row["space"]["utilization"]
        for row in results.rows("ouroboros-utilization")
        if row["status"] == "ok" and row.get("space", {}).get("utilization") is not None
    }
    return need(found, "a pool that was filled before the time limit")


@claim(
    "utilization",
    "Ouroboros",
    "section 6.1.3",
    "ouroboros-utilization",
    "Ouroboros allocates 98.35% of the memory in blocks of 16 bytes",
    "each variant that fills the pool allocates at least 95%",
    needs="full",
)
def _(results):
    use = utilization(results)
    values = need({a: use[a] for a in (*PAGES, *CHUNKS) if a in use}, "Ouroboros")
    worst = min(values, key=values.get)
    return (
        values[worst] >= 0.95,
        f"{100 * values[worst]:.1f}% ({label(results, worst)}) to {100 * max(values.values()):.1f}%",
    )


@claim(
    "utilization-order",
    "Ouroboros",
    "section 6.1.3",
    "ouroboros-utilization",
    "Ouroboros allocates a larger share than ScatterAlloc, ScatterAlloc a larger one than Halloc",
    "the shares are in that order",
    needs="full",
)
def _(results):
    use = utilization(results)
    need(all(a in use for a in (PAGES[0], "scatter", "halloc")), "all three")
    best = max(use[a] for a in (*PAGES, *CHUNKS) if a in use)
    return (
        best > use["scatter"] > use["halloc"],
        f"{100 * best:.1f}%, {100 * use['scatter']:.1f}%, {100 * use['halloc']:.1f}%",
    )


@claim(
    "utilization-cuda",
    "Ouroboros",
    "section 6.1.3",
    "ouroboros-utilization",
    "CUDA's allocator allocates only 17.2%",
    "at most 30%, and the test ended before its time limit",
)
def _(results):
    rows = need(
        [row for row in results.rows("ouroboros-utilization", "cuda") if "space" in row],
        "CUDA's allocator",
    )
    value = rows[0]["space"].get("utilization", 0)
    if rows[0]["status"] != "ok":
        return (
            (False, f"{100 * value:.1f}% at the time limit")
            if value > 0.3
            else (None, f"{100 * value:.1f}% at the time limit")
        )
    return value <= 0.3, f"{100 * value:.1f}%"


def churn_result(results, allocator, to_the_end=True):
    """The churn result of an allocator; to_the_end: only if a refused request ended it."""
    rows = [
        row
        for row in results.rows("ouroboros-churn", allocator)
        if row.get("space", {}).get("iterations") is not None
        and (row["status"] == "ok" or not to_the_end)
    ]
    need(rows, label(results, allocator) + (" until memory is exhausted" if to_the_end else ""))
    return rows[0]


@claim(
    "churn-lasts",
    "Ouroboros",
    "section 6.1.3, figure 3",
    "ouroboros-churn",
    "While half of the blocks are freed, Ouroboros outlasts ScatterAlloc, and ScatterAlloc outlasts Halloc",
    "iterations until the first refusal are in that order, for each variant",
    needs="full",
)
def _(results):
    worst = min(churn_result(results, a)["space"]["iterations"] for a in VARIANTS)
    scatter, halloc = (
        churn_result(results, a)["space"]["iterations"] for a in ("scatter", "halloc")
    )
    return (
        worst > scatter > halloc,
        f"at least {worst:.0f}, {scatter:.0f} and {halloc:.0f} iterations",
    )


@claim(
    "churn-cuda",
    "Ouroboros",
    "section 6.1.3, figure 3",
    "ouroboros-churn",
    "CUDA's allocator gets slower with every iteration",
    "the last complete iteration takes at least twice as long as the median one",
)
def _(results):
    space = churn_result(results, "cuda", to_the_end=False)["space"]
    need("last_ms" in space, "iterations of CUDA's allocator")
    return (
        space["last_ms"] >= 2 * space["iteration_ms"],
        f"median {figure(space['iteration_ms'])} ms, last {figure(space['last_ms'])} ms",
    )


@claim(
    "churn-steady",
    "Ouroboros",
    "section 6.1.3, figure 3",
    "ouroboros-churn",
    "Ouroboros and Halloc keep their speed to the end",
    "the last complete iteration takes at most twice as long as the median one, for Halloc and each variant",
)
def _(results):
    found = {}
    for allocator in ("halloc", *VARIANTS):
        space = churn_result(results, allocator)["space"]
        need("last_ms" in space, "iterations")
        found[allocator] = space["last_ms"] / space["iteration_ms"]
    return max(found.values()) <= 2, ", ".join(
        f"{label(results, a)} {figure(v)}" for a, v in found.items()
    )


@claim(
    "virtual-memory",
    "Ouroboros",
    "section 5.1",
    "regeff-3a",
    "Virtualized queues reduce the memory of the static queues",
    "Ouroboros-P-VA and -P-VL have fewer bytes of tables than Ouroboros-P-S in a pool of 2 GiB, at every payload",
    needs="full",
)
def _(results):
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


@claim(
    "initialization-marks",
    "Ouroboros",
    "section 6.2.1",
    "ouroboros-100k",
    "Ouroboros' initialization is costly, because it marks the whole memory",
    "not judged: nothing is marked",
    substituted=lambda results: "queue pieces are initialized when they are taken here, not with the whole memory",
)
def _(results):
    return None, ""
