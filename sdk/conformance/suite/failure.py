"""How a scenario says that something was not as it should be."""

import json

SHOWN = 600  # characters of a value


class Failure(AssertionError):
    """The program, or the server, did not do as the contract says."""


class Skipped(Exception):
    """The scenario can't be played here; says why."""


def shown(value):
    """A value for people, on one line."""
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "..."


def expect(holds, what):
    if not holds:
        raise Failure(what)


def expect_equal(came, expected, what):
    if came != expected:
        raise Failure(f"{what}\n  expected: {shown(expected)}\n  came:     {shown(came)}")


def expect_between(low, came, high, what):
    """Of numbers, the bounds included."""
    if not low <= came <= high:
        number = f"{came:.3f}" if isinstance(came, float) else str(came)
        raise Failure(f"{what}\n  expected: {low} to {high}\n  came:     {number}")
