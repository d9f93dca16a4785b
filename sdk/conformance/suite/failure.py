"""The exceptions and expectations of scenarios."""

import json

SHOWN = 600  # characters of a value
MISSING = "(missing)"


class Failure(AssertionError):
    """The program or the server violated the contract."""


class Skipped(Exception):
    """The scenario can't be played here, for the reason given."""


def shown(value):
    """A value as one line for people."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def expect(holds, what):
    if not holds:
        raise Failure(what)


def expect_equal(came, expected, what):
    if came == expected:
        return
    lines = [f"expected: {shown(expected)}", f"came:     {shown(came)}"]
    if isinstance(came, dict) and isinstance(expected, dict):
        lines = list(differences(came, expected))
    raise Failure("\n  ".join([what, *lines]))


def differences(came, expected, place=""):
    """One line for each member that differs."""
    for name in sorted(came.keys() | expected.keys()):
        there, wanted = came.get(name, MISSING), expected.get(name, MISSING)
        if isinstance(there, dict) and isinstance(wanted, dict):
            yield from differences(there, wanted, f"{place}{name}.")
        elif there != wanted:
            yield f"{place}{name}: expected {shown(wanted)}, came {shown(there)}"


def expect_between(low, came, high, what):
    """Expects a number between bounds, both inclusive."""
    if not low <= came <= high:
        number = f"{came:.3f}" if isinstance(came, float) else str(came)
        raise Failure(f"{what}\n  expected: {low} to {high}\n  came:     {number}")
