"""JSON as the API requires it: compact UTF-8, no NaN, and integers of any length."""

from __future__ import annotations

import dataclasses
import datetime
import enum
import json
import math
import uuid
from collections.abc import Iterable
from decimal import Decimal
from typing import Any


def _plain(value: Any) -> Any:
    """Return what stands in JSON for a value of another type; TypeError if nothing does."""
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, (datetime.datetime, datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, (uuid.UUID, Decimal)):
        return str(value)
    if hasattr(value, "model_dump"):  # of pydantic
        return value.model_dump(mode="json")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    raise TypeError(f"{_a(type(value).__name__)} is not JSON")


_encode = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain
).encode
_encode_ascii = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=_plain).encode


def dumps(value: Any) -> str:
    """Return a value as JSON text. TypeError or ValueError, which names the member, if it can't be
    written.
    """
    try:
        text = _encode(value)
    except RecursionError as error:
        raise ValueError("the value is nested too deeply for JSON") from error
    except (TypeError, ValueError):
        fault = _fault_in(value, ())
        if fault is None:
            raise
        raise fault from None
    # Half of a surrogate pair can't be encoded in UTF-8; JSON can escape it.
    return text if text.isascii() or _is_unicode(text) else _encode_ascii(value)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def loads(text: bytes | str) -> Any:
    """Return the value of a JSON text; ValueError if it is not JSON."""
    try:
        return json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except RecursionError as error:
        raise ValueError("the JSON is nested too deeply") from error
    except ValueError:
        # Python refuses to convert integers with thousands of digits. One such number must not make
        # the whole answer unreadable.
        return json.loads(text, parse_int=_any_int)


def _any_int(digits: str) -> int | Decimal:
    try:
        return int(digits)
    except ValueError:
        return Decimal(digits)


def place(path: Iterable[Any]) -> str:
    """Return the way to a member as people write it: `payload.items[3].at`."""
    parts = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return "".join(parts).lstrip(".")


def _fault_in(value: Any, path: tuple[Any, ...]) -> Exception | None:
    """Return the error of the first member that is not JSON."""
    head = f"{place(path)}: " if path else ""
    if isinstance(value, float) and not math.isfinite(value):
        return ValueError(f"{head}{value} is not JSON")
    if value is None or isinstance(value, (str, int, float)):
        return None
    if isinstance(value, dict):
        for name in value:
            if not (name is None or isinstance(name, (str, int, float))):
                return TypeError(f"{head}a key that is {_a(type(name).__name__)} is not JSON")
        faults = (_fault_in(one, (*path, str(name))) for name, one in value.items())
        return next(filter(None, faults), None)
    if isinstance(value, (list, tuple)):
        faults = (_fault_in(one, (*path, index)) for index, one in enumerate(value))
        return next(filter(None, faults), None)
    try:
        return _fault_in(_plain(value), path)
    except TypeError as error:
        return TypeError(f"{head}{error}")


def _a(noun: str) -> str:
    return f"{'an' if noun[:1].lower() in 'aeiou' else 'a'} {noun}"
