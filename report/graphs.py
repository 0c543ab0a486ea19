# SPDX-License-Identifier: MIT
"""Figures of the dynamic graphs (Ouroboros 6.2) in results files, for panels and claims."""

from .samples import median

LAYOUTS = {"pages": "Linked pages", "csr": "CSR rebuilt"}


def phase(row, name):
    """The samples of one phase of a result, or an empty dictionary."""
    return next((one for one in row.get("phases", []) if one["phase"] == name), {})


def samples(row, *names):
    """Milliseconds of a phase; of several phases, the sums of their samples."""
    return [sum(parts) for parts in zip(*(phase(row, name).get("runs_ms", []) for name in names))]


def footprint(row):
    """Bytes: the vertex table, the memory that is not free, and the tables of the allocator."""
    memory = row.get("memory", {})
    if "held_bytes" not in memory:
        return None
    return memory["table_bytes"] + memory["held_bytes"] + memory["metadata_bytes"]


def degree(row):
    return row["edges"] / row["vertices"]


def is_small_and_sparse(row):
    """What the paper calls smaller and sparser graphs."""
    return row["vertices"] <= 2_000_000 and degree(row) < 10


def by_graph(results, item, allocator, figure, **settings):
    """{graph: (figure, result)} of the complete results of an allocator or layout."""
    found = {}
    for row in results.rows(item, allocator, **settings):
        value = figure(row) if row.get("status") == "ok" else None
        if value:
            found[row["graph"]] = (value, row)
    return found


def milliseconds(*names):
    """A figure for by_graph(): the median time of one phase or of several."""
    return lambda row: median(samples(row, *names))
