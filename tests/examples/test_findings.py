"""The findings of the doctor, `top` and the dashboard are those that the reference lists."""

import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/reference/findings.md"
SOURCES = [*ROOT.glob("src/cli/findings/*.cc"), *ROOT.glob("src/cli/doctor/*.cc")]
DASHBOARD = ROOT / "web/src/lib/attention.ts"
ROW = re.compile(r"^\| `(\w+)` \| ([a-z ]+) \| (.+) \|$", re.M)
PLACE = re.compile(r"\b[A-Z]{2,}\b")  # a word in capitals


def listed():
    """{id: title}"""
    return {kind: title for kind, _, title in ROW.findall(PAGE.read_text())}


def literals():
    """The string literals of the sources, adjacent ones joined, with * for inserted values."""
    text = "".join(path.read_text() for path in SOURCES)
    joined = re.sub(r'"\s*\n\s*"', "", text)
    found = re.findall(r'"((?:[^"\\\n]|\\.)*)"', joined)
    return [re.sub(r"\{[^}]*\}", "*", each.replace('\\"', '"')) for each in found]


def pattern(title):
    return re.compile(".+".join(re.escape(part) for part in PLACE.split(title)) + "$")


class Words(unittest.TestCase):
    def test_the_reference_lists_each_finding(self):
        made = set()
        for path in SOURCES:
            text = path.read_text()
            made |= set(re.findall(r'\{"(\w+)",\s*(?:\w+(?: < [^?]*)? \?|Severity::)', text))
            made |= set(re.findall(r'\? "(\w+)" : "\w+",\s*\w+ > 0 \? Severity', text))
            made |= set(re.findall(r'\? "\w+" : "(\w+)",\s*\w+ > 0 \? Severity', text))
            made |= set(re.findall(r'\{"(\w+)", (?:over|none|far|p99|lag|age|room|free)\b', text))
        self.assertEqual(made - {"Severity"}, set(listed()))

    def test_the_titles_are_those_of_the_program(self):
        texts = literals()
        for kind, title in listed().items():
            wanted = pattern(title)
            self.assertTrue(any(wanted.match(text) for text in texts), f"{kind}: {title}")

    def test_the_dashboard_says_the_same(self):
        text = DASHBOARD.read_text()
        titles = re.findall(r"title: (?:[^`\n]*\? )?`([^`]*)`(?: : `([^`]*)`)?", text)
        titles = [each for pair in titles for each in pair if each]
        self.assertGreater(len(titles), 10)
        patterns = [pattern(title) for title in listed().values()]
        for title in titles:
            said = re.sub(r"\$\{[^}]*\}", "X", title).replace("“", '"').replace("”", '"')
            said = said.replace("X jobs of type", "X of type")
            self.assertTrue(any(p.match(said) for p in patterns), title)


if __name__ == "__main__":
    unittest.main(verbosity=2)
