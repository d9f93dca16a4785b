"""Builds the measured workers, each in a separate folder that git ignores, and returns the commands to start them. The
peers' dependencies come from their languages' registries, in the versions of versions.py."""

import contextlib
import os
import pathlib
import platform
import shutil
import sys
import xml.sax.saxutils

import install
import versions

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILT = ROOT / "build/bench-sdk"
DEBIAN = ROOT / "build/compare"  # shared with bench/compare
SDK = ROOT / "sdk"
PYTHON = f"Python {platform.python_version()}"


class Program:
    """A command that takes a role (`enqueue` or `work`), a number of jobs, a port, and then the tail."""

    def __init__(self, command, folder, environment=None, tail=(), runs=()):
        self.command, self.folder, self.environment = [str(word) for word in command], folder, environment or {}
        self.tail, self.versions = list(tail), list(runs)

    def called(self, role, jobs, port):
        return [*self.command, role, str(jobs), str(port), *self.tail]


def folder_for(name, *sources):
    """The folder of a program, with copies of its sources and of the shared harness."""
    folder = BUILT / name
    folder.mkdir(parents=True, exist_ok=True)
    for source in sources:
        copy = folder / source.name
        if not copy.exists() or copy.read_bytes() != source.read_bytes():
            shutil.copy(source, copy)
    return folder


def is_new(path, text):
    """Writes the text if the file differs. True: files made from it must be made again."""
    if path.exists() and path.read_text() == text:
        return False
    path.write_text(text)
    return True


@contextlib.contextmanager
def unless_done(folder, text):
    """Whether a step must be done: it has not been completed with these settings."""
    mark = folder / ".installed"
    needed = not mark.exists() or mark.read_text() != text
    yield needed
    mark.write_text(text)


def quietly(*command, cwd=None, environment=None):
    return install.quietly(["nice", *command], cwd, environment)


def loudly(*command, cwd=None):
    """For compilers that print errors on standard output."""
    return quietly("sh", "-c", 'exec "$@" >&2', "sh", *command, cwd=cwd)


def python_sdk(kind):
    def build(say):
        folder = folder_for("python", HERE / "own" / f"{kind}.py", HERE / "harness/tally.py")
        return Program(
            [sys.executable, folder / f"{kind}.py"], folder, {"PYTHONPATH": str(SDK / "python/src")}, runs=[PYTHON]
        )

    return build


def python_peer(name, *arguments):
    def build(say):
        folder = folder_for(name, HERE / "peers" / name / "program.py", HERE / "harness/tally.py")
        wanted = versions.PYTHON[name]
        with unless_done(folder, repr(wanted)) as needed:
            if needed:
                say(f"pip install {' '.join(wanted)}, into {folder.relative_to(ROOT)}")
                quietly(sys.executable, "-m", "venv", "--clear", folder / "venv")
                quietly(
                    folder / "venv/bin/pip", "install", "--quiet", "--no-input", "--disable-pip-version-check", *wanted
                )
        return Program(
            [folder / "venv/bin/python", folder / "program.py"],
            folder,
            tail=arguments,
            runs=[PYTHON, wanted[0].replace("==", " ")],
        )

    return build


def node_programs(node):
    """A folder with node, npm and npx for scripts that call them by name; the links that they come with are broken."""
    folder = BUILT / "node"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("npm", "npx"):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec "{node.program}" "{node.npm[1].with_name(f"{name}-cli.js")}" "$@"\n')
        script.chmod(0o755)
    return {"PATH": f"{folder}:{node.program.parent}:{os.environ['PATH']}"}


def typescript_sdk(say):
    node = install.Node(DEBIAN, say)
    folder = folder_for("typescript", HERE / "own/worker.mjs", HERE / "harness/tally.mjs")
    quietly(SDK / "typescript/build", environment=node_programs(node))
    link = folder / "node_modules/@millrace/sdk"
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(SDK / "typescript")
    return Program([node.program, folder / "worker.mjs"], folder, runs=[node.version])


def bullmq(say):
    node = install.Node(DEBIAN, say)
    folder = folder_for("bullmq", HERE / "peers/bullmq/program.mjs", HERE / "harness/tally.mjs")
    wanted = versions.NPM["bullmq"]
    package = '{"private": true, "type": "module", "dependencies": %s}\n' % str(wanted).replace("'", '"')
    with unless_done(folder, package) as needed:
        if needed:
            say(
                f"npm install {' '.join(f'{name}@{version}' for name, version in wanted.items())}, "
                f"in {folder.relative_to(ROOT)}"
            )
            (folder / "package.json").write_text(package)
            quietly(
                *node.npm,
                "install",
                "--no-package-lock",
                "--no-audit",
                "--no-fund",
                cwd=folder,
                environment=node.environment(),
            )
    return Program([node.program, folder / "program.mjs"], folder, runs=[node.version, f"bullmq {wanted['bullmq']}"])


def go_program(folder, module, say, *packages):
    """A Go program made of the files in the folder."""
    if is_new(folder / "go.mod.wanted", module):
        say(f"go mod tidy, in {folder.relative_to(ROOT)}")
        (folder / "go.mod").write_text(module)
        quietly("go", "mod", "tidy", cwd=folder)
    quietly("go", "build", "-buildvcs=false", "-o", "program", ".", cwd=folder)
    return Program([folder / "program"], folder, runs=[quietly("go", "version").strip().rpartition(" ")[0], *packages])


def go_sdk(say):
    folder = folder_for("go", HERE / "own/main.go", HERE / "harness/tally.go")
    return go_program(
        folder,
        "module bench\n\ngo 1.21\n\nrequire github.com/millrace/millrace/sdk/go v0.0.0\n\n"
        f"replace github.com/millrace/millrace/sdk/go => {SDK / 'go'}\n",
        say,
    )


def go_peer(name):
    def build(say):
        folder = folder_for(name, HERE / "peers" / name / "main.go", HERE / "harness/tally.go")
        required = "".join(f"\t{module} {version}\n" for module, version in versions.GO[name].items())
        return go_program(
            folder,
            f"module bench\n\ngo 1.25\n\nrequire (\n{required})\n",
            say,
            " ".join(next(iter(versions.GO[name].items()))),
        )

    return build


def javac(folder, sources, classpath):
    classes = folder / "classes"
    shutil.rmtree(classes, ignore_errors=True)
    quietly(
        "javac", "--release", "17", "-nowarn", "-XDignore.symbol.file", "-d", classes, "-classpath", classpath, *sources
    )
    return classes


def java_version():
    return f"Java {quietly('java', '--version').split()[1]}"


def java_sdk(say):
    folder = folder_for("java", HERE / "own/Own.java", HERE / "harness/Tally.java")
    sources = [
        path for path in (SDK / "java/millrace/src/main/java").rglob("*.java") if path.name != "module-info.java"
    ]
    classes = javac(folder, [*sources, folder / "Own.java", folder / "Tally.java"], folder)
    resources = SDK / "java/millrace/src/main/resources"
    return Program(["java", "-classpath", f"{classes}:{resources}", "Own"], folder, runs=[java_version()])


POM = """<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>bench</groupId>
  <artifactId>bench</artifactId>
  <version>1</version>
  <dependencies>
{dependencies}
  </dependencies>
</project>
"""
DEPENDENCY = """    <dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"""
COPY = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1:copy-dependencies"


def jobrunr(say):
    folder = folder_for("jobrunr", HERE / "peers/jobrunr/Peer.java", HERE / "harness/Tally.java")
    escaped = {name: xml.sax.saxutils.escape(version) for name, version in versions.MAVEN["jobrunr"].items()}
    pom = POM.format(
        dependencies="\n".join(DEPENDENCY.format(*name.split(":"), version) for name, version in escaped.items())
    )
    with unless_done(folder, pom) as needed:
        if needed:
            say(f"mvn dependency:copy-dependencies, in {folder.relative_to(ROOT)}")
            (folder / "pom.xml").write_text(pom)
            shutil.rmtree(folder / "jars", ignore_errors=True)
            quietly("mvn", "-q", "-B", COPY, f"-DoutputDirectory={folder / 'jars'}", cwd=folder)
    classes = javac(folder, [folder / "Peer.java", folder / "Tally.java"], f"{folder / 'jars'}/*")
    return Program(
        ["java", "-classpath", f"{classes}:{folder / 'jars'}/*", "Peer"],
        folder,
        runs=[java_version(), f"jobrunr {versions.MAVEN['jobrunr']['org.jobrunr:jobrunr']}"],
    )


def cpp_sdk(say):
    folder = BUILT / "cpp"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "own").exists():
        say("building the C++ library, a minute or two")
    compiler = shutil.which("clang++-19")  # the one that the project itself takes
    quietly(
        "cmake",
        "-G",
        "Ninja",
        "-S",
        HERE / "own",
        "-B",
        folder,
        "-DCMAKE_BUILD_TYPE=Release",
        *([f"-DCMAKE_CXX_COMPILER={compiler}"] if compiler else []),
    )
    loudly("cmake", "--build", folder, "--target", "own", "--parallel", str(os.cpu_count()))
    return Program([folder / "own"], folder)
