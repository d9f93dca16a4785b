"""Millrace in a Django project: submissions on commit, and the command `millrace_worker`.

Put `millrace.django` into INSTALLED_APPS, and say in MILLRACE_APP where the Millrace application
is: `"shop.jobs.app"`.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, TypeVar

from ..jobs import JobType

if sys.version_info >= (3, 10):
    from typing import ParamSpec
elif TYPE_CHECKING:
    from typing_extensions import ParamSpec
else:
    ParamSpec = TypeVar

__all__ = ["submit_on_commit"]

P = ParamSpec("P")


def submit_on_commit(job: JobType[P, Any], *args: P.args, **kwargs: P.kwargs) -> None:
    """Submit a job once the current transaction has committed; now, if there is none.

    The arguments are read at once. The process may die between the commit and the submission: a job
    that must not be lost is submitted within the transaction, by
    `job.submit_tx(django.db.connection, ...)`, if the server keeps its jobs in that database.
    """
    from django.db import transaction

    new = job.new(*args, **kwargs)
    app = job._app
    transaction.on_commit(lambda: app.submit(new))
