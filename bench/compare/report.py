"""The result for people: one Markdown table, and Millrace as a share of each limit and a multiple of each peer."""

import machine

# The compared rows: those that decide P1 and P2, and the rows with 16 + 16.
HEADLINE = "Millrace, 8 + 8, retention 0"
SECOND = "Millrace, 16 + 16, retention 0"
BY_THOUSAND = f"{HEADLINE}, by 1,000"
BY_THOUSAND_ON_POSTGRES = "Millrace on PostgreSQL, 8 + 8, retention 0, by 1,000"
KEPT = "Millrace, 8 + 8, retention 24h"
ON_POSTGRES = "Millrace on PostgreSQL, 8 + 8, retention 0"
SECOND_ON_POSTGRES = "Millrace on PostgreSQL, 16 + 16, retention 0"
KEPT_ON_POSTGRES = "Millrace on PostgreSQL, 8 + 8, retention 24h"
SINGLE = "Millrace, POST /v1/jobs, 64 connections"
NATS = "NATS JetStream"
BEAST = "bare Beast server, 64 connections"
SHORT = "a run of a second or so: the ten minutes are in docs/internals/performance.md"


def by_label(result):
    return {row["label"]: row["figure"] for row in result["rows"] if "figure" in row}


def share(figure, of):
    ratio = figure / of
    return f"{ratio:.1f}x" if ratio >= 2 else f"{ratio * 100:.0f} %"


def counterparts(row, result_batch):
    """The labels of Millrace's rows to compare with this one, with calls of as many jobs: with 8 + 8 and with 16 + 16, and
    the same on PostgreSQL."""
    if row["group"] == "millrace":
        return [None] * 4
    if row["unit"] == "requests/s":
        connections = row["label"].split(", ")[-1]
        return [f"Millrace, POST /v1/jobs, {connections}", None, None, None]
    if row["group"] == "peer" and row["batch"] != result_batch:
        return [BY_THOUSAND, None, BY_THOUSAND_ON_POSTGRES if row["on_postgres"] else None, None]
    # A limit belongs to one store, a peer is compared with all. But Millrace on PostgreSQL is compared only with other
    # rows on PostgreSQL.
    own = [HEADLINE, SECOND] if row["group"] == "peer" or not row["on_postgres"] else [None, None]
    return own + ([ON_POSTGRES, SECOND_ON_POSTGRES] if row["on_postgres"] else [None, None])


def table_row(row, figures, batch):
    name = f"**{row['label']}**" if row["group"] == "millrace" else row["label"]
    if row.get("version") and row["group"] != "millrace":
        name += f" ({row['version']})"
    if "skipped" in row:
        reason = row["skipped"].replace("|", "\\|")
        return f"| {name} | skipped: {reason} | {row['durability']} | {row['mode']} | | | | |"
    cells = [share(figures[label], row["figure"]) if label in figures else "" for label in counterparts(row, batch)]
    return (
        f"| {name} | {row['figure']:,.0f} {row['unit']} | {row['durability']} | {row['mode']} | {' | '.join(cells)} |"
    )


def markdown(result):
    figures = by_label(result)
    facts = result["machine"]
    lines = [
        f"{result['jobs']:,} jobs with {result['payload_bytes']} bytes of payload, batches of {result['batch']}; "
        f"{facts['cores']} cores ({facts['cpu']}), {facts['memory_gib']} GiB, Linux {facts['kernel']}, "
        f"{facts['file_system']}, append and fdatasync {facts['sync_ms']} ms; {result['began']}; "
        f"`{result['command']}`.",
        "",
    ]
    if warning := machine.warning(facts):
        lines += [f"**{warning}**", ""]
    lines += [
        "| what | figure | durability | mode | Millrace 8 + 8 is | 16 + 16 is | on PostgreSQL 8 + 8 is | 16 + 16 is |",
        "| --- | ---: | --- | --- | ---: | ---: | ---: | ---: |",
    ]
    lines += [table_row(row, figures, result["batch"]) for row in result["rows"]]
    return "\n".join(lines)


def verdict(figure, least):
    return "met" if figure >= least else "**missed**"


def ratio_target(target, name, figures, own, other, least):
    """One line of the targets; not measured unless both figures exist."""
    at_least = f"{least:.0%}" if least < 1 else f"{least}x"
    if own not in figures or other not in figures:
        return f"| {target} | {name} | {at_least} | not measured | |"
    ratio = figures[own] / figures[other]
    measured = f"{ratio:.1%}" if least < 1 else f"{ratio:.2f}x"
    return (
        f"| {target} | {name} | {at_least} | {figures[own]:,.0f} to {figures[other]:,.0f}: {measured} | "
        f"{verdict(ratio, least)} |"
    )


def figure_target(target, name, figures, own, least):
    if own not in figures:
        return f"| {target} | {name} | {least:,} | not measured | |"
    return f"| {target} | {name} | {least:,} | {figures[own]:,.0f} | {verdict(figures[own], least)} |"


def fastest(result, otherwise, wanted):
    """The label of the fastest peer that is wanted."""
    rows = [row for row in result["rows"] if row["group"] == "peer" and "figure" in row and wanted(row)]
    return max(rows, key=lambda row: row["figure"], default={"label": otherwise})["label"]


def targets(result):
    """The project's targets, as far as this run measures them."""
    figures = by_label(result)
    synced = fastest(result, "none measured", lambda row: row["synced"] and row["batch"] == result["batch"])
    at_its_best = fastest(result, "none measured", lambda row: row["synced"])
    by_thousand = fastest(result, "none measured", lambda row: row["synced"] and row["batch"] == 1000)
    graphile = fastest(result, "none measured", lambda row: row["name"] == "graphile-worker")
    graphile_by_thousand = fastest(
        result, "none measured", lambda row: row["name"] == "graphile-worker" and row["batch"] == 1000
    )
    return "\n".join(
        [
            "| | target | at least | measured | |",
            "| --- | --- | ---: | ---: | --- |",
            figure_target("P1", "lifecycles/s, 8 + 8, retention 0", figures, HEADLINE, 150_000),
            figure_target("P1", "lifecycles/s, 16 + 16, retention 0", figures, SECOND, 200_000),
            ratio_target("P1", "8 + 8 against NATS JetStream, unsynced", figures, HEADLINE, NATS, 4),
            ratio_target("P1", f"8 + 8 against the fastest synced peer ({synced})", figures, HEADLINE, synced, 15),
            ratio_target(
                "P1",
                f"8 + 8 against the fastest in whatever calls suit it best ({at_its_best})",
                figures,
                HEADLINE,
                at_its_best,
                15,
            ),
            ratio_target(
                "P1",
                f"8 + 8 against the fastest, both in calls of 1,000 jobs ({by_thousand})",
                figures,
                BY_THOUSAND,
                by_thousand,
                15,
            ),
            figure_target("P2", "lifecycles/s on PostgreSQL, 8 + 8, retention 0", figures, ON_POSTGRES, 120_000),
            ratio_target(
                "P2", f"the same against graphile-worker's best mode ({graphile})", figures, ON_POSTGRES, graphile, 10
            ),
            ratio_target(
                "P2",
                f"the same, both in calls of 1,000 jobs ({graphile_by_thousand})",
                figures,
                BY_THOUSAND_ON_POSTGRES,
                graphile_by_thousand,
                10,
            ),
            ratio_target("P3", f"8 + 8, retention 24 h against retention 0 ({SHORT})", figures, KEPT, HEADLINE, 0.5),
            ratio_target("P3", f"the same on PostgreSQL ({SHORT})", figures, KEPT_ON_POSTGRES, ON_POSTGRES, 0.5),
            ratio_target(
                "P4", "POST /v1/jobs, 64 connections, against a bare Beast server", figures, SINGLE, BEAST, 0.6
            ),
        ]
    )


def kept_sentence(result):
    """The text below the chart in README.md, from the same results as the chart."""
    figures = by_label(result)
    kept, headline, on_postgres, kept_on_postgres = (
        f"{round(figures[label], -3):,.0f}" for label in (KEPT, HEADLINE, ON_POSTGRES, KEPT_ON_POSTGRES)
    )
    return (
        f"Millrace completes {headline} lifecycles a second on SQLite and {on_postgres} on PostgreSQL. If it keeps "
        f"every finished job searchable (`--retention 24h`), it completes {kept} and {kept_on_postgres}."
    )


INTRODUCTION = """# Results

Written by `bench/compare/run`, which says what it does with `--help`. Clients and servers share the machine; figures
drift from run to run, only ratios within one run count. A lifecycle is one job submitted, claimed and completed; where
the durability says so each step is on disk before it is answered. A row that was run more than once shows the median;
the JSON has every figure.
"""


def page(result, source):
    picture = "![Lifecycles a second](lifecycles.svg)"
    return f"{INTRODUCTION}\n{picture}\n\nFrom [{source}]({source}).\n\n{markdown(result)}\n\n{targets(result)}\n"
