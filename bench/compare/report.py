"""The result for people: one Markdown table, and Millrace as a share of each limit and a multiple of each peer."""

import machine

# What is compared with what: the row of P1 with the peers, each limit with the row that runs against it.
HEADLINE = "Millrace, 8 + 8, retention 0"
SECOND = "Millrace, 16 + 16, retention 0"


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


INTRODUCTION = """# Results

Written by `bench/compare/run`, which says what it does with `--help`. Clients and servers share the machine; figures
drift from run to run, only ratios within one run count. A lifecycle is one job submitted, claimed and completed; where
the durability says so each step is on disk before it is answered. A row that was run more than once shows the median;
the JSON has every figure.
"""


def page(result, source):
    picture = "![Lifecycles a second](lifecycles.svg)"
    return f"{INTRODUCTION}\n{picture}\n\nFrom [{source}]({source}).\n\n{markdown(result)}\n"
