# SPDX-License-Identifier: MIT
"""Tables of the page: cells with a value to sort by, and reasons as numbered notes."""

from .figures import figure, median

MISSING = "–"


class Notes:
    """Reasons without duplicates; cells refer to their numbers."""

    def __init__(self):
        self.lines = []

    def number(self, text):
        if text not in self.lines:
            self.lines.append(text)
        return self.lines.index(text) + 1

    def numbered(self):
        return [f"{number}: {line}" for number, line in enumerate(self.lines, 1)]


def cell(text, value=None, note=None, heading=False):
    """`value` is the key to sort the column by; if it is None, the text is used."""
    return {"text": str(text), "value": value, "note": note, "heading": heading}


def heading(text):
    return cell(text, heading=True)


def number(value, decimals=None):
    if value is None:
        return cell(MISSING)
    return cell(figure(value) if decimals is None else f"{value:,.{decimals}f}", value)


def plain(value):
    """A cell of a published table, as printed there."""
    return cell(value, value if isinstance(value, (int, float)) else None)


def outcome(row, value, notes):
    """The cell of a result: its figure or, without one, its status with the reason as a note."""
    reason, status = row.get("reason"), row.get("status")
    note = notes.number(reason) if reason and status != "ok" else None
    if value is None:
        return cell(
            {"ok": MISSING, "skipped": "not run", "incomplete": "incomplete"}.get(status, "failed"),
            None,
            note,
        )
    return cell(figure(value), value, note)


def row_median(row, key="runs_ms"):
    samples = row.get(key)
    return median(samples) if samples else None


def table(title, columns, rows, notes=(), allocators=None):
    """`allocators`: the allocator of each row, for the filter; None for a row without one."""
    return {
        "kind": "table",
        "title": title,
        "columns": columns,
        "rows": rows,
        "notes": list(notes),
        "allocators": allocators or [None] * len(rows),
    }


def published_table(item):
    rows = [[heading(row[0]), *map(plain, row[1:])] for row in item["rows"]]
    return table(f"Published: {item['source']}", item["columns"], rows, item.get("notes", ()))


def name_cell(results, allocator):
    for case in results.content["cases"]:
        for row in case["results"]:
            if row.get("allocator") == allocator and "frees" in row:
                star = " *" if row.get("lower_bound") or row["frees"] != "individually" else ""
                return heading(row["label"] + star)
    return heading(allocator)


def allocator_table(results, title, columns, rows, cells_of, said=(), notes=None):
    """A table with a line per result: its allocator, then the cells of the result."""
    allocators = [row["allocator"] for row in rows]
    lines = [[name_cell(results, row["allocator"]), *cells_of(row)] for row in rows]
    numbered = notes.numbered() if notes else []
    return table(title, ["", *columns], lines, [*said, *numbered], allocators)


def lines_by_allocator(results, points, at, cell_of, names=None):
    """(lines, allocators): a line for each allocator of at[allocator, point], a cell per point."""
    allocators = [a for a in names or results.labels() if any((a, p) in at for p in points)]
    return [
        [
            heading(names[a]) if names else name_cell(results, a),
            *(cell_of(at.get((a, p), {}), p) for p in points),
        ]
        for a in allocators
    ], allocators


def grid(results, title, unit, rows, over, value, names=None):
    """A table with a row per allocator and a column per value of a Parameter."""
    notes = Notes()
    points = sorted({row[over.key] for row in rows})
    found = {(row["allocator"], row[over.key]): row for row in rows}

    def cell_of(row, _):
        return outcome(row, value(row), notes) if row else cell(MISSING)

    lines, allocators = lines_by_allocator(results, points, found, cell_of, names)
    return table(
        f"{title}, {unit}" if unit else title,
        ["", *map(over.text, points)],
        lines,
        notes.numbered(),
        None if names else allocators,
    )
