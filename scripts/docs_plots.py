# SPDX-License-Identifier: MIT
"""Draws the plot of the documents as SVG: slowdown over the size of the pool, logarithmic axes, a
curve and a label per allocator. Equal figures give equal bytes."""
from math import log

LEFT, RIGHT, TOP, BOTTOM, LABEL_GAP = 48, 620, 56, 400, 16
COLOURS = {"heapwood": "#c9400a", "heapwood-general": "#b4662a", "cfmmalloc": "#1f6fb4",
           "scatter": "#2a8a57", "halloc": "#8a2a6d", "ouroboros-p-s": "#7a4fb0", "bulk": "#59636e"}


def text(x, y, words, extra=""):
    return f'<text x="{x:.1f}" y="{y:.1f}" {extra}>{words}</text>'


def draw(pools, best):
    """pools: {pool / peak bytes in use: builds}; best: AtomicMalloc's time with ample memory."""
    curves = {name: [(multiple, one["label"], one["median_ms"] / best)
                     for multiple, builds in pools.items() for one in builds
                     if one["allocator"] == name and one["status"] == "ok"] for name in COLOURS}
    first, last, high = min(pools), max(pools), max(y for curve in curves.values()
                                                    for _, _, y in curve)

    def at_x(multiple):
        return LEFT + log(multiple / first) / log(last / first) * (RIGHT - LEFT)

    def at_y(slowdown):
        return BOTTOM - log(slowdown / 0.9) / log(high / 0.9) * (BOTTOM - TOP)

    out = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 800 460" role="img" '
           'font-family="Helvetica, Arial, sans-serif" font-size="13" fill="#1f2328">',
           "<title>Slowdown over the size of the pool</title>",
           '<rect width="800" height="460" fill="#ffffff"/>',
           text(16, 30, "Build time / AtomicMalloc's with ample memory; lower is better. A curve "
                "begins at the smallest pool that sufficed.")]
    for y in (1, 1.5, 2, 3, 4, 5, 6):
        out += [f'<path d="M{LEFT},{at_y(y):.1f}H{RIGHT}" stroke="#d4d7db"/>',
                text(LEFT - 8, at_y(y) + 4, y, 'text-anchor="end"')]
    out += [text(at_x(x), BOTTOM + 20, f"{x:g}", 'text-anchor="middle"') for x in pools]
    out.append(text((LEFT + RIGHT) / 2, BOTTOM + 44, "size of the pool / peak bytes in use",
                    'text-anchor="middle"'))
    below = BOTTOM + LABEL_GAP
    for name, curve in sorted(curves.items(), key=lambda item: item[1][-1][2]):
        points = " ".join(f"{at_x(x):.1f},{at_y(y):.1f}" for x, _, y in curve)
        below = min(at_y(curve[-1][2]) + 4, below - LABEL_GAP)
        out += [f'<polyline points="{points}" fill="none" stroke="{COLOURS[name]}" '
                f'stroke-width="{4 if name == "heapwood" else 2}"/>',
                text(RIGHT + 12, below, f"{curve[-1][1]} {curve[-1][2]:.2f}",
                     f'style="fill:{COLOURS[name]}"')]
    return "\n".join(out + ["</svg>"]) + "\n"
