"""The result for people: one Markdown table, and the SDKs as multiples of their peers."""

import math
import textwrap

BUSY_SHARE = 0.1  # of the machine, that others had in some run
LEAST = 1.5  # times what the best peer does

INTRODUCTION = """# The SDKs and their peers

Written by `bench/sdk/run`, which says what it does with `--help`. Workers and servers share the machine; figures drift
from run to run, only ratios within one run count. All jobs are in the store before one worker with a concurrency of 16
starts; the handlers do nothing. The rate is that of the time from its first handler to the end of its last. Processor
time is that of the worker's and of the server's processes during that time. A row shows the run with the median rate;
the JSON has all. [How they are measured](../README.md#how-the-sdks-are-measured).
"""


def is_measured(row):
    return "jobs_per_s" in row


def best(rows):
    return max((row for row in rows if is_measured(row)), key=lambda row: row["jobs_per_s"], default=None)


def of_language(result, language):
    """(the SDK's best row, the best peer, the best peer that is synced)."""
    rows = [row for row in result["rows"] if row["language"] == language]
    peers = [row for row in rows if not row["is_own"]]
    return best(row for row in rows if row["is_own"]), best(peers), best(row for row in peers if row["is_synced"])


def times(own, peer):
    return own["jobs_per_s"] / peer["jobs_per_s"] if own and peer else None


def cell(value, form):
    return "" if value is None else format(value, form)


def table_row(result, row):
    name = f"**{row['label']}**" if row["is_own"] else row["label"]
    if not is_measured(row):
        reason = row.get("skipped", "not measured").replace("|", "/")
        return f"| {row['language']} | {name} | skipped: {reason} | | | | | | {row['durability']} | {row['mode']} |"
    ratio = None if row["is_own"] else times(of_language(result, row["language"])[0], row)
    return (
        f"| {row['language']} | {name} | {row['jobs_per_s']:,.0f} | {cell(ratio, '.2f')}{'x' if ratio else ''} | "
        f"{row['worker_us_a_job']:,.0f} | {row['server_us_a_job']:,.0f} | "
        f"{cell(row.get('idle_worker_ms'), ',.1f')} | {cell(row.get('idle_server_ms'), ',.1f')} | "
        f"{row['durability']} | {row['mode']} |"
    )


def warning(result):
    """A warning that a reader of the run needs, or None."""
    shares = [run["others_share"] for row in result["rows"] for run in row.get("runs", [])]
    if shares and max(shares) > BUSY_SHARE:
        typical = sorted(shares)[len(shares) // 2]
        return (
            f"The machine was busy with other work: it took {typical:.0%} of the processors in the middle run, "
            f"{max(shares):.0%} in the worst. The figures are no measure of anything."
        )
    return None


def wrapped(paragraph):
    return textwrap.fill(paragraph, 119, break_long_words=False, break_on_hyphens=False)


def markdown(result):
    facts = result["machine"]
    jobs = ", ".join(f"{language} {number:,}" for language, number in result["jobs"].items())
    lines = [
        wrapped(
            f"{facts['cores']} cores ({facts['cpu']}), {facts['memory_gib']} GiB, Linux {facts['kernel']}, "
            f"{facts['file_system']}, append and fdatasync {facts['sync_ms']} ms; {result['began']}; "
            f"`{result['command']}`; {result['rounds']} runs of each, by turns; jobs a run: {jobs}."
        ),
        "",
    ]
    if warning(result):
        lines += [f"**{warning(result)}**", ""]
    lines += [
        "| language | worker | jobs/s | the SDK is | worker, µs a job | server, µs a job | "
        f"idle worker, ms in {result['idle_s']} s | its server | durability | mode |",
        "| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- | --- |",
        *(table_row(result, row) for row in result["rows"]),
        "",
        *targets(result),
        wrapped("Versions: " + "; ".join(versions(result)) + "."),
    ]
    return "\n".join(lines)


def versions(result):
    """The programs of the rows, in order, without repetitions."""
    return list(dict.fromkeys(text for row in result["rows"] for text in row.get("versions", [])))


def targets(result):
    """Lines that compare the SDKs with their best peers; none without peers."""
    head = ["| language | against | at least | measured | |", "| --- | --- | ---: | ---: | --- |"]
    lines = []
    for language in dict.fromkeys(row["language"] for row in result["rows"]):
        own, peer, synced = of_language(result, language)
        for name, other, least in (("the best peer", peer, LEAST), ("the best that is synced", synced, None)):
            if not own or not other:
                continue
            ratio = math.floor(times(own, other) * 100) / 100
            verdict = "" if least is None else ("met" if ratio >= least else "**missed**")
            lines.append(
                f"| {language} | {name} ({other['label']}) | {cell(least, '')}{'x' if least else ''} | "
                f"{own['jobs_per_s']:,.0f} to {other['jobs_per_s']:,.0f}: {ratio:.2f}x | {verdict} |"
            )
    return [*head, *lines, ""] if lines else []


def page(result, source):
    return f"{INTRODUCTION}\nFrom [{source}]({source}).\n\n{markdown(result)}\n"
