"""Values of the types that a handler's annotations name, made of JSON.

Known are JSON's own types, dataclasses, TypedDict, Enum, Literal, datetime, date, time, timedelta
(a number of seconds), UUID, Decimal, lists, tuples and dicts of these, unions, and whatever pydantic
knows, if it is installed. Any other annotation lets the JSON value pass as it is.
"""

from __future__ import annotations

import collections.abc
import dataclasses
import datetime
import decimal
import enum
import inspect
import types
import typing
import uuid
from typing import Any, Callable, Mapping

from . import _json

Convert = Callable[[Any], Any]

_ARRAYS = (list, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Collection)
_OBJECTS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)
_UNIONS = (typing.Union, getattr(types, "UnionType", typing.Union))
_QUALIFIERS = ("NotRequired", "Required", "ReadOnly")  # of a TypedDict's members
_SHOWN = 60  # characters of a wrong value


class Misfit(Exception):
    """A value that does not fit. `path` leads to it from the value that was to be converted."""

    def __init__(self, what: str, path: tuple[Any, ...] = ()) -> None:
        super().__init__(what)
        self.path = path

    def within(self, *steps: Any) -> Misfit:
        return Misfit(str(self), (*steps, *self.path))


def hints_of(owner: Any, annotations: Mapping[str, Any], names: Mapping[str, Any]) -> dict[str, Any]:
    """Return the annotations without quotes. One that can't be had, because its name is known to type
    checkers only, is left out.
    """
    try:
        found = typing.get_type_hints(owner, include_extras=True)
        return {name: found[name] for name in annotations if name in found}
    except Exception:
        pass  # one of them fails; each is tried
    hints: dict[str, Any] = {}
    for name, annotation in annotations.items():
        try:
            text = annotation if isinstance(annotation, str) else None
            hints[name] = annotation if text is None else eval(text, dict(names))
        except Exception:
            continue
    return hints


def converter_of(annotation: Any) -> Convert | None:
    """Return what makes a value of this type of a JSON value; None if any passes as it is."""
    if annotation is None or annotation is type(None):
        return _null
    if isinstance(annotation, type) and annotation in _PLAIN:
        return _PLAIN[annotation]
    supertype = getattr(annotation, "__supertype__", None)  # of a NewType
    if supertype is not None:
        return converter_of(supertype)
    if _is_for_pydantic(annotation):
        return _pydantic(annotation)
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated or str(origin).rpartition(".")[2] in _QUALIFIERS:
        return converter_of(args[0])
    if origin in _UNIONS:
        return _union(args)
    if origin is typing.Literal:
        return _literal(args)
    if origin is tuple or annotation is tuple:
        return _tuple(args)
    if origin in _ARRAYS or annotation in (list, *_ARRAYS):
        return _list(args)
    if origin in _OBJECTS or annotation in _OBJECTS:
        return _dict(args)
    if not isinstance(annotation, type):
        return None
    if issubclass(annotation, enum.Enum):
        return _enum(annotation)
    if dataclasses.is_dataclass(annotation):
        return _Dataclass(annotation)
    if hasattr(annotation, "__total__") and issubclass(annotation, dict):
        return _TypedDict(annotation)
    return None


def wrong(wanted: str, value: Any) -> Misfit:
    try:
        shown = _json.dumps(value)
    except (TypeError, ValueError):
        shown = repr(value)
    shown = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "..."
    return Misfit(f"must be {wanted}, not {shown}")


# JSON's own types, and those that are text


def _exactly(kind: type, wanted: str) -> Convert:
    def convert(value: Any) -> Any:
        if type(value) is kind:
            return value
        raise wrong(wanted, value)

    return convert


def _null(value: Any) -> None:
    if value is not None:
        raise wrong("null", value)


def _float(value: Any) -> float:
    if type(value) in (int, float):
        return float(value)
    raise wrong("a number", value)


def _text_as(parse: Callable[[str], Any], wanted: str) -> Convert:
    def convert(value: Any) -> Any:
        if type(value) is str:
            try:
                return parse(value)
            except ValueError:
                pass  # it is told below
        raise wrong(wanted, value)

    return convert


def _datetime(text: str) -> datetime.datetime:
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


def _seconds(value: Any) -> datetime.timedelta:
    if type(value) in (int, float):
        return datetime.timedelta(seconds=value)
    raise wrong("a number of seconds", value)


def _decimal(value: Any) -> decimal.Decimal:
    try:
        if type(value) in (str, int, float, decimal.Decimal):
            return decimal.Decimal(str(value))
    except decimal.InvalidOperation:
        pass  # it is told below
    raise wrong("a decimal number", value)


_PLAIN: dict[type, Convert] = {
    str: _exactly(str, "a string"),
    int: _exactly(int, "an integer"),
    bool: _exactly(bool, "true or false"),
    float: _float,
    datetime.datetime: _text_as(_datetime, "a time such as 2026-03-01T09:30:00Z"),
    datetime.date: _text_as(datetime.date.fromisoformat, "a date such as 2026-03-01"),
    datetime.time: _text_as(datetime.time.fromisoformat, "a time of day such as 09:30:00"),
    datetime.timedelta: _seconds,
    uuid.UUID: _text_as(uuid.UUID, "a UUID"),
    decimal.Decimal: _decimal,
}


# Types made of others


def _at(convert: Convert | None, value: Any, *steps: Any) -> Any:
    if convert is None:
        return value
    try:
        return convert(value)
    except Misfit as misfit:
        raise misfit.within(*steps) from None


def _list(args: tuple[Any, ...]) -> Convert:
    item = converter_of(args[0]) if args else None

    def convert(value: Any) -> list[Any]:
        if type(value) is not list:
            raise wrong("an array", value)
        return [_at(item, one, index) for index, one in enumerate(value)] if item else value

    return convert


def _tuple(args: tuple[Any, ...]) -> Convert:
    if not args or args[-1] is ...:
        items = _list(args[:1])
        return lambda value: tuple(items(value))
    members = [converter_of(arg) for arg in args]

    def convert(value: Any) -> tuple[Any, ...]:
        if type(value) is not list or len(value) != len(members):
            raise wrong(f"an array of {len(members)}", value)
        pairs = enumerate(zip(members, value))
        return tuple(_at(member, one, index) for index, (member, one) in pairs)

    return convert


def _dict(args: tuple[Any, ...]) -> Convert:
    key, item = (converter_of(arg) for arg in args) if len(args) == 2 else (None, None)
    if args and args[0] is int:
        key = _text_as(int, "an integer")

    def convert(value: Any) -> dict[Any, Any]:
        if type(value) is not dict:
            raise wrong("an object", value)
        return {_at(key, name, name): _at(item, one, name) for name, one in value.items()}

    return convert


def _union(args: tuple[Any, ...]) -> Convert | None:
    """The first type that fits; a failure is told by the only one there is, beside null."""
    takes_null = type(None) in args
    members = [converter_of(arg) for arg in args if arg is not type(None)]
    if None in members:
        return None

    def convert(value: Any) -> Any:
        if value is None and takes_null:
            return None
        misfits = []
        for member in members:
            assert member is not None
            try:
                return member(value)
            except Misfit as misfit:
                misfits.append(misfit)
        if len(misfits) == 1:
            raise misfits[0]
        raise wrong("one of " + ", ".join(map(_name_of, args)), value)

    return convert


def _name_of(annotation: Any) -> str:
    return getattr(annotation, "__name__", None) or str(annotation)


def _literal(args: tuple[Any, ...]) -> Convert:
    def convert(value: Any) -> Any:
        for one in args:
            if type(one) is type(value) and one == value:
                return value
        raise wrong(" or ".join(map(repr, args)), value)

    return convert


def _enum(kind: type[enum.Enum]) -> Convert:
    def convert(value: Any) -> enum.Enum:
        for one in kind:
            if type(one.value) is type(value) and one.value == value:
                return one
        raise wrong(f"a value of {kind.__name__}", value)

    return convert


class _Members:
    """Members of an object by their types, which are looked up at the first use: a type may name
    itself.
    """

    def __init__(self, kind: type) -> None:
        self.kind = kind
        self._converters: dict[str, Convert | None] | None = None

    def annotations(self) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for one in reversed(self.kind.__mro__):
            found.update(inspect.get_annotations(one) if hasattr(inspect, "get_annotations")
                         else one.__dict__.get("__annotations__", {}))  # fmt: skip
        return found

    def converters(self) -> dict[str, Convert | None]:
        if self._converters is None:
            module = inspect.getmodule(self.kind)
            hints = hints_of(self.kind, self.annotations(), vars(module) if module else {})
            self._converters = {name: converter_of(hint) for name, hint in hints.items()}
        return self._converters


class _Dataclass(_Members):
    """Members that the class does not know are ignored: a newer producer may send them."""

    def __call__(self, value: Any) -> Any:
        if type(value) is not dict:
            raise wrong("an object", value)
        converters = self.converters()
        given: dict[str, Any] = {}
        for field in dataclasses.fields(self.kind):
            if not field.init:
                continue
            if field.name in value:
                convert = converters.get(field.name)
                given[field.name] = _at(convert, value[field.name], field.name)
            elif field.default is field.default_factory is dataclasses.MISSING:
                raise Misfit("is missing", (field.name,))
        try:
            return self.kind(**given)
        except ValueError as error:  # of the class's own checks, in __post_init__
            raise Misfit(str(error)) from error


class _TypedDict(_Members):
    def __call__(self, value: Any) -> Any:
        if type(value) is not dict:
            raise wrong("an object", value)
        for name in self.kind.__required_keys__:  # type: ignore[attr-defined]
            if name not in value:
                raise Misfit("is missing", (name,))
        converters = self.converters()
        return {name: _at(converters.get(name), one, name) for name, one in value.items()}


# pydantic, which is imported only if an annotation is its own


def _is_for_pydantic(annotation: Any) -> bool:
    if isinstance(annotation, type):
        names = ("__get_pydantic_core_schema__", "__pydantic_validator__")
        return any(name in vars(one) for one in annotation.__mro__ for name in names)
    return any(
        type(one).__module__.partition(".")[0] in ("pydantic", "annotated_types")
        for one in getattr(annotation, "__metadata__", ())
    )


def _pydantic(annotation: Any) -> Convert:
    import pydantic

    adapter = pydantic.TypeAdapter(annotation)

    def convert(value: Any) -> Any:
        try:
            return adapter.validate_json(_json.dumps(value))
        except pydantic.ValidationError as error:
            first, *others = error.errors(include_url=False)
            more = f" (and {len(others)} more)" if others else ""
            raise Misfit(first["msg"] + more, tuple(first["loc"])) from None

    return convert
