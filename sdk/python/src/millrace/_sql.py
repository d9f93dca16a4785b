"""Submissions in a transaction of the user's own: a call of `millrace.enqueue` on the user's
connection, by the driver that the user has.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Mapping
from typing import Any, NamedTuple

from . import _json

# The arguments of millrace.enqueue by the API's members, with the types of PostgreSQL.
_ARGUMENTS = {
    "type": ("type", "text"),
    "payload": ("payload", "jsonb"),
    "queue": ("queue", "text"),
    "id": ("id", "uuid"),
    "priority": ("priority", "integer"),
    "run_at": ("run_at", "timestamptz"),
    "delay_ms": ("delay", "interval"),
    "expires_at": ("expires_at", "timestamptz"),
    "expires_in_ms": ("expires_in", "interval"),
    "max_attempts": ("max_attempts", "integer"),
    "retry": ("retry", "jsonb"),
    "lease_ms": ("lease", "interval"),
    "timeout_ms": ("timeout", "interval"),
    "tags": ("tags", "text[]"),
    "meta": ("meta", "jsonb"),
    "traceparent": ("traceparent", "text"),
    "tracestate": ("tracestate", "text"),
    "idempotency_key": ("idempotency_key", "text"),
    "limits": ("limits", "jsonb"),
    "order_key": ("order_key", "text"),
    "order_on_failure": ("order_on_failure", "text"),
    "fair_key": ("fair_key", "text"),
}
_UNIQUE = {
    "key": ("unique_key", "text"),
    "for_ms": ("unique_for", "interval"),
    "on_conflict": ("on_conflict", "text"),
    "max_wait_ms": ("max_wait", "interval"),
}


class Statement(NamedTuple):
    """A call of millrace.enqueue. Every value is text, so that it is the same for each driver."""

    arguments: list[tuple[str, str]]  # name and type
    values: list[str]

    def text(self, style: str) -> str:
        """Return the SQL. `style` makes the placeholder of an argument of its number and name."""
        parts = []
        for number, (name, kind) in enumerate(self.arguments, 1):
            value = f"CAST({style.format(number=number, name=name)} AS text)"
            if kind == "text[]":
                value = f"ARRAY(SELECT jsonb_array_elements_text(CAST({value} AS jsonb)))"
            elif kind != "text":
                value = f"CAST({value} AS {kind})"
            parts.append(f"{name} => {value}")
        return f"SELECT CAST(millrace.enqueue({', '.join(parts)}) AS text)"


def statement_of(wire: Mapping[str, Any]) -> Statement:
    statement = Statement([], [])
    for known, members in ((_ARGUMENTS, wire), (_UNIQUE, wire.get("unique") or {})):
        for name, value in members.items():
            if name == "unique" or (value is None and name != "payload"):
                continue
            if name not in known:
                raise ValueError(f"millrace.enqueue has no argument for the member {name!r}")
            argument, kind = known[name]
            statement.arguments.append((argument, kind))
            statement.values.append(_text(value, kind))
    return statement


def _text(value: Any, kind: str) -> str:
    if kind in ("jsonb", "text[]"):
        return _json.dumps(value)
    return f"{value} milliseconds" if kind == "interval" else str(value)


def execute(connection: Any, statement: Statement) -> str:
    """Make the call on a connection, session or cursor of psycopg, SQLAlchemy or Django, or of
    another driver of the DB-API whose parameters are `%s`. Returns the job's id.
    """
    if _library(connection) == "sqlalchemy":
        made = connection.execute(*_for_sqlalchemy(statement))
        _must_be_sync(made, connection)
        return str(made.scalar_one())
    made = _cursor(connection)
    _must_be_sync(made, connection)
    with contextlib.closing(made) as cursor:
        _must_be_sync(cursor.execute(statement.text("%s"), statement.values), connection)
        return _first(cursor.fetchone())


async def execute_async(connection: Any, statement: Statement) -> str:
    """The same for psycopg's AsyncConnection, SQLAlchemy's AsyncSession and AsyncConnection, and
    asyncpg.
    """
    library = _library(connection)
    if library == "sqlalchemy":
        return str((await connection.execute(*_for_sqlalchemy(statement))).scalar_one())
    if library == "asyncpg":
        return str(await connection.fetchval(statement.text("${number}"), *statement.values))
    cursor = _cursor(connection)
    async with cursor:
        await cursor.execute(statement.text("%s"), statement.values)
        return _first(await cursor.fetchone())


def _library(connection: Any) -> str:
    names = {kind.__module__.partition(".")[0] for kind in type(connection).__mro__}
    return next((name for name in ("sqlalchemy", "asyncpg", "psycopg") if name in names), "")


def _for_sqlalchemy(statement: Statement) -> tuple[Any, dict[str, str]]:
    import sqlalchemy

    names = [name for name, _ in statement.arguments]
    return sqlalchemy.text(statement.text(":{name}")), dict(zip(names, statement.values))


def _cursor(connection: Any) -> Any:
    if not hasattr(connection, "cursor"):
        connection = getattr(connection, "connection", connection)  # a cursor was given
    if not hasattr(connection, "cursor"):
        raise TypeError(
            "submit_tx takes a connection or session of psycopg, SQLAlchemy or Django, not "
            f"{type(connection).__name__}"
        )
    if _library(connection) == "psycopg":
        from psycopg.rows import tuple_row

        return connection.cursor(row_factory=tuple_row)
    return connection.cursor()


def _first(row: Any) -> str:
    return str(next(iter(row.values())) if isinstance(row, Mapping) else row[0])


def _must_be_sync(made: Any, connection: Any) -> None:
    is_async = hasattr(made, "__aenter__") and not hasattr(made, "__enter__")
    if is_async or inspect.isawaitable(made):
        if inspect.iscoroutine(made):
            made.close()
        kind = type(connection).__name__
        raise TypeError(f"{kind} is asynchronous: submit_tx of an AsyncMillrace takes it")
