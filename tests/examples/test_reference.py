"""Compares the reference pages with the binary: both must have the same entries. tools/cli-reference writes cli.md;
the other pages are written by hand.
"""

import contextlib
import importlib.machinery
import importlib.util
import json
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/system"))

import harness  # noqa: E402 (its folder is on the path only now)

REFERENCE = ROOT / "docs/reference"

loader = importlib.machinery.SourceFileLoader("cli_reference", str(ROOT / "tools/cli-reference"))
cli_reference = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
loader.exec_module(cli_reference)


def table_rows(page):
    """The rows of all tables of a page, as lists of cells without their back quotes."""
    rows = []
    for line in (REFERENCE / page).read_text().splitlines():
        if line.startswith("| ") and not line.startswith("| ---"):
            rows.append([cell.strip() for cell in line.strip("| ").split(" | ")])
    return rows


def named(rows, pattern=r"[\w.]+"):
    """first cell -> row, for the rows whose first cell is a name in back quotes."""
    return {match.group(1): row for row in rows if (match := re.fullmatch(f"`({pattern})`", row[0]))}


class Reference(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.server = harness.Server("--otlp-endpoint", "http://127.0.0.1:9")
        cls.addClassCleanup(cls.server.close)
        cls.server.start()

    def client(self):
        made = self.server.client()
        self.addCleanup(made.close)
        return made

    def test_cli(self):
        self.assertEqual(
            (REFERENCE / "cli.md").read_text(),
            cli_reference.index(),
            "write it anew: tools/cli-reference",
        )

    def test_configuration(self):
        shown = harness.run("config", "show", "-o", "json", env=harness.environment(), cwd=self.server.home)
        self.assertEqual(shown.returncode, 0, shown.stderr)
        actual = {entry["key"]: str(entry["value"]) for entry in json.loads(shown.stdout)}
        page = (REFERENCE / "configuration.md").read_text().split("## Tokens")[0]
        documented = dict(re.findall(r"^\| `([\w.]+)` \| `([^`]+)` \|", page, re.MULTILINE))
        self.assertEqual(documented, actual)

    def test_metrics(self):
        api = self.client()
        api.post("/v1/jobs", {"type": "t", "queue": "q"})
        job = api.post("/v1/claim", {"queues": ["q"], "worker": {"id": "w"}}).json["jobs"][0]
        item = {"id": job["id"], "token": job["lease"]["token"], "outcome": "succeeded"}
        api.post("/v1/ack", {"items": [item]})
        documented = set(named(table_rows("metrics.md")))

        def exported():
            return set(re.findall(r"^# TYPE (\w+) ", api.get("/metrics").body.decode(), re.MULTILINE))

        with contextlib.suppress(AssertionError):
            harness.eventually(lambda: exported() == documented)  # some appear with the first rows
        self.assertEqual(documented, exported())

    def test_errors(self):
        description = self.client().get("/v1/openapi.json").json
        codes = set(description["components"]["schemas"]["Problem"]["properties"]["code"]["enum"])
        documented = {name: row[1] for name, row in named(table_rows("errors.md")).items()}
        self.assertEqual(set(documented), codes)
        source = (ROOT / "src/api/problem.cc").read_text()
        for status, code in re.findall(r"\{ProblemCode::\w+,\s*(\d+),\s*\"(\w+)\"", source):
            self.assertEqual(documented[code], status, code)

    def test_findings(self):
        """The server's, as the contract lists them, and those that the doctor's machine adds."""
        page = (REFERENCE / "findings.md").read_text()
        servers, machine = page.split("## This machine")
        codes = self.client().get("/v1/openapi.json").json["components"]["schemas"]["FindingCode"]["enum"]
        row = re.compile(r"^\| `(\w+)` \| ", re.M)
        self.assertEqual(row.findall(servers), list(dict.fromkeys(row.findall(servers))))
        self.assertEqual(set(row.findall(servers)), set(codes))
        source = "".join(path.read_text() for path in (ROOT / "src/cli/doctor").glob("*.cc"))
        self.assertEqual(set(row.findall(machine)), set(re.findall(r'\{"([a-z_]+)",', source)) - {"disk_full"})

    def test_examples_of_answers(self):
        """What the page shows of an answer is what the server answers."""
        block = re.search(r"```json\n(.*?)```", (REFERENCE / "errors.md").read_text(), re.DOTALL)
        reply = self.client().post("/v1/jobs", {"type": "t", "priority": 99999})
        shown = json.loads(block.group(1))
        self.assertEqual(list(shown), list(reply.json))
        self.assertEqual({**reply.json, "request_id": "..."}, shown)

    def test_limits(self):
        """Every limit that the server tells stands on the page, as a number that people write."""
        page = (REFERENCE / "limits.md").read_text()
        for name, value in self.client().get("/v1/meta").json["limits"].items():
            spellings = [f"{value:,}", f"{value}"]
            for unit, size in (("KiB", 1024), ("MiB", 1024**2)):
                if value % size == 0:
                    spellings.append(f"{value // size} {unit}")
            for unit, size in (("s", 1000), ("hours", 3_600_000), ("days", 86_400_000)):
                if value % size == 0:
                    spellings.append(f"{value // size} {unit}")
            self.assertTrue(
                any(re.search(rf"(?<![\d,]){re.escape(text)}(?![\d,])", page) for text in spellings),
                f"{name} = {value} is not in limits.md",
            )


class Parsing(unittest.TestCase):
    """Tests of the test itself."""

    def test_sub_commands(self):
        text = "Usage: x\n\nSubcommands:\n  serve    runs it\n  job      looks\n           at jobs\n\nOptions:\n  -h  help\n"
        self.assertEqual(cli_reference.sub_commands(text), ["serve", "job"])


if __name__ == "__main__":
    unittest.main()
