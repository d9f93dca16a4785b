"""Lines of comments, for all emitters."""

import re
import textwrap


def wrapped(text, indent, lead, width):
    """The lines of a text behind an indentation and a lead such as `// `, filled up to a width."""
    return textwrap.wrap(
        text, width, initial_indent=indent + lead, subsequent_indent=indent + lead,
        break_long_words=False, break_on_hyphens=False,
    )  # fmt: skip


def block(text, indent, width):
    """A comment of `/** ... */`: one line if it fits, else several. Nothing for no text."""
    if not text:
        return []
    if len(indent) + len(text) + 7 <= width:
        return [f"{indent}/** {text} */"]
    return [f"{indent}/**", *wrapped(text, indent, " * ", width), f"{indent} */"]


def renamed(text, names):
    """A description whose names in backquotes are those of a language; `names` maps the API's to them. What stands
    behind an `=` is a value, and no name.
    """
    name = re.compile(r"(?<!=)\b\w+")
    return re.sub(r"`[^`]+`", lambda span: name.sub(lambda word: names.get(word[0], word[0]), span[0]), text)


def camel(name):
    """`max_attempts` becomes `maxAttempts`."""
    return re.sub(r"_([a-z0-9])", lambda match: match[1].upper(), name)


def pascal(name):
    """`max_attempts` becomes `MaxAttempts`."""
    return camel(f"_{name}")
