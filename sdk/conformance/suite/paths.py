"""The paths. Importing this module makes the system tests' harness importable, too."""

import pathlib
import sys

CONFORMANCE = pathlib.Path(__file__).resolve().parents[1]
SDK = CONFORMANCE.parent
ROOT = SDK.parent

for folder in (ROOT / "tests", ROOT / "tests/system"):
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def program_of(name):
    """The executable that starts the program of the SDK `name`."""
    if name == "reference":
        return CONFORMANCE / "reference/run"
    return SDK / name / "conformance/run"
