"""`manage.py millrace_worker`: runs the handlers of MILLRACE_APP."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import close_old_connections
from django.utils.module_loading import autodiscover_modules, import_string

from millrace import Context, Millrace


class Command(BaseCommand):  # type: ignore[misc]  # Django has no types
    help = "Works on the jobs of MILLRACE_APP until SIGTERM or Ctrl-C."

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--queues", nargs="+", metavar="NAME", help="default: the handlers'")
        parser.add_argument("--concurrency", type=int, default=10, help="handlers at a time")
        parser.add_argument("--grace", type=float, default=25.0, help="seconds, after a stop")

    def handle(self, *_: Any, **options: Any) -> None:
        autodiscover_modules("jobs")  # each installed application may have handlers there
        app = application()
        app.middleware(with_fresh_connections)
        app.work(
            queues=options["queues"], concurrency=options["concurrency"], grace=options["grace"]
        )


def application() -> Millrace:
    path = getattr(settings, "MILLRACE_APP", None)
    if not isinstance(path, str):
        raise CommandError('MILLRACE_APP must say where the application is: "shop.jobs.app"')
    app = import_string(path)
    if not isinstance(app, Millrace):
        raise CommandError(f"{path} is no Millrace, but a {type(app).__name__}")
    return app


def with_fresh_connections(_: Context) -> Iterator[None]:
    """Close database connections that are broken or too old, as Django does around a request."""
    close_old_connections()
    try:
        return (yield)
    finally:
        close_old_connections()
