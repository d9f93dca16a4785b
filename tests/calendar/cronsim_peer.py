"""cronsim, a library with the semantics of Debian's cron, as a second reference: in its own virtual environment, and
with rules for the cases that it does not support.
"""

import datetime
import functools
import os
import pathlib
import re
import sys
import zoneinfo

import calculator
import cases

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = "2.8"
HOME = ROOT / "build/soak" / f"cronsim-{VERSION}"
HOUR = 3600
DAY = 86400
COMPARED = 3  # instants a case
HORIZON = 41 * 366 * DAY  # no expression that ever comes has none for longer


def enter():
    """Restarts this program in the virtual environment, which it creates if there is none."""
    if pathlib.Path(sys.prefix) == HOME:
        return
    if not HOME.exists():
        install_cronsim()
    python = HOME / "bin/python"
    os.execv(python, [python, "-B", *sys.argv])


def install_cronsim():
    sys.path.append(str(ROOT / "bench/compare"))
    import install  # how the benchmarks bring what they need

    print(f"pip install cronsim=={VERSION}, into {HOME.relative_to(ROOT)}", flush=True)
    half = HOME.with_name("half")
    try:
        install.quietly([sys.executable, "-m", "venv", "--clear", "--without-pip", half])
        install.quietly(
            [
                sys.executable,
                "-m",
                "pip",
                "--python",
                half / "bin/python",
                "install",
                "--quiet",
                "--no-input",
                "--disable-pip-version-check",
                "--no-deps",
                f"cronsim=={VERSION}",
            ],
            environment=install.pip_environment(ROOT / "build/compare", print),
        )
    except install.Skipped as fault:
        sys.exit(f"cronsim can't be installed: {fault}; --no-cronsim does without it")
    half.rename(HOME)  # only a complete one has this name


# Expressions that cronsim does not read, or reads differently, by design.
UNREAD = (
    ("a nickname", lambda fields: len(fields) == 1),
    ("seconds", lambda fields: len(fields) == 6),  # no semantics of Debian's: cronsim knows no gaps there
    ("a day as 15W", lambda fields: re.search(r"\dW", fields[2])),
    ("a name before L", lambda fields: re.search(r"[A-Z]L", fields[4])),
    ("a range to SUN", lambda fields: re.search(r"-SUN", fields[4])),
    # cronsim counts "7-7/2" to the end of the field, as "7/2".
    ("a step in a range of one", lambda fields: any(re.search(r"\b(\w+)-\1/", field) for field in fields)),
)


def unread(text):
    """Why cronsim does not support this expression; None if it does."""
    fields = text.upper().split()
    return next((why for why, applies in UNREAD if applies(fields)), None)


@functools.cache
def odd_changes(name):
    """The changes of a zone's clock that cronsim can't walk over with an expression that follows elapsed time: when,
    and why. It goes from midnight to midnight by the date, then by hours of 3,600 s from a full hour; where that is
    wrong it misses instants, has some too many, or walks in a circle for ever."""
    zone = zoneinfo.ZoneInfo(name)
    found = []
    for at in calculator.changes(zone, -7 * DAY, cases.LAST_START + HORIZON):
        last, first = (datetime.datetime.fromtimestamp(second, zone) for second in (at - 1, at))
        shift = (first.utcoffset() - last.utcoffset()).total_seconds()
        midnight = datetime.datetime.combine(last.date() + datetime.timedelta(days=1), datetime.time())
        if shift % HOUR or first.minute or first.second:
            found.append((at, "a change of no whole hours"))
        elif first.date() < last.date():
            found.append((at, "a date that comes again"))
        elif first.replace(tzinfo=None) > midnight:
            found.append((at, "a midnight that is left out"))
    return found


def gaps_within_minutes(name):
    """The same for an expression that names times: cronsim looks for the end of a gap in steps of a minute."""
    zone = zoneinfo.ZoneInfo(name)
    return [
        (at, "a gap that ends within a minute")
        for at, _ in odd_changes(name)
        if datetime.datetime.fromtimestamp(at, zone).second
    ]


class PastHorizon(Exception):
    pass


def walk(text, begin, horizon):
    """cronsim's instants, in seconds since the Unix epoch, as far as it can be trusted: until the horizon."""
    import cronsim  # only the virtual environment has it

    class Walk(cronsim.CronSim):
        def tick(self, seconds=1):
            super().tick(seconds)
            if self.dt.tzinfo and self.dt.timestamp() > horizon:
                raise PastHorizon

    try:
        for due in Walk(text, begin):
            if due.timestamp() > horizon:
                return
            yield int(due.timestamp())
    except (PastHorizon, RuntimeError):  # the latter: no more within 50 years
        return
    except cronsim.CronSimError:
        return  # never


def answer(case):
    """(The next instants after the case's start, the second until which they are all, None), or (None, None, why it
    is not asked). None for instants: it has none ever."""
    text = case.text.replace("?", "*")  # cronsim has no other name for it
    if why := unread(text):
        return None, None, why
    fixed = calculator.Expression(text).fixed
    horizon = case.start + HORIZON
    for at, what in (gaps_within_minutes if fixed else odd_changes)(case.zone):
        if at > case.start - 2 * DAY:
            horizon, why = at - DAY, what
            break
    found = []
    for second in walk(text, datetime.datetime.fromtimestamp(case.start, zoneinfo.ZoneInfo(case.zone)), horizon):
        # It starts from a wall clock, and can't say in which of two hours: the first may come again.
        if second > case.start:
            found.append(second)
        if len(found) == COMPARED:
            return found, second, None
    if why and not found:  # before that change
        return None, None, why
    return found or None, horizon, None
