#!/usr/bin/env python3
"""Draws lifecycles a second as bars, readable on a light and on a dark page.

bench/compare/chart.py bench/results/2026-01-31-compare.json > bench/results/lifecycles.svg
"""

import html
import json
import pathlib
import sys

WIDTH, LEFT, RIGHT, TOP, BAR, STEP = 960, 390, 80, 82, 16, 26

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .title { font-weight: 600; font-size: 15px } .small { font-size: 12px; fill: #59636e }
  .own { fill: #0a69da } .synced { fill: #6e7781 } .loose { fill: none; stroke: #6e7781; stroke-dasharray: 3 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .small { fill: #9198a1 }
    .own { fill: #4493f8 } .synced { fill: #9198a1 } .loose { stroke: #9198a1 }
  }
"""


def kind(row):
    if row["group"] == "millrace":
        return "own"
    return "synced" if row["synced"] else "loose"


def chosen(result):
    """Peers and Millrace, fastest first; the machine's limits are left out."""
    rows = [
        row for row in result["rows"] if "figure" in row and row["group"] != "limit" and row["unit"] == "lifecycles/s"
    ]
    return sorted(rows, key=lambda row: -row["figure"])


def bar(row, y, scale):
    width = max(1.0, row["figure"] * scale)
    return (
        f'<text x="{LEFT - 10}" y="{y + 13}" text-anchor="end">{html.escape(row["label"])}</text>'
        f'<rect class="{kind(row)}" x="{LEFT}" y="{y}" width="{width:.1f}" height="{BAR}" rx="2"/>'
        f'<text x="{LEFT + width + 8:.1f}" y="{y + 13}">{row["figure"]:,.0f}</text>'
    )


def legend(y):
    entries = [
        ("own", "Millrace, every step synced", 0),
        ("synced", "every step synced", 200),
        ("loose", "may be lost when the power fails", 350),
    ]
    return "".join(
        f'<rect class="{name}" x="{12 + x}" y="{y}" width="12" height="12" rx="2"/>'
        f'<text class="small" x="{30 + x}" y="{y + 10}">{text}</text>'
        for name, text, x in entries
    )


def svg(result):
    rows = chosen(result)
    scale = (WIDTH - LEFT - RIGHT) / max((row["figure"] for row in rows), default=1)
    bars = "\n".join(bar(row, TOP + number * STEP, scale) for number, row in enumerate(rows))
    height = TOP + len(rows) * STEP + 12
    title = "Lifecycles a second: jobs submitted, claimed and completed"
    setting = (
        f"{result['jobs']:,} jobs, {result['payload_bytes']} bytes, batches of {result['batch']}, "
        f"{result['machine']['cores']} cores, {result['began'][:10]}"
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{title}">\n<style>{STYLE}</style>\n'
        f'<text class="title" x="12" y="22">{title}</text>\n'
        f'<text class="small" x="12" y="42">{setting}</text>\n'
        f"{legend(56)}\n{bars}\n</svg>\n"
    )


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        sys.exit(__doc__)
    print(svg(json.loads(pathlib.Path(sys.argv[1]).read_text())), end="")
