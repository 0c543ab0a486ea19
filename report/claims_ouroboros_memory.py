# SPDX-License-Identifier: MIT
"""Ouroboros' claims about memory (section 6.1.3), and about what its queues and its initialization
cost."""

from .claims import PAGES, claim, each_text, figure, label, need, not_judged
from .claims_ouroboros import VARIANTS


def source(name, where="section 6.1.3, figure 3"):
    return ("Ouroboros", where, f"ouroboros-{name}")


UTILIZATION = source("utilization", "section 6.1.3")


def ranges(results, allocator):
    """{payload: address range of the first iteration over the bytes requested}"""
    return {
        row["payload_bytes"]: row["space"]["first_address_bytes"]
        / (row["threads"] * row["request_bytes"])
        for row in results.rows("ouroboros-range", allocator)
        if row.get("space", {}).get("first_address_bytes")
    }


@claim(source("range"), needs="full")
def range_tight(results):
    """Ouroboros' address range stays very close to the requested bytes.
    Rule: at every size the range of the first iteration is at most 1.5 times the bytes requested,
    for each variant."""
    values = {(a, size): v for a in VARIANTS for size, v in ranges(results, a).items()}
    worst = max(need(values, "address ranges"), key=values.get)
    return (
        values[worst] <= 1.5,
        f"at most {figure(values[worst])} times ({label(results, worst[0])}, {worst[1]} bytes)",
    )


@claim(source("range"), needs="full")
def range_scatter(results):
    """ScatterAlloc's addresses are far apart even for small requests.
    Rule: with 16 bytes its range is at least 10 times the bytes requested."""
    value = need(ranges(results, "scatter").get(16), "ScatterAlloc with 16 bytes")
    return value >= 10, f"{figure(value)} times"


def shares(results):
    found = {
        row["allocator"]: row["space"]["utilization"]
        for row in results.rows("ouroboros-utilization")
        if row["status"] == "ok" and row.get("space", {}).get("utilization") is not None
    }
    return need(found, "a pool that was filled before the time limit")


@claim(UTILIZATION, needs="full")
def utilization(results):
    """Ouroboros allocates 98.35% of the memory in blocks of 16 bytes.
    Rule: each variant that fills the pool allocates at least 95%."""
    use = shares(results)
    values = need({a: use[a] for a in VARIANTS if a in use}, "Ouroboros")
    worst = min(values, key=values.get)
    return (
        values[worst] >= 0.95,
        f"{100 * values[worst]:.1f}% ({label(results, worst)}) to {100 * max(values.values()):.1f}%",
    )


@claim(UTILIZATION, needs="full")
def utilization_order(results):
    """Ouroboros allocates a larger share than ScatterAlloc, ScatterAlloc a larger one than Halloc.
    Rule: the shares are in that order."""
    use = shares(results)
    need(all(a in use for a in (PAGES[0], "scatter", "halloc")), "all three")
    in_order = (max(use[a] for a in VARIANTS if a in use), use["scatter"], use["halloc"])
    return (
        in_order[0] > in_order[1] > in_order[2],
        ", ".join(f"{100 * share:.1f}%" for share in in_order),
    )


@claim(UTILIZATION)
def utilization_cuda(results):
    """CUDA's allocator allocates only 17.2%.
    Rule: at most 30%, and the test ended before its time limit."""
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


@claim(source("churn"), needs="full")
def churn_lasts(results):
    """While half of the blocks are freed, Ouroboros outlasts ScatterAlloc, and ScatterAlloc
    outlasts Halloc.
    Rule: iterations until the first refusal are in that order, for each variant."""
    worst = min(churn(results, a)["iterations"] for a in VARIANTS)
    scatter, halloc = (churn(results, a)["iterations"] for a in ("scatter", "halloc"))
    return (
        worst > scatter > halloc,
        f"at least {worst:.0f}, {scatter:.0f} and {halloc:.0f} iterations",
    )


@claim(source("churn"))
def churn_cuda(results):
    """CUDA's allocator gets slower with every iteration.
    Rule: the last complete iteration takes at least twice as long as the median one."""
    space = churn(results, "cuda", to_the_end=False)
    need("last_ms" in space, "iterations of CUDA's allocator")
    return (
        space["last_ms"] >= 2 * space["iteration_ms"],
        f"median {figure(space['iteration_ms'])} ms, last {figure(space['last_ms'])} ms",
    )


@claim(source("churn"))
def churn_steady(results):
    """Ouroboros and Halloc keep their speed to the end.
    Rule: the last complete iteration takes at most twice as long as the median one, for Halloc and
    each variant."""
    found = {}
    for allocator in ("halloc", *VARIANTS):
        space = churn(results, allocator)
        need("last_ms" in space, "iterations")
        found[allocator] = space["last_ms"] / space["iteration_ms"]
    return max(found.values()) <= 2, each_text(results, found)


@claim(("Ouroboros", "section 5.1", "regeff-3a"), needs="full")
def virtual_memory(results):
    """Virtualized queues reduce the memory of the static queues.
    Rule: Ouroboros-P-VA and -P-VL have fewer bytes of tables than Ouroboros-P-S in a pool of 2 GiB,
    at every payload."""
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


not_judged(
    "initialization-marks",
    ("Ouroboros", "section 6.2.1", "ouroboros-100k"),
    "Ouroboros' initialization is costly, because it marks the whole memory",
    "not judged: nothing is marked",
    "queue pieces are initialized when they are taken here, not with the whole memory",
)
