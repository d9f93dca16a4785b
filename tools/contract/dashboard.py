"""web/src/lib/types.ts: every shape of an answer, with the API's names."""

from . import text
from .schema import MARK

FILE = "web/src/lib/types.ts"
WIDTH = 120
# Names that the browser has for other things.
NAMES = {"Event": "FeedEvent", "Worker": "WorkerInfo"}
# Choices whose values the dashboard lists.
VALUES = {"JobState": "kStates"}


def files(contract):
    answers = contract.answers()
    parts = [f"// {MARK}\n"]
    for name, choice in contract.choices.items():
        if name in answers:
            parts.append(_choice(contract, name, choice))
    for name, shape in contract.shapes.items():
        if name in answers and not name.endswith("Page"):
            parts.append(_shape(contract, shape))
    parts.append("/** A page of a list. */\nexport interface Page<T> {\n  items: T[];\n  next_cursor: string | null;\n}\n")
    return {FILE: "\n".join(parts)}


def _choice(contract, name, choice):
    comment = _comment(contract.description(name))
    if name in VALUES:
        values = "".join(f'  "{value}",\n' for value in choice.values)
        return (
            f"export const {VALUES[name]} = [\n{values}] as const;\n"
            f"{comment}export type {name} = (typeof {VALUES[name]})[number];\n"
        )
    values = [f'"{value}"' for value in choice.values]
    return comment + "\n".join(text.union(f"export type {name} =", values, ";", WIDTH)) + "\n"


def _comment(description):
    return "".join(line + "\n" for line in text.block(description, "", WIDTH))


def _shape(contract, shape):
    name = NAMES.get(shape.name, shape.name)
    comment = _comment(shape.description)
    if shape.variants:
        return f"{comment}export type {name} = {' | '.join(shape.variants)};\n"
    kept = [contract.shapes[parent] for parent in shape.parents]
    kept = [parent for parent in kept if set(parent.members) <= set(shape.members)]
    inherited = {member for parent in kept for member in parent.members}
    extends = f" extends {', '.join(NAMES.get(parent.name, parent.name) for parent in kept)}" if kept else ""
    lines = []
    for member in shape.members:
        if member not in inherited:
            lines += text.block(member.description, "  ", WIDTH)
            before = f"{member.name}{'' if member.required else '?'}:"
            lines += text.union(before, _alternatives(member.type), ";", WIDTH, "  ")
    if not lines:
        return f"{comment}export type {name} = {' & '.join(parent.name for parent in kept)};\n"
    return "\n".join([f"{comment}export interface {name}{extends} {{", *lines, "}\n"])


def _alternatives(type):
    plain = {"text": "string", "time": "string", "integer": "number", "number": "number", "json": "unknown"}
    if type.kind == "json":
        return ["unknown"]
    if type.kind == "list":
        item = " | ".join(_alternatives(type.of))
        found = [f"({item})[]" if "|" in item else f"{item}[]"]
    elif type.kind == "map":
        found = [f"Record<string, {' | '.join(_alternatives(type.of))}>"]
    elif type.kind == "choice" and not type.name:
        found = [f'"{value}"' for value in type.values]
    else:
        found = [NAMES.get(type.name, type.name) or plain.get(type.kind, type.kind)]
    return found + ["null"] if type.nullable else found
