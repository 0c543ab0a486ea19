# SPDX-License-Identifier: MIT
"""Formats numbers for readers, and data for scripts in the page."""

import json


def figure(value):
    """Three significant digits, without an exponent."""
    if value is None:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def bytes_text(value):
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= size:
            return f"{value / size:g} {unit}"
    return f"{value} B"


def count_text(value):
    for unit, size in (("M", 10**6), ("K", 10**3)):
        if value >= size and value % (size // 10) == 0:
            return f"{value / size:g}{unit}"
    return f"{value:,}"


def script_json(value):
    """JSON within a script element: without "<", since "</script>" or "<!--" in a label would end
    the element or comment out what follows."""
    text = json.dumps(value, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")
