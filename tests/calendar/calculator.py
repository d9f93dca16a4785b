"""Computes the instants of an expression by checking each minute (or second) of a clock.

Its only short cut is to skip days on which no minute can match. It reads time zones through Python's zoneinfo, and
shares no code with the server.
"""

import calendar
import datetime

DAY = 86400
UTC = datetime.timezone.utc
MONTHS = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"]
WEEKDAYS = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"]
NICKNAMES = {
    "@yearly": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@hourly": "0 * * * *",
}


def number_of(text):
    if text in MONTHS:
        return MONTHS.index(text) + 1
    return WEEKDAYS.index(text) if text in WEEKDAYS else int(text)


def numbers(item, low, high):
    """The numbers of one item of a list: "*", "7", "7-20", each with or without a step."""
    item, _, step = item.partition("/")
    first, _, last = item.partition("-")
    if item in ("*", "?"):
        first, last = low, high
    else:
        first, last = number_of(first), number_of(last) if last else high if step else number_of(first)
    if high == 7 and last == 0 < first:  # SAT-SUN
        last = 7
    return set(range(first, last + 1, int(step or 1)))


def union(field, low, high):
    return set().union(*(numbers(item, low, high) for item in field.split(",")))


def working_day(date, day, length):
    """The Monday to Friday nearest to that day of the date's month; None if the month has no such day."""
    for shift in (0, -1, 1, -2, 2):
        if day <= length and 1 <= day + shift <= length and calendar.weekday(date.year, date.month, day + shift) < 5:
            return day + shift
    return None


class Expression:
    def __init__(self, text):
        fields = NICKNAMES.get(text.lower(), text).upper().split()
        self.has_seconds = len(fields) == 6
        if not self.has_seconds:
            fields.insert(0, "0")
        self.fields = fields
        second, minute, hour, day, month, weekday = fields
        self.seconds, self.minutes = union(second, 0, 59), union(minute, 0, 59)
        self.hours, self.months = union(hour, 0, 23), union(month, 1, 12)
        # Whether it names times of the day, to which the policies for daylight saving apply.
        self.fixed = minute[0] != "*" and hour[0] != "*"
        self.both_days = day[0] in "*?" or weekday[0] in "*?"
        self.known = {}  # by date

    def on(self, date):
        """Whether a time of this date can match."""
        if date not in self.known:
            self.known[date] = self._on(date)
        return self.known[date]

    def _on(self, date):
        if date.month not in self.months:
            return False
        length = calendar.monthrange(date.year, date.month)[1]
        *_, day, _, weekday = self.fields
        by_month = any(self._by_month(item, date, length) for item in day.split(","))
        by_week = any(self._by_week(item, date, length) for item in weekday.split(","))
        return by_month and by_week if self.both_days else by_month or by_week

    @staticmethod
    def _by_month(item, date, length):
        if item == "L":
            return date.day == length
        if item == "LW":
            return date.day == working_day(date, length, length)
        if item.endswith("W"):
            return date.day == working_day(date, int(item[:-1]), length)
        return date.day in numbers(item, 1, 31)

    @staticmethod
    def _by_week(item, date, length):
        today = date.isoweekday() % 7
        if item.endswith("L"):
            return today == number_of(item[:-1]) % 7 and date.day + 7 > length
        if "#" in item:
            weekday, nth = item.split("#")
            return today == number_of(weekday) % 7 and (date.day + 6) // 7 == int(nth)
        return today in {number % 7 for number in numbers(item, 0, 7)}

    def names(self, moment):
        """Whether the expression names this second of a wall clock."""
        return (
            moment.minute in self.minutes
            and moment.hour in self.hours
            and moment.second in self.seconds
            and self.on(moment.date())
        )

    def first_date(self, date, years=41):
        """The first on which a time can match, from that one on; None: there is none in so many years. No
        expression that ever comes needs more: the 29th of February is a given day of the week each 28 years, or,
        across 2100, after 40."""
        for _ in range(366 * years):
            if self.on(date):
                return date
            date += datetime.timedelta(days=1)
        return None


def offset_at(zone, second):
    return datetime.datetime.fromtimestamp(second, zone).utcoffset()


def changes(zone, low, high):
    """Each change of the zone's offset in (low, high]: the second from which on the new one is in force."""
    before = offset_at(zone, low)
    while low < high:
        end = min(low + DAY, high)
        if offset_at(zone, end) != before:
            first = low
            while end - first > 1:
                middle = (first + end) // 2
                first, end = (middle, end) if offset_at(zone, middle) == before else (first, middle)
            before = offset_at(zone, end)
            yield end
        low = end


def can_match(expression, zone, begin, until):
    """Whether the zone's clock, from one instant to the other, shows or skips a date that can match."""
    shown = [datetime.datetime.fromtimestamp(second, zone).date() for second in (begin, until)]
    date = min(shown) - datetime.timedelta(days=1)  # a clock that is turned back may have shown one more
    while date <= max(shown) + datetime.timedelta(days=1):
        if expression.on(date):
            return True
        date += datetime.timedelta(days=1)
    return False


def due_in_gap(expression, second, before, offset):
    """Whether the clock, changing to a larger offset at this instant, skips a time that the expression names."""
    local = datetime.datetime.fromtimestamp(second, UTC).replace(tzinfo=None) + before
    step = datetime.timedelta(seconds=1 if expression.has_seconds else 60)
    end = local + (offset - before)
    if not expression.has_seconds and local.second:
        local += datetime.timedelta(seconds=60 - local.second)
    while local < end:
        if expression.names(local):
            return True
        local += step
    return False


def instants(expression, zone, gap, overlap, start, end):
    """The instants in (start, end], in seconds since the Unix epoch."""
    found = []
    whole = all(offset_at(zone, at).total_seconds() % 60 == 0 for at in (start, end))
    step = 60 if whole and not expression.has_seconds else 1
    for begin in range(start, end, DAY):
        until = min(begin + DAY, end)
        if not can_match(expression, zone, begin, until):
            continue
        before = offset_at(zone, begin)
        for second in range(begin - begin % step + step, until + 1, step):
            local = datetime.datetime.fromtimestamp(second, zone)
            offset = local.utcoffset()
            due = expression.names(local) and not (expression.fixed and overlap == "once" and local.fold)
            if offset > before and expression.fixed and gap == "run":
                due = due or due_in_gap(expression, second, before, offset)
            before = offset
            if due:
                found.append(second)
    return found
