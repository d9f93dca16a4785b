"""Runs the guide: types the commands that a reader is told to type, against a real server.

Each page of docs/guide has a fresh server, an empty directory and one shell, which runs its blocks
from top to bottom. The first line of a fenced block says what to do with it:

    ```sh run               typed; must succeed
    ```sh run fails         typed; must fail
    ```sh run background    typed, and left running until the page ends
    ```text output          the output of the block above; "..." stands for anything
    ```json output          the same as JSON; "..." is any value, a member "..." any further members
    ```python file=NAME     written to a file of the page's directory, executable if it begins with #!
    ```cpp from=PATH        the same text as that file's, from the page's folder

Other blocks are only for reading.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/system"), str(ROOT / "tests")]

import harness  # noqa: E402 (its folder is on the path only now)
import postgres  # noqa: E402

BLOCK_TIMEOUT_S = 60

FENCE = re.compile(r"^```(\S+)[ \t]*([^\n]*)\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


class Block:
    """One fenced block of a page."""

    def __init__(self, page, match):
        self.language, self.info, self.text = match.group(1), match.group(2).split(), match.group(3)
        self.where = f"{page.name}:{match.string.count(chr(10), 0, match.start()) + 1}"

    @property
    def action(self):
        if self.info[:1] == ["run"]:
            return " ".join(self.info)
        if self.info == ["output"]:
            return "output"
        if self.info and self.info[0].startswith(("file=", "from=")):
            return self.info[0].split("=")[0]
        return " ".join(self.info) or None

    @property
    def file_name(self):
        return self.info[0].split("=", 1)[1]


def blocks_of(page):
    return [Block(page, match) for match in FENCE.finditer(page.read_text())]


def text_matches(expected, actual):
    pattern = r".*?".join(re.escape(part) for part in expected.strip().split("..."))
    return re.fullmatch(pattern, actual.strip(), re.DOTALL) is not None


def json_matches(expected, actual):
    if expected == "...":
        return True
    if isinstance(expected, dict) and isinstance(actual, dict):
        named = {key for key in expected if key != "..."}
        return (
            named <= actual.keys()
            and ("..." in expected or named == actual.keys())
            and all(json_matches(expected[key], actual[key]) for key in named)
        )
    if isinstance(expected, list) and isinstance(actual, list):
        if expected[-1:] == ["..."]:
            expected = expected[:-1]
            actual = actual[: len(expected)]
        return len(expected) == len(actual) and all(map(json_matches, expected, actual))
    return type(expected) is type(actual) and expected == actual


class Shell:
    """A bash that keeps its variables from one block to the next."""

    MARK = "--end-of-block--"

    def __init__(self, directory, environment):
        self.directory = directory
        self.process = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=directory,
            env=environment,
            text=True,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.send("set -o pipefail -o errtrace; trap 'failed=$?' ERR")

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def run(self, text):
        """Returns (status of the last command that failed or 0, what was printed)."""
        script = self.directory / ".block.sh"
        script.write_text(text)
        self.send(f"failed=0; . ./.block.sh; printf '\\n%s %s\\n' {self.MARK} $failed")
        printed = []
        timer = threading.Timer(BLOCK_TIMEOUT_S, self.close)
        timer.start()
        try:
            for line in self.process.stdout:
                if line.startswith(self.MARK):
                    return int(line.split()[1]), "".join(printed)
                printed.append(line)
        finally:
            timer.cancel()
        return -1, "".join(printed) + f"\n[the shell ended, or took more than {BLOCK_TIMEOUT_S} s]"

    def background(self, text, number):
        script = self.directory / f".background-{number}.sh"
        script.write_text(text)
        self.send(f"(. ./{script.name}) >.background-{number}.log 2>&1 &")

    def close(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Guide(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.server = harness.Server()
        self.addCleanup(self.server.close)
        database = None
        if self._testMethodName in ON_POSTGRES:
            database = self.server.database = postgres.shared().new_database()
        self.server.start()
        self.home = self.server.home / "page"
        self.home.mkdir()
        self.shell = Shell(
            self.home,
            harness.environment(
                MILLRACE_URL=self.server.url,
                NO_COLOR=1,
                C_INCLUDE_PATH=str(ROOT / "sdk/cpp/include"),
                **({"DATABASE_URL": database} if database else {}),
                PATH=f"{pathlib.Path(harness.BINARY).resolve().parent}:{os.environ['PATH']}",
            ),
        )
        self.addCleanup(self.shell.close)

    def check_output(self, block, printed):
        if block.language == "json":
            try:
                actual = json.loads(printed)
            except json.JSONDecodeError:
                self.fail(f"{block.where}: expected JSON, the block above printed:\n{printed}")
            matches = json_matches(json.loads(block.text), actual)
        else:
            matches = text_matches(block.text, OF_THE_MACHINE.sub("", printed))
        self.assertTrue(matches, f"{block.where}: expected\n{block.text}\nthe block above printed\n{printed}")

    def run_page(self, page):
        printed = ""
        ran = 0
        for number, block in enumerate(blocks_of(page)):
            match block.action:
                case "run" | "run fails" as action:
                    status, printed = self.shell.run(block.text)
                    ran += 1
                    as_told = status == 0 if action == "run" else status > 0
                    self.assertTrue(as_told, f"{block.where}: status {status}, printed:\n{printed}")
                case "run background":
                    self.shell.background(block.text, number)
                    ran += 1
                case "file":
                    target = self.home / block.file_name
                    target.write_text(block.text)
                    target.chmod(0o755 if block.text.startswith("#!") else 0o644)
                case "from":
                    source = (page.parent / block.file_name).read_text()
                    self.assertEqual(source, block.text, f"{block.where} is not {block.file_name}")
                case "output":
                    self.check_output(block, printed)
                case None:
                    pass
                case other:
                    self.fail(f"{block.where}: no such instruction: {other}")
        self.assertGreater(ran, 0, f"{page.name} has no block that runs")
        self.assertIsNone(self.server.process.poll(), f"{page.name}: the server died on the way")


class Matching(unittest.TestCase):
    """Tests of the test itself: it must detect a wrong guide."""

    def test_text(self):
        self.assertTrue(text_matches("id ... done\n", "id 17 done"))
        self.assertFalse(text_matches("id ... done\n", "id 17 failed"))

    def test_findings_of_the_machine(self):
        disk = "warn  The server's disk is nearly full\n      1 of 9 GiB.\n      Next: make room\n"
        paused = "warn  Queue payments is paused\n      Next: resume it\n"
        self.assertEqual(OF_THE_MACHINE.sub("", disk + paused), paused)
        self.assertEqual(OF_THE_MACHINE.sub("", paused + disk), paused)

    def test_json(self):
        self.assertTrue(json_matches({"a": "...", "...": "..."}, {"a": 1, "b": 2}))
        self.assertFalse(json_matches({"a": "..."}, {"a": 1, "b": 2}))
        self.assertFalse(json_matches({"a": 1, "...": "..."}, {"b": 2}))
        self.assertFalse(json_matches([1, 2], [1]))
        self.assertTrue(json_matches([1, "..."], [1, 2, 3]))
        self.assertFalse(json_matches({"a": 1}, {"a": True}))


# What `doctor` tells of the machine that the tests run on, and of no page.
OF_THE_MACHINE = re.compile(r"^(?:bad |warn)  The server's disk is nearly full\n(?:      .*\n)*", re.MULTILINE)
# The pages without commands.
READ_ONLY = {"README.md"}
# The pages whose server uses PostgreSQL; DATABASE_URL names the database.
ON_POSTGRES = {"test_exactly_once"}


def add_page(page):
    name = "test_" + re.sub(r"\W+", "_", page.stem)
    setattr(Guide, name, lambda self: self.run_page(page))


for guide_page in sorted((ROOT / "docs/guide").glob("*.md")):
    if guide_page.name not in READ_ONLY:
        add_page(guide_page)

if __name__ == "__main__":
    unittest.main()
