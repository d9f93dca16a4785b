"""What the API's objects have in common: records of answers, and what is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from ._time import to_ms, to_rfc3339


class _Unset:
    """The type of a missing payload. None is a payload: JSON's null."""

    def __repr__(self) -> str:
        return "UNSET"


UNSET: Any = _Unset()


class ToSubmit:
    """A job to be submitted. A subclass has its members, and says how each is written."""

    type: str
    payload: Any
    limits: Any

    _plain: ClassVar[tuple[str, ...]]  # members that are written as they are
    _instants: ClassVar[tuple[str, ...]]
    _durations: ClassVar[Mapping[str, str]]  # the API's name, in milliseconds, by the member

    def to_wire(self) -> dict[str, Any]:
        """Return the submission in the API's form. Members that are None are left out."""
        wire: dict[str, Any] = {"type": self.type}
        if self.payload is not UNSET:
            wire["payload"] = self.payload
        for name in self._plain:
            value = getattr(self, name)
            if value is not None:
                wire[name] = value
        for limit in self.limits or ():
            if not isinstance(limit, Mapping):
                raise ValueError(
                    'limits takes mappings, such as {"name": "api", "key": "acme"}, '
                    f"not {limit!r}"
                )
        for name in self._instants:
            instant = getattr(self, name)
            if instant is not None:
                wire[name] = to_rfc3339(instant)
        for name, member in self._durations.items():
            duration = getattr(self, name)
            if duration is not None:
                wire[member] = to_ms(name, duration)
        return wire


class Record:
    """An object of an answer. Its members are attributes; missing members are None.

    `raw` is the JSON object as received, including members unknown to this version.
    """

    __slots__ = ("raw",)

    _members: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        cls._members = cls._members | frozenset(cls.__annotations__)

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = raw

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name in self.raw:
                return self.raw[name]
            if name in self._members:
                return None
            raise AttributeError(f"{type(self).__name__!r} has no member {name!r}")

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.raw == self.raw

    __hash__ = None  # type: ignore[assignment]  # its members may be lists

    def __repr__(self) -> str:
        return f"{type(self).__name__}({dict(self.raw)!r})"

    def __reduce__(self) -> Any:
        return type(self), (dict(self.raw),)
