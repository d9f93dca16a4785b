"""The fixtures `millrace_fake` and `millrace_app` of pytest."""

from __future__ import annotations

import importlib
from collections.abc import Iterator

import pytest

from .aio import AsyncMillrace
from .client import Millrace
from .testing import Fake


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("millrace_app", "the application of the fixture millrace_fake, such as jobs:app")


@pytest.fixture
def millrace_app(request: pytest.FixtureRequest) -> Millrace | AsyncMillrace:
    """The application: that of the setting `millrace_app`. A project may have its own fixture."""
    place = str(request.config.getini("millrace_app"))
    module, _, name = place.partition(":")
    if not name:
        raise pytest.UsageError(
            f'the setting millrace_app must say where the application is: "jobs:app", not {place!r}'
        )
    app = getattr(importlib.import_module(module), name)
    assert isinstance(app, (Millrace, AsyncMillrace)), f"{place} is no application of Millrace"
    return app


@pytest.fixture
def millrace_fake(millrace_app: Millrace | AsyncMillrace) -> Iterator[Fake]:
    """A Fake that takes the application's calls during the test."""
    with Fake(millrace_app) as fake:
        yield fake
