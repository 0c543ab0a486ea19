# SPDX-License-Identifier: MIT
"""Draws the plots of the documents as SVG: a curve per allocator, logarithmic axes, a label at the
right end of each curve. Equal figures give equal bytes. Only the standard library is needed."""
import math
from xml.sax.saxutils import escape

WIDTH, HEIGHT = 860, 500
LEFT, RIGHT, TOP, BOTTOM = 48, 652, 98, 432
LABEL_GAP = 17  # between the baselines of two labels
TICK_GAP = 62  # between the centres of two labels of the x axis
Y_TICKS = (1, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 60, 80, 100)
INK, FAINT, GRID = "#1f2328", "#59636e", "#e4e7eb"
FONT = "font-family=\"Helvetica, Arial, 'Liberation Sans', sans-serif\""
# Colour, and whether the curve is dashed: two allocators of one family share a colour.
STYLES = {
    "heapwood": ("#c9400a", False), "heapwood-general": ("#b4662a", False),
    "heapwood-pages": ("#b4662a", True), "cfmmalloc": ("#1f6fb4", False),
    "cmmalloc": ("#1f6fb4", True), "scatter": ("#2a8a57", False), "halloc": ("#2a8a57", True),
    "ouroboros-p-s": ("#7a4fb0", False), "ouroboros-p-va": ("#7a4fb0", True),
    "bulk": ("#59636e", False),
}
EMPHASIZED = "heapwood"


def spread(wanted):
    """Positions at least LABEL_GAP apart, in the order of `wanted`, close to the wanted ones."""
    groups = []  # [sum of the wanted positions of the first label, number of labels]
    for position in wanted:
        groups.append([position, 1])
        while len(groups) > 1:
            (a, m), (b, n) = groups[-2:]
            if a / m + m * LABEL_GAP <= b / n:
                break
            groups[-2:] = [[a + b - n * m * LABEL_GAP, m + n]]
    return [total / n + i * LABEL_GAP for total, n in groups for i in range(n)]


def text(x, y, words, size=13, fill=INK, anchor="start", bold=False):
    weight = ' font-weight="bold"' if bold else ""
    return (f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" '
            f'text-anchor="{anchor}"{weight}>{escape(words)}</text>')


def line(x1, y1, x2, y2, stroke, extra=""):
    return (f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" '
            f'stroke="{stroke}"{extra}/>')


def draw(title, first_line, second_line, x_title, ticks, reference, curves):
    """ticks: [(x, its label, a second line)]. reference: what the horizontal line at 1 is. curves:
    [(allocator, label, [(x, y), ...])], points in the order of x."""
    values = [y for _, _, points in curves for _, y in points] + [1]
    low, high = math.log(min(values) / 1.3), math.log(max(values) * 1.06)
    first, last = math.log(ticks[0][0]), math.log(ticks[-1][0])

    def at_x(x):
        return LEFT + 14 + (math.log(x) - first) / (last - first) * (RIGHT - LEFT - 20)

    def at_y(y):
        return BOTTOM - (math.log(y) - low) / (high - low) * (BOTTOM - TOP)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
           f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" {FONT}>',
           f"<title>{escape(title)}</title>",
           f'<rect width="{WIDTH}" height="{HEIGHT}" rx="6" fill="#ffffff"/>',
           text(16, 32, title, 18, bold=True), text(16, 56, first_line, 13, FAINT),
           text(16, 74, second_line, 13, FAINT)]
    for y in Y_TICKS:
        if low <= math.log(y) <= high:
            if y != 1:
                out.append(line(LEFT, at_y(y), RIGHT, at_y(y), GRID))
            out.append(text(LEFT - 8, at_y(y) + 4.5, f"{y}", fill=FAINT, anchor="end"))
    out.append(line(LEFT, at_y(1), RIGHT, at_y(1), FAINT, ' stroke-dasharray="2 4"'))
    out.append(text(LEFT + 8, at_y(1) + 17, reference, 12, FAINT))
    out.append(line(LEFT, BOTTOM, RIGHT, BOTTOM, FAINT))
    labelled = -math.inf
    for x, label, second in ticks:
        out.append(line(at_x(x), BOTTOM, at_x(x), BOTTOM + 5, FAINT))
        if at_x(x) - labelled >= TICK_GAP:
            labelled = at_x(x)
            out.append(text(at_x(x), BOTTOM + 20, label, anchor="middle"))
            out.append(text(at_x(x), BOTTOM + 36, second, 12, FAINT, "middle"))
    out.append(text((LEFT + RIGHT) / 2, HEIGHT - 12, x_title, fill=FAINT, anchor="middle"))
    # The emphasized curve last: it lies over the others.
    for allocator, _, points in sorted(curves, key=lambda curve: curve[0] == EMPHASIZED):
        colour, dashed = STYLES.get(allocator, (FAINT, True))
        strong = allocator == EMPHASIZED
        path = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, y in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                   f'stroke-width="{3.5 if strong else 1.75}" stroke-linejoin="round"' +
                   (' stroke-dasharray="6 4"' if dashed else "") + "/>")
        out += [f'<circle cx="{at_x(x):.1f}" cy="{at_y(y):.1f}" r="{5 if strong else 3.2}" '
                f'fill="{colour}" stroke="#ffffff"/>' for x, y in points]
    ends = sorted(curves, key=lambda curve: at_y(curve[2][-1][1]))
    for (allocator, label, points), y in zip(ends, spread([at_y(p[-1][1]) for _, _, p in ends])):
        colour, dashed = STYLES.get(allocator, (FAINT, True))
        x, own = at_x(points[-1][0]), at_y(points[-1][1])
        out.append(f'<polyline points="{x + 7:.1f},{own:.1f} {x + 24:.1f},{y:.1f} '
                   f'{x + 30:.1f},{y:.1f}" fill="none" stroke="{colour}" stroke-opacity=".6"/>')
        strong = allocator == EMPHASIZED
        out.append(text(x + 34, y + 4.5, label, 15 if strong else 13, colour, bold=strong))
    return "\n".join(out + ["</svg>"]) + "\n"
