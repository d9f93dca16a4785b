"""The result for people: one Markdown table, and Millrace as a share of each limit and a multiple of each peer."""

import machine

# What is compared with what: the row of P1 with the peers, each limit with the row that runs against it.
HEADLINE = "Millrace, 8 + 8, retention 0"
SECOND = "Millrace, 16 + 16, retention 0"
KEPT = "Millrace, 8 + 8, retention 24h"
ON_POSTGRES = "Millrace on PostgreSQL, 16 + 16, retention 0"
KEPT_ON_POSTGRES = "Millrace on PostgreSQL, 16 + 16, retention 24h"
SINGLE = "Millrace, POST /v1/jobs, 64 connections"


def by_label(result):
    return {row["label"]: row["figure"] for row in result["rows"] if "figure" in row}


def share(figure, of):
    ratio = figure / of
    return f"{ratio:.1f}x" if ratio >= 2 else f"{ratio * 100:.0f} %"


def counterparts(row, figures):
    """(Millrace by 8 + 8, by 16 + 16) of what this row stands against; None where there is nothing to compare."""
    if row["unit"] == "requests/s":
        connections = row["label"].split(", ")[-1]
        return figures.get(f"Millrace, POST /v1/jobs, {connections}"), None
    return figures.get(HEADLINE), figures.get(SECOND)


def table_row(row, figures):
    name = f"**{row['label']}**" if row["group"] == "millrace" else row["label"]
    if row.get("version") and row["group"] == "peer":
        name += f" ({row['version']})"
    if "skipped" in row:
        reason = row["skipped"].replace("|", "\\|")
        return f"| {name} | skipped: {reason} | {row['durability']} | {row['mode']} | | |"
    cells = ["", ""]
    if row["group"] != "millrace":
        cells = [share(own, row["figure"]) if own else "" for own in counterparts(row, figures)]
    return (f"| {name} | {row['figure']:,.0f} {row['unit']} | {row['durability']} | {row['mode']} | "
            f"{cells[0]} | {cells[1]} |")


def markdown(result):
    figures = by_label(result)
    facts = result["machine"]
    lines = [f"{result['jobs']:,} jobs with {result['payload_bytes']} bytes of payload, batches of {result['batch']}; "
             f"{facts['cores']} cores ({facts['cpu']}), {facts['memory_gib']} GiB, Linux {facts['kernel']}, "
             f"{facts['file_system']}, append and fdatasync {facts['sync_ms']} ms; {result['began']}; "
             f"`{result['command']}`.", ""]
    if warning := machine.warning(facts):
        lines += [f"**{warning}**", ""]
    lines += ["| what | figure | durability | mode | Millrace 8 + 8 is | 16 + 16 is |",
              "| --- | ---: | --- | --- | ---: | ---: |"]
    lines += [table_row(row, figures) for row in result["rows"]]
    return "\n".join(lines)


def ratio_target(name, figures, own, other, least):
    """One line of the targets; without both figures there is nothing to judge."""
    if own not in figures or other not in figures:
        return f"| {name} | not measured | | |"
    ratio = figures[own] / figures[other]
    return f"| {name} | {least:g} | {ratio:.2f} | {'reached' if ratio >= least else 'missed'} |"


def figure_target(name, figures, own, least):
    if own not in figures:
        return f"| {name} | not measured | | |"
    return f"| {name} | {least:,} | {figures[own]:,.0f} | {'reached' if figures[own] >= least else 'missed'} |"


def fastest_synced_peer(result):
    rows = [row for row in result["rows"] if row["group"] == "peer" and row["synced"] and "figure" in row]
    return max(rows, key=lambda row: row["figure"], default={"label": "the fastest synced peer"})["label"]


def targets(result):
    """What the project set itself, as far as this run can judge it."""
    figures = by_label(result)
    synced = fastest_synced_peer(result)
    return "\n".join([
        "| target | at least | measured | |", "| --- | ---: | ---: | --- |",
        figure_target("lifecycles/s, 8 + 8, retention 0", figures, HEADLINE, 150_000),
        figure_target("lifecycles/s, 16 + 16, retention 0", figures, SECOND, 200_000),
        ratio_target("8 + 8 as a multiple of NATS JetStream, unsynced", figures, HEADLINE, "NATS JetStream", 4),
        ratio_target(f"8 + 8 as a multiple of the fastest synced peer ({synced})", figures, HEADLINE, synced, 15),
        ratio_target("8 + 8, retention 24 h as a share of retention 0", figures, KEPT, HEADLINE, 0.5),
        figure_target("lifecycles/s on PostgreSQL, 16 + 16, retention 0", figures, ON_POSTGRES, 120_000),
        ratio_target("the same as a multiple of graphile-worker's best mode", figures, ON_POSTGRES,
                     "graphile-worker, batched", 10),
        ratio_target("on PostgreSQL, retention 24 h as a share of retention 0", figures, KEPT_ON_POSTGRES, ON_POSTGRES, 0.5),
        ratio_target("POST /v1/jobs by 64 connections as a share of the bare Beast server", figures, SINGLE,
                     "bare Beast server, 64 connections", 0.6),
    ])


INTRODUCTION = """# Results

Written by `bench/compare/run`, which says what it does with `--help`. Clients and servers share the machine; figures
drift from run to run, only ratios within one run count. A lifecycle is one job submitted, claimed and completed; where
the durability says so each step is on disk before it is answered. A row that was run more than once shows the median;
the JSON has every figure.
"""


def page(result, source):
    picture = "![Lifecycles a second](lifecycles.svg)"
    return f"{INTRODUCTION}\n{picture}\n\nFrom [{source}]({source}).\n\n{markdown(result)}\n\n{targets(result)}\n"
