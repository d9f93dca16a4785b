"""Tests of payloads by annotations: from a call to JSON, and back to the handler's arguments."""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import enum
import unittest
import uuid
from typing import Any, Dict, List, Literal, NewType, Optional, Tuple, TypedDict, Union

from millrace import Millrace, NonRetryable, PayloadError
from millrace import _json as json
from millrace.testing import Fake

try:
    import pydantic
except ImportError:
    pydantic = None  # type: ignore[assignment]

Cents = NewType("Cents", int)


class Color(enum.Enum):
    RED = "red"


class Size(TypedDict, total=False):
    width: int


@dataclasses.dataclass
class Line:
    name: str
    price: decimal.Decimal
    count: int = 1
    parts: List[Line] = dataclasses.field(default_factory=list)
    total: decimal.Decimal = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError("count must be 1 or more")
        self.total = self.price * self.count


@dataclasses.dataclass
class Order:
    id: uuid.UUID
    at: datetime.datetime
    lines: List[Line]
    color: Color = Color.RED
    note: Optional[str] = None


LINE = Line("nut", decimal.Decimal("0.10"), 3, [Line("ring", decimal.Decimal("1"))])
AT = datetime.datetime(2030, 3, 1, 9, 30, tzinfo=datetime.timezone.utc)
ORDER = Order(uuid.UUID(int=7), AT, [LINE])


class TypedTest(unittest.TestCase):
    def setUp(self) -> None:
        self.app = Millrace("http://127.0.0.1:1")  # no server listens there

    def test_arguments_come_as_they_went(self) -> None:
        seen: list[Any] = []

        @self.app.job("t")
        def handle(
            order: Order,
            day: datetime.date,
            pause: datetime.timedelta,
            size: Size,
            pair: Tuple[int, str],
            by_id: Dict[uuid.UUID, Line],
            cents: Cents,
            how: Literal["air", "sea"],
            ratio: float,
            either: Union[int, Line, None],
            unknown: NoSuchName,  # type: ignore[name-defined]  # noqa: F821
            late: datetime.datetime = None,  # type: ignore[assignment]
            **rest: datetime.time,
        ) -> Order:
            seen.append((order, day, pause, size, pair, by_id, cents, how, ratio, either, unknown))
            seen.append((late, rest))
            return order

        arguments: dict[str, Any] = {
            "order": ORDER,
            "day": AT.date(),
            "pause": datetime.timedelta(minutes=5),
            "size": {"width": 3},
            "pair": (1, "a"),
            "by_id": {str(uuid.UUID(int=1)): LINE},
            "cents": 5,
            "how": "air",
            "ratio": 2,
            "either": LINE,
            "unknown": {"as": "it is"},
        }
        with Fake(self.app) as fake:
            job = handle.submit(**arguments, noon=datetime.time(12))
            self.assertEqual(fake.drain(), 1)
            done = self.app.get(job.id, include=["result"])
            self.assertEqual((done.state, done.last_error), ("succeeded", None))
            self.assertEqual(done.result["id"], "00000000-0000-0000-0000-000000000007")
        arguments["by_id"] = {uuid.UUID(int=1): LINE}
        self.assertEqual(seen, [tuple(arguments.values()), (None, {"noon": datetime.time(12)})])

    def test_the_whole_payload_has_a_type(self) -> None:
        seen = []

        @self.app.job("t")
        def handle(lines: List[Line], /) -> None:
            seen.append(lines)

        with Fake(self.app, mode="inline"):
            handle.submit([LINE])
            bad = self.app.submit("t", [{"name": "nut"}])
            self.assertEqual(
                self.app.get(bad.id).last_error["message"], "payload[0].price: is missing"
            )
        self.assertEqual(seen, [[LINE]])

    def test_an_error_names_the_member(self) -> None:
        @self.app.job("t", max_attempts=1)
        def handle(order: Order, n: int = 0, how: Literal["air", "sea"] = "air") -> None:
            raise NonRetryable("not reached")

        good = json.loads(json.dumps(ORDER))
        cases: list[tuple[Any, str]] = [
            ({}, "payload.order: is missing"),
            ([], r"payload: must be an object, whose members are .*, not \[\]"),
            ({"order": good, "m": 1}, "payload.m: the handler has no parameter of this name"),
            ({"order": good, "n": "1"}, 'payload.n: must be an integer, not "1"'),
            ({"order": good, "n": True}, "payload.n: must be an integer, not true"),
            ({"order": good, "how": "land"}, "payload.how: must be 'air' or 'sea', not \"land\""),
            ({"order": {**good, "at": "soon"}}, 'payload.order.at: must be a time .*, not "soon"'),
            ({"order": {**good, "id": 7}}, "payload.order.id: must be a UUID, not 7"),
            ({"order": {**good, "color": "blue"}}, "payload.order.color: must be a value of Color"),
            ({"order": {**good, "note": 1}}, "payload.order.note: must be a string, not 1"),
            ({"order": {**good, "lines": {}}}, r"payload.order.lines: must be an array, not \{\}"),
            (
                {"order": {**good, "lines": [{"name": "a", "price": "x"}]}},
                r"payload.order.lines\[0\].price: must be a decimal number",
            ),
            (
                {"order": {**good, "lines": [{"name": "a", "price": 1, "count": 0}]}},
                r"payload.order.lines\[0\]: count must be 1 or more",
            ),
        ]
        with Fake(self.app, mode="inline"):
            for payload, wanted in cases:
                error = self.app.get(self.app.submit("t", payload, max_attempts=1).id).last_error
                self.assertEqual(error["type"], "PayloadError")
                self.assertRegex(error["message"], f"^{wanted}")

    def test_what_is_not_json_is_named(self) -> None:
        for value, wanted in (
            ({"a": [1, {"b": {1, 2}}]}, r"^a\[1\].b: a set is not JSON$"),
            ({"a": float("nan")}, "^a: nan is not JSON$"),
            ({"a": {(1, 2): 3}}, "^a: a key that is a tuple is not JSON$"),
            (Order(uuid.UUID(int=1), object(), []), "^at: an object is not JSON$"),  # type: ignore
            (b"bytes", "^a bytes is not JSON$"),
        ):
            with self.assertRaisesRegex((TypeError, ValueError), wanted):
                json.dumps(value)
        with self.assertRaisesRegex(TypeError, "^payload.to: a set is not JSON$"):
            self.app.submit("t", {"to": {1}})

    def test_a_payload_error_is_a_value_error(self) -> None:
        self.assertTrue(issubclass(PayloadError, ValueError))


@unittest.skipIf(pydantic is None, "pydantic is not installed")
class PydanticTest(unittest.TestCase):
    def test_models_and_constraints(self) -> None:
        app = Millrace("http://127.0.0.1:1")
        seen: list[Any] = []

        class User(pydantic.BaseModel):
            name: str
            born: datetime.date

        positive = __import__("typing_extensions").Annotated[int, pydantic.Field(gt=0)]

        def handle(user, n):  # type: ignore[no-untyped-def]
            seen.append((user, n))
            return user

        handle.__annotations__ = {"user": User, "n": positive}
        made = app.job("t", max_attempts=1)(handle)
        user = User(name="Ada", born=datetime.date(1815, 12, 10))
        with Fake(app, mode="inline"):
            job = made.submit(user, n=1)
            self.assertEqual(seen, [(user, 1)])
            result = app.get(job.id, include=["result"]).result
            self.assertEqual(result, {"name": "Ada", "born": "1815-12-10"})
            for payload, wanted in (
                ({"user": {"name": "Ada", "born": "x"}, "n": 1}, "payload.user.born: Input"),
                ({"user": {"name": "Ada", "born": "1815-12-10"}, "n": 0}, "payload.n: Input"),
            ):
                bad = app.submit("t", payload, max_attempts=1)
                self.assertIn(wanted, app.get(bad.id).last_error["message"])


if __name__ == "__main__":
    unittest.main()
