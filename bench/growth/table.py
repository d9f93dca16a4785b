"""The result for people: a Markdown table for each doubled quantity, and a sentence with the conclusion."""

import machine
from growth import GREW

WORDS = {"cost": "the time", "cpu": "the server's CPU"}


def number(figure, places=2):
    return "" if figure is None else f"{figure:,.{places}f}"


def times(figure):
    return "" if figure is None else f"{figure:.2f}x"


def mebibytes(size):
    return "" if size is None else f"{size / 2**20:,.0f} MiB"


def named(dimension):
    return f"{dimension['name']}, {dimension['unit']}" if dimension["unit"] else dimension["name"]


def row(entry, per):
    value = f"{entry['value']:,}"
    if "skipped" in entry:
        reason = entry["skipped"].replace("|", "\\|")
        return f"| {value} | skipped: {reason} |" + " |" * (9 + 2 * (per == "byte"))
    cells = [value, f"{entry['jobs']:,}"]
    for cost in ("cost", "cpu"):
        cells.append(number(entry[f"{cost}_us"]))
        if per == "byte":
            cells.append(number(entry[f"{cost}_ns_a_byte"]))
        cells += [times(entry[f"{cost}_to_before"]), times(entry[f"{cost}_to_first"])]
    cells += [
        number(entry["waited_ms"], 1),
        mebibytes(entry["resident_bytes"]),
        ", ".join(f"{WORDS[cost]} grew" for cost in entry["grew"]),
    ]
    return f"| {' | '.join(cells)} |"


def head(dimension):
    columns = [named(dimension), "jobs"]
    for cost in ("µs a job", "CPU µs a job"):
        columns.append(cost)
        if dimension["per"] == "byte":
            columns.append(cost.replace("µs a job", "ns a byte"))
        columns += ["to before", "to first"]
    columns += ["waited ms", "resident", ""]
    rule = ["---:"] * (len(columns) - 1) + ["---"]
    return [f"| {' | '.join(columns)} |", f"| {' | '.join(rule)} |"]


def sentence(dimension):
    steps, thing = dimension["steps"], f"a {dimension['per']}"
    name = dimension["name"]
    if dimension["verdict"] is None:
        return f"{name}: not measured to the end."
    last = steps[-1]
    held = "the first step" if dimension["against"] == "first" else "the cheapest step before"
    if dimension["verdict"]:
        grown = " and ".join(
            f"{WORDS[cost]} {thing} is {last[f'{cost}_held']:.1f} times that of {held}" for cost in dimension["verdict"]
        )
        return f"**{name}: grew.** At {last['value']:,} {grown}."
    return f"{name}: steady. At {last['value']:,} neither cost {thing} is more than {GREW} times that of {held}."


def markdown(result):
    facts = result["machine"]
    base = ", ".join(f"{name} {value:,}" for name, value in result["base"].items())
    lines = [
        "# How costs grow",
        "",
        "Written by `bench/growth/run`. Each run is a lifecycle bench (submitted, claimed, completed, every step "
        "on disk before it is answered) against a new server; one thing is doubled from step to step, all else "
        f"stays: {base}. `µs a job` is the time on the clock over the number of jobs, clients included; the "
        f"server's CPU stands beside it. Each figure is the best of {result['runs']}. `to before` and `to first` "
        "compare what should stay the same: the cost of a job, or with payloads that of a byte. `waited` is the "
        "median time from a job's submission to its worker's hand: where it is long, producers outran workers, and "
        "what waits for long is written to the tables, which costs.",
        "",
        f"{facts['cores']} cores ({facts['cpu']}), {facts['memory_gib']} GiB, Linux {facts['kernel']}, "
        f"{facts['file_system']}, append and fdatasync {facts['sync_ms']} ms; {result['version']}; "
        f"{result['began']}; `{result['command']}`.",
    ]
    if warning := machine.warning(facts):
        lines += ["", f"**{warning}**"]
    for dimension in result["dimensions"]:
        lines += ["", f"## {dimension['name'].capitalize()}", "", *head(dimension)]
        lines += [row(entry, dimension["per"]) for entry in dimension["steps"]]
        lines += ["", sentence(dimension)]
    return "\n".join(lines) + "\n"
