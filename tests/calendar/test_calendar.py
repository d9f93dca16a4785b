"""The calendar against a calculator that looks at each minute, over Python's zoneinfo.

Seeded expressions, in zones and years at random, mostly around a change of the clock. CASES sets how
many (default 600), SEED where they begin.
"""

import calendar
import datetime
import functools
import os
import random
import subprocess
import unittest
import zoneinfo

CASES = int(os.environ.get("CASES", "600"))
SEED = int(os.environ.get("SEED", "1"))
DAY = 86400
UTC = datetime.timezone.utc


@functools.cache
def numbers(text, low, high):
    found = set()
    for item in text.split(","):
        item, _, step = item.partition("/")
        first, _, last = item.partition("-")
        if item == "*":
            first, last = low, high
        elif not last:
            last = high if step else first
        found.update(range(int(first), int(last) + 1, int(step or 1)))
    return found


def working_day(year, month, day):
    """The Monday to Friday nearest to the day, within its month; None if the month has no such day."""
    length = calendar.monthrange(year, month)[1]
    for shift in (0, -1, 1, -2, 2):
        if day <= length and 1 <= day + shift <= length and calendar.weekday(year, month, day + shift) < 5:
            return day + shift
    return None


def names(fields, moment):
    """Does the expression name this minute of a wall clock?"""
    minute, hour, day, month, weekday = fields
    if (moment.minute not in numbers(minute, 0, 59) or moment.hour not in numbers(hour, 0, 23)
            or moment.month not in numbers(month, 1, 12)):
        return False
    length = calendar.monthrange(moment.year, moment.month)[1]
    today = moment.isoweekday() % 7
    if day == "L":
        by_month = moment.day == length
    elif day == "LW":
        by_month = moment.day == working_day(moment.year, moment.month, length)
    elif day.endswith("W"):
        by_month = moment.day == working_day(moment.year, moment.month, int(day[:-1]))
    else:
        by_month = moment.day in numbers(day, 1, 31)
    if weekday.endswith("L"):
        by_week = today == int(weekday[:-1]) % 7 and moment.day + 7 > length
    elif "#" in weekday:
        which, nth = weekday.split("#")
        by_week = today == int(which) % 7 and (moment.day + 6) // 7 == int(nth)
    else:
        by_week = today in {number % 7 for number in numbers(weekday, 0, 7)}
    both = day.startswith("*") or weekday.startswith("*")
    return by_month and by_week if both else by_month or by_week


def instants(expression, zone, gap, overlap, start, end):
    fields = expression.split()
    fixed = not fields[0].startswith("*") and not fields[1].startswith("*")
    found = []
    before = datetime.datetime.fromtimestamp(start, zone).utcoffset()
    for second in range(start + 60, end + 1, 60):
        local = datetime.datetime.fromtimestamp(second, zone)
        offset = local.utcoffset()
        due = names(fields, local) and not (fixed and overlap == "once" and local.fold)
        if offset > before and fixed and gap == "run":
            utc = datetime.datetime.fromtimestamp(second, UTC)
            left_out = range(int((offset - before).total_seconds()) // 60)
            due = due or any(names(fields, utc + before + datetime.timedelta(minutes=minute))
                             for minute in left_out)
        before = offset
        if due:
            found.append(second)
    return found


def field(dice, low, high):
    first, second = sorted(dice.randint(low, high) for _ in range(2))
    step = dice.randint(1, high)
    return dice.choice(["*", "*", f"*/{step}", str(first), str(first), f"{first}-{second}",
                        f"{first}-{second}/{step}", f"{first},{second}", f"{first}/{step}"])


def expression_of(dice):
    day, weekday = field(dice, 1, 31), field(dice, 0, 7)
    which = dice.randint(0, 7)
    kind = dice.random()
    if kind < 0.1:
        day = dice.choice(["L", "LW", f"{dice.randint(1, 31)}W"])
    elif kind < 0.2:
        weekday = dice.choice([f"{which}L", f"{which}#{dice.randint(1, 5)}"])
    elif kind < 0.7:
        day = weekday = "*"
    hour = dice.choice(["0", "1", "2", "3", "1-3", "0,2", field(dice, 0, 23)])
    month = dice.choice(["*", "*", "*", field(dice, 1, 12)])
    return " ".join([field(dice, 0, 59), hour, day, month, weekday])


def change_near(zone, second):
    """The first change of the clock in the year from then on, or None."""
    offset_at = lambda at: datetime.datetime.fromtimestamp(at, zone).utcoffset()
    for low in range(second, second + 366 * DAY, 20 * DAY):
        high = low + 20 * DAY
        if offset_at(low) != offset_at(high):
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if offset_at(middle) == offset_at(low) else (low, middle)
            return high
    return None


def case_of(dice, names_of_zones):
    while True:
        name = dice.choice(names_of_zones)
        zone = zoneinfo.ZoneInfo(name)
        second = dice.randrange(0, 130 * 365 * DAY, 60)
        if dice.random() < 0.9:
            second = change_near(zone, second) or second
        start = second - second % 60 - dice.randint(2, 30) * 3600
        end = start + 2 * DAY
        # Monrovia's clock had seconds until 1972: no whole minutes to look at.
        if all(datetime.datetime.fromtimestamp(at, zone).utcoffset().total_seconds() % 60 == 0
               for at in (start, end)):
            return (expression_of(dice), name, dice.choice(["run", "skip"]),
                    dice.choice(["once", "twice"]), start, end)


class Calendar(unittest.TestCase):
    def test_has_the_instants_that_a_look_at_each_minute_finds(self):
        dice = random.Random(SEED)
        with open("/usr/share/zoneinfo/tzdata.zi", encoding="utf-8") as file:
            lines = [line.split() for line in file]
        listed = {words[1] if words[0] == "Z" else words[2] for words in lines if words and words[0] in "ZL"}
        usable = sorted(listed & zoneinfo.available_timezones())
        cases = [case_of(dice, usable) for _ in range(CASES)]
        lines = "".join("\t".join(map(str, case)) + "\n" for case in cases)
        probe = subprocess.run([os.environ["CALENDAR_PROBE"]], input=lines, capture_output=True,
                               text=True, check=True)
        answers = probe.stdout.splitlines()
        self.assertEqual(len(answers), len(cases))
        compared = due = 0
        for case, answer in zip(cases, answers):
            if "never comes" in answer:
                continue
            expression, name, *rest = case
            expected = instants(expression, zoneinfo.ZoneInfo(name), *rest)
            self.assertEqual(answer.split(), [str(second) for second in expected], case)
            compared += 1
            due += len(expected) > 0
        self.assertGreater(compared, CASES * 0.9)
        self.assertGreater(due, CASES * 0.4)


if __name__ == "__main__":
    unittest.main()
