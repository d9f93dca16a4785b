"""Random expressions, zones and instants, each from a seed, and the program's answers to them."""

import dataclasses
import datetime
import functools
import random
import subprocess
import zoneinfo

import calculator

DAY = 86400
HOUR = 3600
LAST_START = 130 * 365 * DAY  # late in 2099
NEVER = "never comes"  # as the program says it


@functools.cache
def zones():
    """The zone names that both tzdata and Python have, and the version of tzdata."""
    with open("/usr/share/zoneinfo/tzdata.zi", encoding="utf-8") as file:
        first, *lines = [line.split() for line in file]
    listed = {words[1] if words[0] == "Z" else words[2] for words in lines if words and words[0] in "ZL"}
    return sorted(listed & zoneinfo.available_timezones()), first[-1]


@dataclasses.dataclass(frozen=True)
class Case:
    text: str  # the expression
    zone: str
    gap: str  # run, skip
    overlap: str  # once, twice
    start: int  # seconds since the Unix epoch; instants later than it
    end: int  # and not later than this

    def line(self):
        return "\t".join(str(part) for part in dataclasses.astuple(self)) + "\n"

    def __str__(self):
        return (
            f'"{self.text}" {self.zone}, gap {self.gap}, overlap {self.overlap}, after {shown(self.start)}, '
            f"until {shown(self.end)}"
        )

    def expected(self):
        """The instants found by the calculator; None if the expression never comes."""
        expression = calculator.Expression(self.text)
        zone = zoneinfo.ZoneInfo(self.zone)
        if expression.first_date(datetime.datetime.fromtimestamp(self.start, zone).date()) is None:
            return None
        return calculator.instants(expression, zone, self.gap, self.overlap, self.start, self.end)


def shown(second):
    return datetime.datetime.fromtimestamp(second, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def item(dice, low, high):
    first, second = sorted(dice.randint(low, high) for _ in range(2))
    step = dice.randint(1, high)
    return dice.choice(
        [f"*/{step}", str(first), str(first), f"{first}-{second}", f"{first}-{second}/{step}", f"{first}/{step}"]
    )


def field(dice, low, high):
    kind = dice.random()
    if kind < 0.25:
        return "*"
    return ",".join(item(dice, low, high) for _ in range(1 if kind < 0.8 else dice.randint(2, 4)))


def special_day(dice):
    return dice.choice(["L", "LW", "lw", f"{dice.randint(1, 31)}W"])


def special_weekday(dice):
    which = dice.choice([str(dice.randint(0, 7)), dice.choice(calculator.WEEKDAYS)])
    return dice.choice([f"{which}L", f"{which}#{dice.randint(1, 5)}"])


def named(dice, names, wrap):
    """A range of names; with `wrap`, it may end with Sunday."""
    first, second = sorted(dice.randrange(len(names)) for _ in range(2))
    if wrap and first > 0 and dice.random() < 0.2:
        return f"{names[first]}-SUN"
    text = dice.choice([names[first], f"{names[first]}-{names[second]}", f"{names[first]},{names[second]}"])
    return dice.choice([text, text.lower(), text.title()])


def days(dice):
    """Day of month and day of week."""
    kind = dice.random()
    if kind < 0.5:
        return dice.choice([("*", "*"), ("*", "*"), ("*", "*"), ("?", "*"), ("*", "?")])
    day, weekday = field(dice, 1, 31), field(dice, 0, 7)
    if kind < 0.6:
        day = special_day(dice)
    elif kind < 0.7:
        weekday = special_weekday(dice)
    elif kind < 0.75:
        day = f"{special_day(dice)},{item(dice, 1, 31)}"
    elif kind < 0.8:
        weekday = f"{item(dice, 0, 7)},{special_weekday(dice)}"
    elif kind < 0.85:
        weekday = named(dice, calculator.WEEKDAYS, wrap=True)
    return day, weekday


def expression_of(dice):
    kind = dice.random()
    if kind < 0.01:
        return dice.choice(list(calculator.NICKNAMES))
    if kind < 0.017:  # a 29th of February: the rarest, each 28 years, or across 2100 each 40
        return f"{field(dice, 0, 59)} {field(dice, 0, 23)} * 2 {dice.randint(0, 7)}#5"
    day, weekday = days(dice)
    hour = dice.choice(["0", "1", "2", "3", "1-3", "0,2", "23", field(dice, 0, 23), field(dice, 0, 23)])
    month = dice.choice(["*"] * 5 + [field(dice, 1, 12), named(dice, calculator.MONTHS, wrap=False)])
    fields = [field(dice, 0, 59), hour, day, month, weekday]
    if dice.random() < 0.1:
        if dice.random() < 0.5:  # so that the few hours which are looked at have something
            fields[1:] = ["*", "*", "*", "*"]
        fields.insert(0, field(dice, 0, 59))
    return " ".join(fields)


def place(dice):
    """A zone, an instant, and the next change of its clock within a year, or None."""
    name, start = dice.choice(zones()[0]), dice.randrange(0, LAST_START)
    return name, start, next(calculator.changes(zoneinfo.ZoneInfo(name), start, start + 366 * DAY), None)


def draw(seed):
    """The case of the seed. Nine in ten begin near a change of the clock, some of them in the repeated hour."""
    dice = random.Random(seed)
    text = expression_of(dice)
    expression = calculator.Expression(text)
    name, start, near = place(dice)
    wanted = dice.random() < 0.9
    while wanted and near is None:
        name, start, near = place(dice)
    near = near if wanted else None
    zone = zoneinfo.ZoneInfo(name)
    if expression.has_seconds:  # each second is looked at
        start = near - dice.randint(0, 3 * HOUR) if near else start
        end = start + 4 * HOUR
    else:
        start = near - dice.randint(-2 * HOUR, 30 * HOUR) if near else start
        first = expression.first_date(datetime.datetime.fromtimestamp(start, zone).date())
        end = start + 2 * DAY
        if first:  # however long it takes until then
            end = max(
                end, int(datetime.datetime.combine(first, datetime.time(), datetime.timezone.utc).timestamp()) + 2 * DAY
            )
    return Case(text, name, dice.choice(["run", "skip"]), dice.choice(["once", "twice"]), start, end)


def answers(probe, cases):
    """The program's answer to each case: the instants, None if it says that it never comes, or any other message."""
    lines = "".join(case.line() for case in cases)
    run = subprocess.run([probe], input=lines, capture_output=True, text=True, check=True)
    found = run.stdout.splitlines()
    if len(found) != len(cases):
        raise RuntimeError(f"{len(cases)} cases have {len(found)} answers")
    return [
        None if NEVER in line else line if line.startswith("error") else [int(word) for word in line.split()]
        for line in found
    ]
