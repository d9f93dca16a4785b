"""The scenarios as documentation, and the table of the SDKs that pass them."""

import re
import textwrap

import scenarios as subjects

from .paths import CONFORMANCE

HEADING = "## Which SDK passes what"
MARKS = {"passed": "yes", "failed": "no", "skipped": "-"}
TITLES = {"python": "Python", "typescript": "TypeScript", "go": "Go", "java": "Java", "cpp": "C++"}


def by_subject(scenarios):
    """(heading, its scenarios) for each subject with scenarios."""
    for subject, heading in subjects.SUBJECTS.items():
        some = [each for each in scenarios if each.subject == subject]
        if some:
            yield heading, some


def documentation(scenarios):
    """Each scenario with its sentence."""
    lines = []
    for heading, some in by_subject(scenarios):
        lines += [heading, ""]
        for each in some:
            lines.append(f"  {each.name}")
            wrapped = textwrap.wrap(each.sentence, 94, break_on_hyphens=False)
            lines += [f"      {line}" for line in wrapped]
        lines.append("")
    return "\n".join(lines + [f"{len(scenarios)} scenarios"])


def _marks(scenario, columns):
    for results in columns.values():
        found = [r for r in results if r.scenario is scenario]
        yield MARKS[found[0].outcome] if found else ""


def terminal(scenarios, columns):
    width = max(len(each.name) for each in scenarios)
    lines = [" " * width + "".join(f"  {name:>10}" for name in columns)]
    for each in scenarios:
        marks = "".join(f"  {mark:>10}" for mark in _marks(each, columns))
        lines.append(f"{each.name:<{width}}{marks}")
    return "\n".join(lines)


def markdown(scenarios, columns):
    """The table for the README, without its heading."""
    parts = [
        f"{len(scenarios)} scenarios. `sdk/conformance/run --list` says in a sentence what each",
        "wants to see; `sdk/conformance/run --all --write-table` writes this part.",
    ]
    head = " | ".join(TITLES.get(name, name) for name in columns)
    for heading, some in by_subject(scenarios):
        parts += ["", f"| {heading} | {head} |", "| --- |" + " --- |" * len(columns)]
        for each in some:
            cells = " | ".join(_marks(each, columns))
            parts.append(f"| {each.title.replace('_', ' ')} | {cells} |")
    return "\n".join(parts)


def write(scenarios, columns):
    readme = CONFORMANCE / "README.md"
    before = readme.read_text().split(HEADING, 1)[0]
    readme.write_text(f"{before}{HEADING}\n\n{markdown(scenarios, columns)}\n")


def titles_in_readme():
    """{heading: titles} of the present table."""
    text = (CONFORMANCE / "README.md").read_text().split(HEADING, 1)[1]
    found, heading = {}, None
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if not line.startswith("|") or re.match(r"^-+$", cells[0]):
            heading = heading if line.startswith("|") else None
        elif heading is None:
            heading = cells[0]
            found[heading] = []
        else:
            found[heading].append(cells[0])
    return found
