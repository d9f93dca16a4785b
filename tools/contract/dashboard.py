"""web/src/lib/types.ts: every shape of an answer, with the API's names."""

from . import interfaces
from .schema import MARK

# Names that the browser has for other things.
NAMES = {"Event": "FeedEvent", "Worker": "WorkerInfo"}
# Choices whose values the dashboard lists.
VALUES = {"JobState": "kStates"}


def files(contract):
    answers = contract.answers()
    style = interfaces.Style(width=120, names=NAMES, extends=True)
    parts = [f"// {MARK}\n"]
    for name, choice in contract.choices.items():
        if name in VALUES:
            parts.append(_listed(style, name, VALUES[name], choice.values, contract.description(name)))
        elif name in answers:
            parts.append(interfaces.choice(style, name, choice.values, contract.description(name)))
    for name, shape in contract.shapes.items():
        if name in answers and not name.endswith("Page"):
            parts.append(interfaces.interface(contract, style, shape))
    parts.append(
        "/** A page of a list. */\nexport interface Page<T> {\n  items: T[];\n  next_cursor: string | null;\n}\n"
    )
    return {"web/src/lib/types.ts": "\n".join(parts)}


def _listed(style, name, array, values, description):
    values = "".join(f'  "{value}",\n' for value in values)
    lines = [f"export const {array} = [\n{values}] as const;", *style.comment(description)]
    return "\n".join([*lines, f"export type {name} = (typeof {array})[number];", ""])
