"""Scenarios and their registration."""

import dataclasses
import importlib
import pkgutil
import typing


@dataclasses.dataclass(frozen=True)
class Scenario:
    """One scenario. `sentence` tells authors of SDKs the expected behaviour."""

    subject: str  # the name of its file
    title: str
    play: typing.Callable
    options: dict  # of its Stage

    @property
    def name(self):
        return f"{self.subject}.{self.title}"

    @property
    def sentence(self):
        return " ".join(self.play.__doc__.split())


_registered = []


def scenario(play=None, **options):
    """Marks a function of a Stage as a scenario; `options` are the Stage's."""

    def register(function):
        subject = function.__module__.rsplit(".", 1)[-1]
        _registered.append(Scenario(subject, function.__name__, function, options))
        return function

    return register(play) if play else register


def every_scenario():
    """All scenarios, by subject in the order of scenarios/__init__.py."""
    import scenarios

    found = {module.name for module in pkgutil.iter_modules(scenarios.__path__)}
    listed = set(scenarios.SUBJECTS)
    if found != listed:
        raise AssertionError(f"scenarios/__init__.py and the files differ: {found ^ listed}")
    for subject in scenarios.SUBJECTS:
        importlib.import_module(f"scenarios.{subject}")
    return sorted(_registered, key=lambda each: list(scenarios.SUBJECTS).index(each.subject))
