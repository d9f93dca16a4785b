"""Makes the man pages from the program's own output: millrace(1) from the help of each command, millrace.toml(5) from
the table of settings. Both functions are generators of lines of roff.
"""

import json
import re
import subprocess

OPTION = re.compile(r"^  (\S.*?)(?:\s{2,}(\S.*))?$")
COLUMN = 34  # where the description of an option begins in the help


def roff(text):
    """Escapes text for roff, so that no line is a request and no character an escape."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    text = text.replace("~", "\\(ti").replace("^", "\\(ha")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


class Help:
    """The parsed help of one command: `usage`, `about`, `sections` of entries by title, and the `footer`."""

    def __init__(self, binary, path):
        text = subprocess.run([binary, *path, "--help"], capture_output=True, text=True, check=True, env={}).stdout
        head, _, rest = text.partition("Usage: ")
        self.path, self.about = path, " ".join(head.split())
        self.usage, _, rest = rest.partition("\n")
        self.sections, self.footer, at = {}, [], None
        for line in rest.splitlines():
            if line in ("Positionals:", "Options:", "Subcommands:") and not self.footer:
                at = self.sections.setdefault(line[:-1], [])
            elif at is not None and line.startswith(" " * COLUMN):
                at[-1][1].append(line.strip())
            elif at is not None and (entry := OPTION.match(line)) and not self.footer:
                # A name longer than its column is followed by one blank and its text.
                names, words = entry[1], entry[2]
                if words is None and len(line) > COLUMN and line[COLUMN - 1] == " ":
                    names, words = line[:COLUMN].strip(), line[COLUMN:]
                at.append((names, [words] if words else []))
            elif line or self.footer:
                at = None
                self.footer.append(line)
        self.footer = "\n".join(self.footer).split("\nEverywhere: ")[0].strip("\n")

    def children(self):
        return [names for names, _ in self.sections.get("Subcommands", [])]


def entries(help_, title):
    for names, words in help_.sections.get(title, []):
        if not names.startswith("-h,"):
            yield f".TP\n.B {roff(names)}\n{roff(' '.join(words)) or '.br'}"


def footer(text):
    """Fills prose; leaves indented lines, such as examples, unchanged."""
    indented = False
    for line in text.split("\n"):
        if line.startswith(" ") != indented:
            indented = not indented
            yield ".RS 2\n.nf" if indented else ".fi\n.RE"
        yield roff(line.strip()) if line else ".PP"
    if indented:
        yield ".fi\n.RE"


def title(name, section, date, manual):
    return f'.\\" Made by packaging/manual.py.\n.TH {roff(name)} {section} {date} Millrace "{manual}"\n.nh\n.ad l'


def commands(binary, when):
    date = f"{when:%Y-%m-%d}"
    top = Help(binary, [])
    yield title("MILLRACE", 1, date, "User Commands")
    yield f".SH NAME\nmillrace \\- {roff('durable job server, and its command line')}"
    yield f".SH SYNOPSIS\n.B millrace\n{roff(top.usage.removeprefix('millrace '))}"
    yield f".SH DESCRIPTION\n{roff(top.about)}\n.PP"
    yield roff("The server is `millrace serve`. The other commands are its clients, or tools beside it.")
    yield ".SH OPTIONS\nThese are there for every command."
    yield from entries(top, "Options")
    yield ".SH COMMANDS"
    left = [[child] for child in top.children()]
    while left:
        path = left.pop(0)
        help_ = Help(binary, path)
        left[:0] = [[*path, child] for child in help_.children()]
        if help_.children():
            continue
        yield f".SS {roff(help_.usage)}\n{roff(help_.about)}."
        yield from entries(help_, "Positionals")
        yield from entries(help_, "Options")
        if help_.footer:
            yield ".PP"
            yield from footer(help_.footer)
    yield ".SH EXIT STATUS\n0 where all went well. The reference lists the others."
    yield ".SH FILES\n.TP\n.I /etc/millrace/millrace.toml\nthe server's configuration"
    yield ".TP\n.I /var/lib/millrace\nthe jobs of the packaged service"
    yield ".SH SEE ALSO\n.BR millrace.toml (5)"


def settings(binary, when):
    date = f"{when:%Y-%m-%d}"
    shown = subprocess.run(
        [binary, "config", "show", "-o", "json", "--config", "/dev/null"],
        capture_output=True,
        text=True,
        check=True,
        env={},
    ).stdout
    yield title("MILLRACE.TOML", 5, date, "File Formats")
    yield ".SH NAME\nmillrace.toml \\- configuration of the Millrace server"
    yield ".SH DESCRIPTION"
    yield roff(
        "A file of TOML. Each key is also a flag of `millrace serve` and a variable of the environment: limits.body,"
        "\n--limits-body, MILLRACE_LIMITS_BODY. A flag wins over a variable, a variable over the file."
    )
    yield ".PP\n" + roff("Durations are written as 250ms, 10s, 2h30m or 7d, sizes as 4096, 64KiB or 16MiB.")
    yield ".SH KEYS"
    for setting in json.loads(shown):
        yield f".TP\n.B {roff(setting['key'])}\n{roff(setting['help'])}."
        yield f".br\n{roff(setting['type'])}; default: {roff(setting['default'])}"
        if setting["reload"] == "at once":
            yield ".br\nRead again at SIGHUP."
    yield ".SH TOKENS\n" + roff(
        "Each is a table [[tokens]] with name, hash and scopes; queues, expires_at and"
        "\npayload = false limit it. Read again at SIGHUP, but for the first and the last one."
    )
    yield roff("`millrace token new` makes one and prints its table.")
    yield ".SH FILES\n.I /etc/millrace/millrace.toml"
    yield ".SH SEE ALSO\n.BR millrace (1)"
