"""The fake's checks of submissions: those of the server's that applications may run into."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ._time import parse_time

Fault = dict[str, str]

_NAME = re.compile(r"[A-Za-z0-9._:/-]{1,128}\Z")
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\Z")
_KEY = re.compile(r"[!-~]{1,255}\Z")
_TEN_YEARS_MS = 315_360_000_000


def faults_of(wire: Mapping[str, Any]) -> list[Fault]:
    """Return every fault of a submission, as the server reports them."""
    faults = []
    for name, value in wire.items():
        check = _CHECKS.get(name)
        what = "unknown member" if check is None else check(value)
        if what is not None:
            faults.append({"pointer": f"/{name}", "detail": what})
    if "type" not in wire:
        faults.append({"pointer": "/type", "detail": "is required"})
    for first, other in (("delay_ms", "run_at"), ("expires_in_ms", "expires_at")):
        if first in wire and other in wire:
            faults.append(
                {"pointer": f"/{first}", "detail": f"must not be given together with {other}"}
            )
    return faults[:20]


Check = Callable[[Any], "str | None"]


def _integer(least: int, most: int) -> Check:
    def check(value: Any) -> str | None:
        is_good = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        return None if is_good else f"must be {least} to {most}"

    return check


def _matches(pattern: re.Pattern[str], what: str) -> Check:
    def check(value: Any) -> str | None:
        return None if isinstance(value, str) and pattern.match(value) else f"must be {what}"

    return check


def _time(value: Any) -> str | None:
    try:
        parse_time(value)
    except (AttributeError, TypeError, ValueError):
        return "must be a time such as 2026-03-01T09:30:00Z"
    return None


def _tags(value: Any) -> str | None:
    if not isinstance(value, list) or len(value) > 32:
        return "must be a list of at most 32 names"
    return None if all(_name(tag) is None for tag in value) else "must be names"


def _meta(value: Any) -> str | None:
    is_good = isinstance(value, dict) and all(isinstance(text, str) for text in value.values())
    return None if is_good else "must be an object of strings"


def _object(value: Any) -> str | None:
    return None if isinstance(value, dict) else "must be an object"


def _text(value: Any) -> str | None:
    return None if isinstance(value, str) else "must be a string"


def _unique(value: Any) -> str | None:
    if not isinstance(value, dict) or not isinstance(value.get("key"), str):
        return "must be an object with a key"
    if value.get("on_conflict", "return") not in ("return", "reject", "replace"):
        return "on_conflict must be return, reject or replace: the fake knows no other"
    return None


def _limits(value: Any) -> str | None:
    if not isinstance(value, list) or len(value) > 8:
        return "must be a list of at most 8 limits"
    is_good = all(isinstance(one, dict) and _name(one.get("name")) is None for one in value)
    return None if is_good else "must be objects with a name"


def _key(value: Any) -> str | None:
    is_good = isinstance(value, str) and 1 <= len(value.encode()) <= 128
    return None if is_good else "must have 1 to 128 bytes"


def _on_failure(value: Any) -> str | None:
    return None if value in ("hold", "pass") else "must be hold or pass"


def _anything(value: Any) -> str | None:
    return None


_name = _matches(_NAME, "1 to 128 characters of A-Z a-z 0-9 . _ : / -")
_delay = _integer(0, _TEN_YEARS_MS)
_CHECKS: dict[str, Check] = {
    "id": _matches(_ID, "a UUIDv7"),
    "type": _name,
    "queue": _name,
    "payload": _anything,
    "idempotency_key": _matches(_KEY, "1 to 255 visible ASCII characters"),
    "priority": _integer(-32768, 32767),
    "run_at": _time,
    "delay_ms": _delay,
    "expires_at": _time,
    "expires_in_ms": _delay,
    "max_attempts": _integer(1, 1000),
    "retry": _object,
    "lease_ms": _integer(1000, 86_400_000),
    "timeout_ms": _integer(1, _TEN_YEARS_MS),
    "unique": _unique,
    "tags": _tags,
    "meta": _meta,
    "traceparent": _text,
    "tracestate": _text,
    "limits": _limits,
    "order_key": _key,
    "order_on_failure": _on_failure,
    "fair_key": _key,
}
