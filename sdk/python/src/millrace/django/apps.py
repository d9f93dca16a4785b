"""The Django application `millrace.django`."""

from __future__ import annotations

from django.apps import AppConfig


class MillraceConfig(AppConfig):  # type: ignore[misc]  # Django has no types
    name = "millrace.django"
    label = "millrace"
    verbose_name = "Millrace"
