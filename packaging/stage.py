"""Lays out the trees from which tools/package makes packages. Every byte and mode depends only on the build and the
commit, not on the time, the user or the machine's umask.

    python3 -B packaging/stage.py BUILD_DIRECTORY OUT VERSION DEBIAN_RELEASE SOURCE_DATE_EPOCH

OUT/deb becomes the Debian package, OUT/control its control files, and OUT/millrace-VERSION-linux-amd64 the archive.
"""

import datetime
import gzip
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import manual
import sbom

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent
SHELLS = {
    "bash": "usr/share/bash-completion/completions/millrace",
    "zsh": "usr/share/zsh/vendor-completions/_millrace",
    "fish": "usr/share/fish/vendor_completions.d/millrace.fish",
}
# Files of the C library, which the target machine must provide: never packaged.
OF_GLIBC = re.compile(r"^(ld-linux-x86-64|lib(c|m|dl|rt|pthread|resolv|util|anl|nsl))\.so\.")


def output(*command):
    return subprocess.run(command, capture_output=True, check=True, env={"PATH": os.environ["PATH"]}).stdout


class Tree:
    def __init__(self, root):
        self.root = root

    def put(self, name, content, mode=0o644):
        """Writes a file. `content` is bytes, text, or a file's path."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, pathlib.Path):
            content = content.read_bytes()
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(mode)

    def settle(self, epoch):
        """Sets modes and times that do not depend on when and by whom this is run."""
        for path in [self.root, *self.root.rglob("*")]:
            if path.is_dir():
                path.chmod(0o755)
            os.utime(path, (epoch, epoch), follow_symlinks=False)


def packed(text):
    return gzip.compress(text if isinstance(text, bytes) else text.encode(), 9, mtime=0)


def debian_changelog(version, when):
    return (
        f"millrace ({version}) unstable; urgency=medium\n\n  * CHANGELOG.md.gz tells what has changed.\n\n"
        f" -- The Millrace authors <maintainers@millrace.invalid>  {when.strftime('%a, %d %b %Y %H:%M:%S +0000')}\n"
    )


def stage_deb(tree, program, bill, date, version):
    tree.put("usr/bin/millrace", program, 0o755)
    tree.put("usr/lib/systemd/system/millrace.service", HERE / "systemd/millrace.service")
    # Only root can read it: it may hold a password. The unit passes the service a copy.
    tree.put("etc/millrace/millrace.toml", HERE / "millrace.toml", 0o600)
    tree.put("usr/share/man/man1/millrace.1.gz", packed("\n".join(manual.commands(program, date)) + "\n"))
    tree.put("usr/share/man/man5/millrace.toml.5.gz", packed("\n".join(manual.settings(program, date)) + "\n"))
    for shell, name in SHELLS.items():
        tree.put(name, output(program, "completion", shell))
    documents = "usr/share/doc/millrace"
    tree.put(f"{documents}/copyright", HERE / "deb/copyright")
    tree.put(f"{documents}/changelog.gz", packed(debian_changelog(version, date)))
    tree.put(f"{documents}/CHANGELOG.md.gz", packed((PROJECT / "CHANGELOG.md").read_bytes()))
    tree.put(f"{documents}/sbom.cdx.json", bill)
    tree.put("usr/share/lintian/overrides/millrace", HERE / "deb/lintian-overrides")


def stage_archive(tree, program, bill, date, licences):
    tree.put("millrace", program, 0o755)
    subprocess.run(["strip", "--strip-unneeded", tree.root / "millrace"], check=True)
    for name, path in re.findall(r"^\s*(\S+) => (/\S+)", output("ldd", program).decode(), re.MULTILINE):
        if not OF_GLIBC.match(name):
            tree.put(f"lib/{name}", pathlib.Path(path))
    for package in licences:
        copyright_ = pathlib.Path(f"/usr/share/doc/{package}/copyright")
        if copyright_.exists():
            tree.put(f"licences/{package}", copyright_)
    tree.put("LICENSE", PROJECT / "LICENSE")
    tree.put("CHANGELOG.md", PROJECT / "CHANGELOG.md")
    tree.put("sbom.cdx.json", bill)
    tree.put("millrace.toml", HERE / "millrace.toml", 0o600)
    tree.put("millrace.service", HERE / "systemd/millrace.service")
    tree.put("man/man1/millrace.1", "\n".join(manual.commands(program, date)) + "\n")
    tree.put("man/man5/millrace.toml.5", "\n".join(manual.settings(program, date)) + "\n")
    for shell, name in SHELLS.items():
        tree.put(f"completions/{shell}/{name.rsplit('/', 1)[1]}", output(program, "completion", shell))


def main():
    version, release, epoch = sys.argv[3], sys.argv[4], int(sys.argv[5])
    build, out = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    date = datetime.datetime.fromtimestamp(epoch, datetime.timezone.utc)
    if out.exists():
        shutil.rmtree(out)
    components = sbom.bill(build, build / "millrace", version, epoch)
    bill = json.dumps(components, indent=1) + "\n"

    deb = Tree(out / "deb")
    stage_deb(deb, build / "millrace", bill, date, f"{version}+deb{release}")
    deb.settle(epoch)
    control = Tree(out / "control")
    control.put("conffiles", HERE / "deb/conffiles")
    for script in ("postinst", "prerm", "postrm"):
        control.put(script, HERE / "deb" / script, 0o755)
    control.settle(epoch)

    # Only Debian 12 makes the archive, which needs a C library at least as new as the one it was built against.
    portable = build / "portable" / "millrace"
    if release == "12":
        archive = Tree(out / f"millrace-{version}-linux-amd64")
        stage_archive(archive, portable, bill, date, [one["name"] for one in components["components"]])
        archive.settle(epoch)


if __name__ == "__main__":
    main()
