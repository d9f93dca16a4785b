"""The README's examples with psycopg, SQLAlchemy, asyncpg, FastAPI, Django and pytest: each is the
real one. sdk/python/test runs this with the tools' Python.
"""

from __future__ import annotations

import asyncio
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import textwrap
import unittest
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
PYTHON_SDK = HERE.parents[1]
sys.path[:0] = [str(HERE.parent), str(PYTHON_SDK.parents[1] / "tests")]

import asyncpg  # noqa: E402 (the paths come first)
import follow_readme  # noqa: E402
import postgres  # noqa: E402
import psycopg  # noqa: E402
import sqlalchemy  # noqa: E402
import sqlalchemy.ext.asyncio  # noqa: E402
from psycopg.rows import dict_row  # noqa: E402
from sqlalchemy.orm import Session  # noqa: E402
from support import PATIENCE, Server, clean_environment, eventually, free_port  # noqa: E402

from millrace import AsyncMillrace, Millrace, NotFound  # noqa: E402
from millrace.testing import Fake  # noqa: E402

HOME = pathlib.Path(tempfile.mkdtemp(prefix="millrace-readme-"))
follow_readme.write_files((PYTHON_SDK / "README.md").read_text(), HOME)
sys.path.insert(0, str(HOME))

SHOP = {
    "manage.py": """
        import os, sys
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shopping.settings")
        from django.core.management import execute_from_command_line
        execute_from_command_line(sys.argv)
        """,
    "shopping/__init__.py": "",
    "shopping/settings.py": """
        import os
        from shopping.millrace_settings import *
        SECRET_KEY = "s"
        ROOT_URLCONF = "shopping.urls"
        DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
        DATABASES = {"default": {
            "ENGINE": "django.db.backends.postgresql", "NAME": os.environ["PGDATABASE"],
            "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"],
            "USER": os.environ["PGUSER"],
        }}
        """,
    "shopping/urls.py": """
        from django.urls import path
        from shopping.views import buy
        urlpatterns = [path("buy", buy)]
        """,
    "shopping/models.py": """
        from django.db import models
        class Order(models.Model):
            item = models.TextField()
            shipped = models.BooleanField(default=False)
        """,
    "shopping/jobs.py": """
        from millrace import Millrace
        app = Millrace()
        @app.job("order.ship", queue="django")
        def ship(order_id: int) -> int:
            from shopping.models import Order
            return Order.objects.filter(pk=order_id).update(shipped=True)
        """,
}
# What the views of a project do, as a script: it prints the ids of the jobs.
DRIVE = """
    import django, os
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "shopping.settings")
    django.setup()
    from django.core.management import call_command
    call_command("migrate", run_syncdb=True, verbosity=0)
    from django.db import connection, transaction
    from django.test import RequestFactory
    from millrace.django import submit_on_commit
    from shopping.jobs import app, ship
    from shopping.models import Order
    from shopping.views import buy
    assert buy(RequestFactory().get("/buy?item=nut")).status_code == 202
    try:
        with transaction.atomic():
            submit_on_commit(ship, order_id=99)
            lost = ship.submit_tx(connection, order_id=99)
            raise KeyError
    except KeyError:
        pass
    with transaction.atomic():
        order = Order.objects.create(item="bolt")
        kept = ship.submit_tx(connection, order_id=order.pk)
    print(lost, kept)
    """


def script(text: str) -> str:
    return textwrap.dedent(text)


class FrameworkTest(unittest.TestCase):
    """One PostgreSQL for all, in which the server keeps its jobs, too."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.cluster = postgres.shared()
        cls.url = cls.cluster.new_database()
        cls.server = Server("--postgres", cls.url)
        cls.addClassCleanup(cls.server.close)
        cls.env = {
            **clean_environment(),
            "MILLRACE_URL": cls.server.url,
            "PGHOST": cls.cluster.host,
            "PGPORT": str(cls.cluster.port),
            "PGUSER": postgres.USER,
            "PGDATABASE": cls.url.rpartition("/")[2],
            "PYTHONPATH": os.pathsep.join([str(PYTHON_SDK / "src"), str(HOME)]),
        }
        cls.cluster.sql("CREATE TABLE orders(item text, buyer text)", cls.url)
        cls.app = Millrace(cls.server.url)
        cls.addClassCleanup(cls.app.close)
        import jobs  # the README's

        jobs.app._config = cls.app._config
        jobs.app._transport = cls.app._transport

    def arrives(self, id: str) -> object:
        """Wait until the server has taken a job from the database, and return the job."""

        def found() -> object:
            try:
                return self.app.get(id, include=["payload"])
            except NotFound:
                return None

        return eventually(found)

    def assert_never_came(self, id: str, after: str) -> None:
        """A later job of the same database has come, and so would this one have."""
        self.arrives(after)
        with self.assertRaises(NotFound):
            self.app.get(id)

    def test_psycopg(self) -> None:
        import orders

        with psycopg.connect(self.url, row_factory=dict_row, autocommit=True) as connection:
            try:
                with connection.transaction():
                    lost = orders.order(connection, "nut", "eve@example.org")
                    raise KeyError
            except KeyError:
                pass
            kept = orders.order(connection, "bolt", "ada@example.org")
            count = connection.execute("SELECT count(*) FROM orders WHERE item = 'bolt'").fetchone()
            self.assertEqual(count, {"count": 1})
        job = self.arrives(kept)
        self.assertEqual((job.type, job.queue, job.max_attempts), ("email.send", "mail", 8))
        self.assertEqual(job.payload, {"to": "ada@example.org", "template": "thanks"})
        self.assert_never_came(lost, kept)

    def test_every_option(self) -> None:
        options = {
            "queue": "every-option",
            "priority": -3,
            "delay": 3600,
            "expires_in": 7200,
            "max_attempts": 4,
            "retry": {"strategy": "list", "delays_ms": [1, 2]},
            "lease": 5,
            "timeout": 1.5,
            "unique": {
                "key": "k",
                "for_ms": 60_000,
                "on_conflict": "debounce",
                "max_wait_ms": 9_000_000,
            },
            "tags": ["a", "b"],
            "meta": {"x": "y"},
            "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "fair_key": "f",
            "order_key": "o",
            "order_on_failure": "pass",
            "limits": [{"name": "every-option"}],
        }
        self.app.put_limit("every-option", {"concurrency": 1})
        with psycopg.connect(self.url) as connection:
            id = self.app.submit_tx(connection, "t", [None, {"a": 1}], **options)
        job = self.arrives(id)
        same = self.app.submit("t", [None, {"a": 1}], **{**options, "unique": None}).job
        varying = {"id", "unique", "created_at", "run_at", "expires_at", "version", "payload"}
        wanted = {name: value for name, value in same.raw.items() if name not in varying}
        self.assertEqual({n: v for n, v in job.raw.items() if n not in varying}, wanted)
        self.assertEqual(job.payload, [None, {"a": 1}])
        self.assertEqual(job.unique["max_wait_ms"], 9_000_000)
        with self.assertRaisesRegex(ValueError, "no argument for the member 'speed'"):
            self.app.submit_tx(connection, {"type": "t", "speed": 1})  # type: ignore[arg-type]
        with self.assertRaisesRegex(TypeError, "not Millrace"):
            self.app.submit_tx(self.app, "t")

    def test_sqlalchemy(self) -> None:
        import orders_sqlalchemy

        address = self.url.replace("postgres://", "postgresql+psycopg://")
        engine = sqlalchemy.create_engine(address)
        with Session(engine) as session:
            lost = self.app.submit_tx(session, "t", {"n": 1}, queue="alchemy")
            session.rollback()
            orders_sqlalchemy.order(session, "nail", "joe@example.org")
        with engine.begin() as connection:
            kept = self.app.submit_tx(connection, "t", queue="alchemy")
        engine.dispose()
        self.assert_never_came(lost, kept)
        waiting = self.app.list(queue="mail", state="scheduled", include=["payload"], fresh=True)
        self.assertEqual([job.payload["to"] for job in waiting.items], ["joe@example.org"])

    def test_asynchronous_drivers(self) -> None:
        app = AsyncMillrace(self.server.url)

        @app.job("page.fetch", queue="async-tx")
        async def fetch(url: str) -> None: ...

        async def story() -> list[str]:
            kept = []
            async with await psycopg.AsyncConnection.connect(self.url) as connection:
                with self.assertRaisesRegex(TypeError, "AsyncConnection is asynchronous"):
                    self.app.submit_tx(connection, "t")
                kept.append(await fetch.submit_tx(connection, url="psycopg"))
            address = self.url.replace("postgres://", "postgresql+psycopg://")
            engine = sqlalchemy.ext.asyncio.create_async_engine(address)
            async with sqlalchemy.ext.asyncio.AsyncSession(engine) as session:
                with self.assertRaisesRegex(TypeError, "AsyncSession is asynchronous"):
                    self.app.submit_tx(session, "t")
                kept.append(await fetch.submit_tx(session, url="sqlalchemy"))
                await session.commit()
            await engine.dispose()
            other = await asyncpg.connect(self.url)
            async with other.transaction():
                kept.append(await fetch.submit_tx(other, url="asyncpg"))
            await other.close()
            return kept

        for id, name in zip(asyncio.run(story()), ("psycopg", "sqlalchemy", "asyncpg")):
            self.assertEqual(self.arrives(id).payload, {"url": name})

    def test_a_fake_needs_no_database(self) -> None:
        import orders

        with Fake(orders.send._app) as fake:
            id = orders.send.submit_tx(None, to="ada@example.org")
            self.assertEqual([job.id for job in fake.enqueued()], [id])

    def test_fastapi(self) -> None:
        port = free_port()
        with subprocess.Popen(
            [sys.executable, "-m", "uvicorn", "web:web", "--port", str(port)],
            env=self.env,
            cwd=HOME,
            stderr=subprocess.PIPE,
        ) as web:
            url = f"http://127.0.0.1:{port}/images?path=a.png"
            request = urllib.request.Request(url, method="POST")

            def post() -> object:
                try:
                    with urllib.request.urlopen(request) as answer:
                        return json.load(answer)
                except OSError:
                    return None

            job = eventually(post)
            done = self.app.wait(job["job"], PATIENCE)
            self.assertEqual(done.result, "a.png at 800")
            web.send_signal(signal.SIGTERM)  # one is enough
            _, log = web.communicate(timeout=PATIENCE)
            self.assertIn(b"Application shutdown complete", log)
            self.assertEqual(self.app.workers().items, [])

    def test_django(self) -> None:
        for name, text in SHOP.items():
            follow_readme.write_file(HOME / name, script(text))
        done = subprocess.run(
            [sys.executable, "-c", script(DRIVE)],
            env=self.env,
            cwd=HOME,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        lost, kept = done.stdout.split()
        with subprocess.Popen(
            [sys.executable, "manage.py", "millrace_worker", "--concurrency", "2"],
            env=self.env,
            cwd=HOME,
        ) as worker:
            self.arrives(kept)
            self.assertEqual(self.app.wait(kept, PATIENCE).result, 1)
            shipped = "SELECT count(*) FROM shopping_order WHERE shipped"
            eventually(lambda: self.cluster.sql(shipped, self.url) == "2")
            worker.send_signal(signal.SIGTERM)
            self.assertEqual(worker.wait(PATIENCE), 0)
        self.assert_never_came(lost, kept)
        self.assertEqual(len(self.app.list(queue="django", fresh=True).items), 2)

    def test_pytest(self) -> None:
        options = "-q -p millrace.pytest_plugin -p no:cacheprovider"  # installed, it needs no -p
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options.split(), "test_with_pytest.py"],
            env={**self.env, "MILLRACE_URL": "http://127.0.0.1:1"},
            cwd=HOME,
            capture_output=True,
            text=True,
        )
        self.assertIn("1 passed", done.stdout, done.stdout + done.stderr)


if __name__ == "__main__":
    unittest.main()
