"""Interfaces of TypeScript, as Prettier leaves them: for the dashboard and for the SDK."""

import dataclasses

from . import text


@dataclasses.dataclass
class Style:
    width: int
    names: dict  # of shapes, where they are not the contract's
    member: object = lambda member: member.name  # the name of a member
    describe: object = lambda member: member.description
    words: dict = dataclasses.field(default_factory=dict)  # the language's names by the API's, for comments
    given_time: str = "string"  # the type of a time in a request
    short: dict = dataclasses.field(default_factory=dict)  # a type that may stand in place of a shape
    generics: dict = dataclasses.field(default_factory=dict)  # the type parameters of a shape, by member
    extends: bool = False  # whether a shape extends its parents
    required_first: bool = False

    def comment(self, description, indent=""):
        return text.block(text.renamed(description, self.words), indent, self.width)


def choice(style, name, values, description):
    values = [f'"{value}"' for value in values]
    return "\n".join([*style.comment(description), *_union(f"export type {name} =", values, ";", style.width), ""])


def interface(contract, style, shape):
    name = style.names.get(shape.name, shape.name)
    comment = style.comment(shape.description)
    if shape.variants:
        return "\n".join([*comment, f"export type {name} = {' | '.join(shape.variants)};", ""])
    parents = [contract.shapes[parent] for parent in shape.parents if style.extends]
    parents = [parent for parent in parents if set(parent.members) <= set(shape.members)]
    inherited = {member for parent in parents for member in parent.members}
    extends = (
        f" extends {', '.join(style.names.get(parent.name, parent.name) for parent in parents)}" if parents else ""
    )
    generics = style.generics.get(shape.name, {})
    parameters = f"<{', '.join(f'{each.split()[0]} = unknown' for each in generics.values())}>" if generics else ""
    lines = []
    members = shape.required_first if style.required_first else shape.members
    for member in members:
        if member not in inherited:
            before = f"{style.member(member)}{'' if member.required else '?'}:"
            found = [generics[member.name]] if member.name in generics else alternatives(style, member.type)
            lines += style.comment(style.describe(member), "  ")
            lines += _union(before, found, ";", style.width, "  ")
    return "\n".join([*comment, f"export interface {name}{parameters}{extends} {{", *lines, "}", ""])


def alternatives(style, type):
    """The types of TypeScript that a value may have."""
    plain = {"text": "string", "integer": "number", "json": "unknown"}
    if type.kind == "list":
        item = " | ".join(alternatives(style, type.of))
        found = [f"({item})[]" if "|" in item else f"{item}[]"]
    elif type.kind == "map":
        found = [f"Record<string, {' | '.join(alternatives(style, type.of))}>"]
    elif type.kind == "choice" and not type.name:
        found = [f'"{value}"' for value in type.values]
    elif type.kind == "time":
        found = [style.given_time if type.given else "string"]
    else:
        found = [style.names.get(type.name, type.name) or plain.get(type.kind, type.kind)]
        found += [style.short[type.name]] if type.name in style.short else []
    return found + ["null"] if type.nullable and type.kind != "json" else found


def _union(before, values, after, width, indent=""):
    """The lines of a declaration with alternatives."""
    line = f"{indent}{before} {' | '.join(values)}{after}"
    if len(line) <= width:
        return [line]
    line = f"{indent}  {' | '.join(values)}{after}"
    if len(line) <= width:
        return [f"{indent}{before}", line]
    return [f"{indent}{before}", *(f"{indent}  | {value}" for value in values[:-1]), f"{indent}  | {values[-1]}{after}"]
