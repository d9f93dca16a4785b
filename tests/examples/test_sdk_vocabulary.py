"""What the SDKs have in common, as far as their sources show it without being built."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SDKS = ("python", "typescript", "go", "java", "cpp")
sys.path.insert(0, str(ROOT / "tools"))

from contract import text  # noqa: E402 (the path stands above the import)


class Descriptions(unittest.TestCase):
    """Descriptions of openapi.yaml in the types of a language: tools/types."""

    def test_names_are_the_languages_and_values_are_the_apis(self):
        names = {"fair_key": "fairKey", "expires_at": "expiresAt"}
        for said, wanted in (
            ("not together with `expires_at`", "not together with `expiresAt`"),
            ("With `by=fair_key`; null of `others`.", "With `by=fair_key`; null of `others`."),
            ("`fair_key=acme`, and fair_key", "`fairKey=acme`, and fair_key"),
        ):
            self.assertEqual(text.renamed(said, names), wanted)


TABLE_ROW = re.compile(r"^\| `(\w+)` \| ([\d,]+) ?(ms|s|KiB|MiB|) \|", re.MULTILINE)
SCALE = {"": 1, "ms": 1, "s": 1000, "KiB": 1 << 10, "MiB": 1 << 20}
NUMBER = r"[\d._' <]+"  # 1_000, 1'000, 0.2 and 4 << 20
# Where the constants of an SDK are, and how a line gives one: its name, its value, and how many milliseconds or units
# that is.
SOURCES = {
    "python": ("src/millrace/_constants.py", rf"^([A-Z_]+?)(_S)? = ({NUMBER})$"),
    "typescript": ("src/constants.ts", rf"^export const ([A-Z_]+)() = ({NUMBER});"),
    "go": ("constants.go", rf"^\t(\w+) += ()({NUMBER})(?: \* time\.(\w+))?$"),
    "java": (
        "millrace/src/main/java/dev/millrace/Constants.java",
        rf"^  static final \w+ ([A-Z_]+)() = (?:Clock\.millis\()?({NUMBER})",
    ),
    "cpp": ("constants.h", rf"^constexpr \S+ k(\w+)()(?: = |\{{)({NUMBER})"),
}
GO_UNITS = {None: 1, "Millisecond": 1, "Second": 1000}
# Two defaults of options, which programs may change.
CPP_OPTIONS = {"last_flush": "flush_timeout", "outcome_delay": "ack_delay"}


def number(text):
    text = re.sub("[_', ]", "", text)
    base, _, shift = text.partition("<<")
    return float(base) * 2 ** int(shift or 0)


def snake(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()


def constants_of(sdk):
    """The constants of an SDK by the table's names: milliseconds, or numbers."""
    path, line = SOURCES[sdk]
    found = {}
    for match in re.finditer(line, (ROOT / "sdk" / sdk / path).read_text(encoding="utf-8"), re.MULTILINE):
        name, is_seconds, value = match.group(1, 2, 3)
        unit = GO_UNITS[match[4]] if sdk == "go" else 1000 if is_seconds and not name.endswith("_PER") else 1
        name = name + "_S" if name.endswith("_PER") else name
        found[snake(name)] = number(value) * unit
    if sdk == "cpp":
        options = (ROOT / "sdk/cpp/include/millrace/worker.h").read_text(encoding="utf-8")
        for name, member in CPP_OPTIONS.items():
            found[name] = number(re.search(rf"Milliseconds {member}\{{({NUMBER})\}}", options)[1])
    return found


class Constants(unittest.TestCase):
    """The table in sdk/conformance/README.md."""

    def test_the_sdks_have_the_constants_of_the_table(self):
        page = (ROOT / "sdk/conformance/README.md").read_text(encoding="utf-8")
        table = page.split("## One table of constants")[1].split("\n## ")[0]
        wanted = {name: number(value) * SCALE[unit] for name, value, unit in TABLE_ROW.findall(table)}
        self.assertGreater(len(wanted), 15)
        for sdk in SDKS:
            self.assertEqual(constants_of(sdk), wanted, f"the constants of {sdk}")


class Pages(unittest.TestCase):
    """What the page of every SDK says."""

    def test_each_page_says_what_surprises(self):
        for name in SDKS:
            page = " ".join((ROOT / f"sdk/{name}/README.md").read_text(encoding="utf-8").split())
            for said in ("counts from 1, and again from 1 after a retry by hand", "asks again for 2 s"):
                self.assertTrue(said in page, f"the page of {name} does not say {said!r}")

    def test_each_page_has_the_workflows_of_the_guide(self):
        for name in SDKS:
            page = (ROOT / f"sdk/{name}/README.md").read_text(encoding="utf-8")
            section = page.split("\n## Workflows\n")[1].split("\n## ")[0]
            for said in ("docs/guide/workflows.md", "catalogue", "nightly", "order"):
                self.assertTrue(said in section.lower(), f"workflows of {name} do not say {said!r}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
