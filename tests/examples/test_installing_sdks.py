"""How the pages install the SDKs: from a clone, since the registries have no package of ours."""

import pathlib
import re
import subprocess
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *ROOT.glob("docs/guide/*.md"), *ROOT.glob("sdk/*/README.md")]
# A command that fetches a package by its name, and not by a path.
FETCHES = re.compile(
    r"^\s*(?:pip|pip3|python -m pip) install (?:-\S+ )*millrace\b"
    r"|^\s*npm (?:install|i|add) (?:-\S+ )*@?millrace\b|^\s*go (?:get|install) \S*millrace\b",
    re.MULTILINE,
)
# What each way to install leaves in the clone.
LEFTOVERS = (
    "sdk/python/build/lib/millrace/x.py",
    "sdk/python/src/millrace.egg-info/PKG-INFO",
    "sdk/typescript/node_modules/x.js",
    "sdk/typescript/dist/x.js",
    "sdk/java/millrace/target/x.jar",
    "build/sdk/cpp/x.o",
)


class InstallingSdks(unittest.TestCase):
    def test_no_page_fetches_a_package_by_its_name(self):
        for page in PAGES:
            found = FETCHES.findall(page.read_text())
            self.assertEqual(found, [], f"{page} takes it from a registry")

    @unittest.skipUnless((ROOT / ".git").exists(), "no clone")
    def test_installing_leaves_the_clone_clean(self):
        for path in LEFTOVERS:
            command = ["git", "check-ignore", "--quiet", path]
            done = subprocess.run(command, cwd=ROOT, check=False)
            self.assertEqual(done.returncode, 0, f".gitignore lets {path} through")


if __name__ == "__main__":
    unittest.main()
