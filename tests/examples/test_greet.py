"""The guide's program in each language, a producer and a worker, run against a real server with the
SDK of this tree. A language without its tools is skipped.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/system"), str(ROOT / "tests")]

import harness  # noqa: E402 (its folder is on the path only now)

EXAMPLES = ROOT / "docs/guide/examples"
SDKS = ROOT / "sdk"
TIMEOUT_S = 900  # the first time, SDKs are built


class Greet(harness.MillraceCase):
    def setUp(self):
        super().setUp()
        self.use(self.new_server().start())
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="millrace-greet-"))
        self.addCleanup(shutil.rmtree, self.home)

    def command(self, *words, **settings):
        env = {**harness.environment(MILLRACE_URL=self.server.url), **settings}
        done = subprocess.run(
            [str(word) for word in words],
            cwd=self.home,
            env=env,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def greets(self, *words, **settings):
        self.assertEqual(self.command(*words, **settings).strip().strip('"'), "Hello, Ada")
        job = self.list_jobs(queue="greetings", include="result", fresh="true")[0]
        self.assertEqual((job["state"], job["result"]), ("succeeded", "Hello, Ada"))

    def needs(self, *tools):
        for tool in tools:
            if shutil.which(tool) is None:
                self.skipTest(f"there is no {tool}")

    def test_python(self):
        self.greets(sys.executable, EXAMPLES / "greet.py", PYTHONPATH=str(SDKS / "python/src"))

    def test_typescript(self):
        self.needs("node", "npm")
        self.command(SDKS / "typescript/build")
        (self.home / "node_modules/@millrace").mkdir(parents=True)
        (self.home / "node_modules/@millrace/sdk").symlink_to(SDKS / "typescript")
        shutil.copy(EXAMPLES / "greet.mjs", self.home)
        self.greets("node", "greet.mjs")

    def test_go(self):
        self.needs("go")
        shutil.copy(EXAMPLES / "greet.go", self.home / "main.go")
        module = "github.com/millrace/millrace/sdk/go"
        (self.home / "go.mod").write_text(
            f"module example.org/greet\n\ngo 1.21\n\nrequire {module} v0.0.0\n\nreplace {module} => {SDKS / 'go'}\n"
        )
        self.greets("go", "run", ".", GOFLAGS="-mod=mod", GOTOOLCHAIN="local")

    def test_java(self):
        self.needs("javac")
        self.command(SDKS / "java/conformance/run")  # only builds, since its input is empty
        classes = ROOT / "build/sdk/java/conformance/program.jar"
        self.greets("java", "-cp", classes, EXAMPLES / "Greet.java")

    def test_cpp(self):
        program = os.environ.get("GUIDE_GREETER", str(ROOT / "build/release/guide_greeter"))
        self.greets(program)


if __name__ == "__main__":
    harness.main()
