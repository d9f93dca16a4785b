"""Clients that generators make of docs/reference/openapi.yaml: each is generated, compiled strictly, and
makes five calls. A generator comes from its own registry, in a version that is fixed here, and is kept in
build/generators. Where it can't be had, its test says so and is skipped.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "system"))
import harness  # noqa: E402 (its folder is on the path only now)

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parents[1]
DESCRIPTION = ROOT / "docs/reference/openapi.yaml"
KEPT = ROOT / "build/generators"
TIMEOUT_S = 600


class Unobtainable(Exception):
    """The registry did not give what was asked for."""


def run(*args, cwd, **environment):
    """Runs a command that must succeed."""
    done = subprocess.run(
        list(map(str, args)),
        cwd=cwd,
        env=harness.environment(**environment),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    if done.returncode != 0:
        raise AssertionError(f"{args} ended with {done.returncode}:\n{done.stdout[-6000:]}")
    return done.stdout


def obtain(*args, cwd, **environment):
    try:
        run(*args, cwd=cwd, **environment)
    except AssertionError as error:
        raise Unobtainable(str(error)) from error


def kept(name, make):
    """The directory build/generators/NAME, which `make(directory)` fills once, whole or not at all."""
    directory = KEPT / name
    if not directory.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=KEPT) as draft:
            made = pathlib.Path(draft) / name
            made.mkdir()
            make(made)
            try:
                made.rename(directory)
            except OSError:  # another run was faster
                assert directory.exists()
    return directory


class Generated(harness.ServerCase):
    def setUp(self):
        super().setUp()
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="millrace-generated-"))
        self.addCleanup(shutil.rmtree, self.work)

    def needs(self, *tools):
        missing = [tool for tool in tools if shutil.which(tool) is None]
        if missing:
            self.skip(f"{', '.join(missing)} is missing")

    def skip(self, why):
        print(f"skipped: {self.id()}: {why}")
        self.skipTest(why)

    def obtained(self, name, make):
        try:
            return kept(name, make)
        except Unobtainable as error:
            return self.skip(f"no {name} from its registry: {str(error)[-300:]}")

    def check(self):
        """What the five calls did."""
        (job,) = self.list_jobs()
        self.assertEqual(job["state"], "succeeded")
        job = self.job(job["id"], include="payload,result")
        self.assertEqual((job["payload"], job["result"]), ({"name": "Ada"}, "Hello, Ada"))

    def test_go(self):
        self.needs("go")
        generator, runtime = "v2.8.2", "v1.9.0"
        settings = {"GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}

        def make(directory):
            obtain("go", "install",
                   f"github.com/oapi-codegen/oapi-codegen/v2/cmd/oapi-codegen@{generator}",
                   cwd=directory, GOTOOLCHAIN="local", GOBIN=directory)  # fmt: skip
            (directory / "go.mod").write_text(
                f"module example.invalid/calls\n\ngo 1.22\n\nrequire github.com/oapi-codegen/runtime {runtime}\n"
            )
            (directory / "imports.go").write_text(
                'package main\n\nimport _ "github.com/oapi-codegen/runtime"\n'
                'import _ "github.com/oapi-codegen/runtime/types"\n\nfunc main() {}\n'
            )
            obtain("go", "build", "-o", os.devnull, ".", cwd=directory, **settings)

        tools = self.obtained(f"oapi-codegen-{generator}-{runtime}", make)
        (self.work / "api").mkdir()
        run(tools / "oapi-codegen", "-generate", "types,client", "-package", "api",
            "-o", "api/api.go", DESCRIPTION, cwd=self.work)  # fmt: skip
        for file in (tools / "go.mod", tools / "go.sum"):
            shutil.copy(file, self.work)
        shutil.copy(HERE / "calls.go", self.work)
        run("go", "vet", "./...", cwd=self.work, **settings)
        run("go", "build", "-o", "calls", ".", cwd=self.work, **settings)
        run("./calls", self.server.url, self.queue, cwd=self.work)
        self.check()

    def test_java(self):
        self.needs("java", "javac", "mvn")
        version = "7.14.0"
        jar = f"openapi-generator-cli-{version}.jar"

        def make(directory):
            where = f"org.openapitools:openapi-generator-cli:{version}"
            obtain("mvn", "-q", "-B", "dependency:copy", f"-Dartifact={where}",
                   f"-DoutputDirectory={directory}", cwd=directory)  # fmt: skip

        tools = self.obtained(f"openapi-generator-{version}", make)
        client = self.work / "client"
        run("java", "-jar", tools / jar, "generate", "-i", DESCRIPTION, "-g", "java",
            "--library", "native", "--additional-properties", "containerDefaultToNull=true",
            "-o", client, cwd=self.work)  # fmt: skip
        shutil.copy(HERE / "Calls.java", client / "src/main/java")
        self.package(client)
        run("java", "-cp", "target/*:target/dependency/*", "Calls", self.server.url, self.queue,
            cwd=client)  # fmt: skip
        self.check()

    def package(self, client):
        """Compiles with the plugins and libraries that the generated pom.xml names."""
        command = ("-q", "-B", "package", "dependency:copy-dependencies", "-DincludeScope=runtime",
                   "-Dmaven.test.skip", "-Dmaven.javadoc.skip", "-Dmaven.source.skip")  # fmt: skip
        try:
            run("mvn", *command, cwd=client)
        except AssertionError as error:
            if "COMPILATION ERROR" in str(error) or "Could not transfer" not in str(error):
                raise
            self.skip(f"no libraries for the client from their registry: {str(error)[-300:]}")

    def test_typescript(self):
        self.needs("node", "npm")
        versions = {
            "openapi-typescript": "7.13.0",
            "openapi-fetch": "0.17.0",
            "typescript": "5.9.3",
            "@types/node": "20.19.43",
        }

        def make(directory):
            (directory / "package.json").write_text('{"private": true, "type": "module"}')
            obtain("npm", "install", "--silent", "--no-audit", "--no-fund", "--save-exact",
                   *(f"{name}@{version}" for name, version in versions.items()),
                   cwd=directory)  # fmt: skip

        tools = self.obtained("openapi-typescript-" + "-".join(list(versions.values())[:3]), make)
        (self.work / "node_modules").symlink_to(tools / "node_modules")
        shutil.copy(tools / "package.json", self.work)
        shutil.copy(HERE / "calls.ts", self.work)
        programs = self.work / "node_modules/.bin"
        run(programs / "openapi-typescript", DESCRIPTION, "-o", "api.d.ts", cwd=self.work)
        run(programs / "tsc", "--strict", "--noUncheckedIndexedAccess", "--exactOptionalPropertyTypes",
            "--target", "es2022", "--module", "nodenext", "--types", "node", "--outDir", "out",
            "calls.ts", cwd=self.work)  # fmt: skip
        run("node", "out/calls.js", self.server.url, self.queue, cwd=self.work)
        self.check()

    def test_python(self):
        version = "0.29.1"

        def make(directory):
            obtain(sys.executable, "-m", "venv", "--without-pip", directory / "venv", cwd=directory)
            obtain(sys.executable, "-m", "pip", "--python", directory / "venv/bin/python",
                   "install", "-q", f"openapi-python-client=={version}", cwd=directory)  # fmt: skip
            (directory / "config.yml").write_text("post_hooks: []\n")

        tools = self.obtained(f"openapi-python-client-{version}", make)
        run(tools / "venv/bin/python", "-m", "openapi_python_client", "generate",
            "--path", DESCRIPTION, "--output-path", "api", "--meta", "none",
            "--config", tools / "config.yml", "--fail-on-warning", cwd=self.work)  # fmt: skip
        shutil.copy(HERE / "calls.py", self.work)
        run(tools / "venv/bin/python", "calls.py", self.server.url, self.queue, cwd=self.work)
        self.check()


if __name__ == "__main__":
    unittest.main()
