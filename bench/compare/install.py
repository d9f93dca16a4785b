"""Brings the peers onto this machine, into one folder that git ignores: Debian's packages through apt-get, unpacked
beside the system and not into it (no service starts, nothing needs the superuser), and those of npm through npm."""

import os
import pathlib
import re
import shutil
import subprocess
import urllib.parse

from processes import ROOT, Skipped, reason_in

HERE = pathlib.Path(__file__).resolve().parent
DOWNLOAD_S = 600


def quietly(command, cwd=None):
    """The output of a command, or Skipped with the end of what it said."""
    try:
        run = subprocess.run([str(word) for word in command], cwd=cwd, capture_output=True, text=True,
                             timeout=DOWNLOAD_S, check=False)
    except FileNotFoundError:
        raise Skipped(f"{command[0]} is not installed") from None
    except subprocess.TimeoutExpired:
        raise Skipped(f"{command[0]} took more than {DOWNLOAD_S} s") from None
    if run.returncode != 0:
        raise Skipped(f"{pathlib.Path(command[0]).name} {command[1]} failed: {reason_in(run.stderr)}")
    return run.stdout


class Debian:
    """An unpacked package with what it needs, as far as the system lacks it."""

    def __init__(self, cache, package, say):
        self.root = cache / "debian" / package / "root"
        archives = cache / "debian" / package / "archives"
        if not self.root.exists():
            plan = quietly(["apt-get", "install", "--simulate", "--no-install-recommends", package])
            missing = re.findall(r"^Inst (\S+) \(", plan, re.M)  # one that has a [version] before is there
            if missing:
                say(f"apt-get download {' '.join(missing)}")
                say(f"(unpacked into {self.root.relative_to(ROOT)}, not installed)")
            archives.mkdir(parents=True, exist_ok=True)
            half = self.root.with_name("half")
            half.mkdir(exist_ok=True)
            if missing:
                quietly(["apt-get", "download", "-o", "APT::Sandbox::User=root", *missing], archives)
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
        """What a program of the package needs to find what was unpacked with it."""
        libraries = self.root / "usr/lib"
        found = [folder for folder in libraries.glob("*-linux-gnu") if folder.is_dir()]
        inherited = os.environ.get("LD_LIBRARY_PATH")
        return {"LD_LIBRARY_PATH": ":".join([*map(str, found), *([inherited] if inherited else [])])}

    def ruby_environment(self):
        libraries = self.root / "usr/lib"
        folders = [libraries / "ruby/vendor_ruby", *libraries.glob("ruby/3.*"), *libraries.glob("*/ruby/3.*"),
                   *libraries.glob("*/ruby/vendor_ruby/3.*"),
                   *self.root.glob("usr/share/rubygems-integration/all/gems/*/lib")]
        return {**self.environment(), "RUBYLIB": ":".join(map(str, folders)),
                "GEM_PATH": str(self.root / "usr/share/rubygems-integration/all")}


def postgres_programs(cache, say):
    """(folder of initdb and postgres, version) of the newest PostgreSQL of Debian."""
    debian = Debian(cache, "postgresql", say)
    folders = [*debian.root.glob("usr/lib/postgresql/*/bin"), *pathlib.Path("/usr/lib/postgresql").glob("*/bin")]
    folders = [folder for folder in folders if (folder / "initdb").exists()]
    if not folders:
        raise Skipped("no initdb in Debian's postgresql")
    folder = max(folders, key=lambda each: float(each.parent.name))
    return folder, quietly([folder / "postgres", "--version"]).split()[2]


def node_client(cache, peer, package, say):
    """(folder of the client beside its packages, the version of the package)."""
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
        quietly(["npm", "install", "--no-package-lock", "--no-audit", "--no-fund"], folder)
    return folder, re.search(r'"version":\s*"([^"]+)"', module.read_text()).group(1)
