"""JSON as the API requires it: compact UTF-8, no NaN, and integers of any length."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_encode_ascii = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


def dumps(value: Any) -> str:
    """Return a value as JSON text; TypeError or ValueError if it can't be written."""
    try:
        text = _encode(value)
    except RecursionError as error:
        raise ValueError("the value is nested too deeply for JSON") from error
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
