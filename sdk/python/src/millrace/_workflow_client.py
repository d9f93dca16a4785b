"""The synchronous client's calls on workflows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Callable, TypeVar

from . import _workflow_operations as operations
from ._calls import Call, all_pages
from ._inputs import MemberInput, WorkflowInput
from ._options import WorkflowFilters
from ._shapes import MemberState
from ._time import Duration, to_seconds
from ._trace import TraceSource, current_trace
from .errors import InvalidState
from .models import (
    CreatedWorkflow,
    GraphLine,
    Job,
    Member,
    MemberDetail,
    MembersAnswer,
    Page,
    Workflow,
    WorkflowWhy,
)
from .workflows import NewMember, NewWorkflow

if TYPE_CHECKING:
    from typing_extensions import Unpack

T = TypeVar("T")
E = TypeVar("E", Job, Workflow)


class WorkflowCalls:
    """A part of Millrace."""

    if TYPE_CHECKING:
        _timeout: float
        _current_trace: TraceSource | None

        def _call(self, call: Call[T], timeout: float | None = None) -> T:
            raise NotImplementedError

        def _wait(
            self, call_at: Callable[[float], Call[E]], what: str, timeout: Duration | None
        ) -> E:
            raise NotImplementedError

    def create_workflow(self, workflow: NewWorkflow | WorkflowInput) -> CreatedWorkflow:
        """Create a workflow, and return it when the server has it on disk.

        The server takes all members or none, up to 10,000. More go in several calls, the last of
        which closes the workflow, unless it is to stay open.

        Args:
            workflow: a NewWorkflow, or a mapping with the API's members.

        Raises:
            DuplicateWorkflow: another one holds its `unique` key, which says `reject`.
            ValidationFailed: of a ref that is not there, needs in a circle, and so on.
        """
        creation = operations.Creation(workflow, current_trace(self._current_trace))
        made = self._call(creation.first)
        if creation.is_whole(made):
            return made
        for call in creation.rest(made):
            self._call(call)
        return CreatedWorkflow(self.workflow(made.id), made.is_new)

    def workflow(self, id: str, *, include: Sequence[str] = ()) -> Workflow:
        """Return a workflow. `include` may name `result`: that of its `result_from`."""
        return self._call(operations.workflow(id, include))

    def wait_workflow(self, id: str, timeout: Duration | None = None) -> Workflow:
        """Wait until a workflow has ended, and return it with its result. Check its `state`.

        Args:
            timeout: how long to wait; None means without a bound.

        Raises:
            WaitTimeout: it has not ended within the timeout.
            NotFound: there is no such workflow, also 2 s later.
        """
        return self._wait(
            lambda wait_s: operations.wait_workflow(id, wait_s), f"workflow {id}", timeout
        )

    def workflows(
        self, *, limit: int = 50, cursor: str | None = None, **filters: Unpack[WorkflowFilters]
    ) -> Page[Workflow]:
        """Return a page of at most `limit` (1 to 1000) workflows, newest first.

        Filters: `state` (one or a list), `queue`, `name`, `tag`, `created_after`,
        `created_before`, `fresh`.
        """
        return self._call(operations.workflows(filters, limit, cursor))

    def all_workflows(
        self, *, limit: int = 100, **filters: Unpack[WorkflowFilters]
    ) -> Iterator[Workflow]:
        """Iterate over all matching workflows, newest first; see `workflows`."""
        return all_pages(lambda cursor: self.workflows(limit=limit, cursor=cursor, **filters))

    def workflow_members(
        self,
        id: str,
        *,
        state: MemberState | None = None,
        include: Sequence[str] = (),
        limit: int = 100,
        cursor: str | None = None,
    ) -> Page[Member]:
        """Return a page of a workflow's members, by number. `include` may name `job`, `result`."""
        return self._call(operations.members(id, state, include, limit, cursor))

    def all_members(
        self,
        id: str,
        *,
        state: MemberState | None = None,
        include: Sequence[str] = (),
        limit: int = 1000,
    ) -> Iterator[Member]:
        """Iterate over all members, by number; see `workflow_members`."""
        return all_pages(
            lambda cursor: self.workflow_members(
                id, state=state, include=include, limit=limit, cursor=cursor
            )
        )

    def workflow_member(
        self, id: str, ref: str, *, include: Sequence[str] = (), wait: Duration = 0
    ) -> MemberDetail:
        """Return a member with its needs and its definition.

        Args:
            ref: its ref, or `@` and its number.
            include: may name `job`, `result`.
            wait: how long to wait for its end, at most 60 s.
        """
        wait_s = to_seconds("wait", wait)
        return self._call(operations.member(id, ref, include, wait_s), wait_s + self._timeout)

    def workflow_graph(self, id: str, *, cursor: str | None = None) -> Page[GraphLine]:
        """Return a page of a workflow's graph: 10,000 members with their states and needs."""
        return self._call(operations.graph(id, cursor))

    def whole_graph(self, id: str) -> Iterator[GraphLine]:
        """Iterate over the whole graph; see `workflow_graph`."""
        return all_pages(lambda cursor: self.workflow_graph(id, cursor=cursor))

    def why_workflow(self, id: str) -> WorkflowWhy:
        """Say what a workflow waits for: a `summary` in words, and each reason under `blocking`."""
        return self._call(operations.why(id))

    def add_members(
        self,
        id: str,
        members: Iterable[NewMember | MemberInput],
        *,
        by: str | None = None,
        close: bool = False,
        idempotency_key: str | None = None,
    ) -> MembersAnswer:
        """Add at most 10,000 members to an open workflow. A ref that is there is left alone.

        Args:
            by: the ref of a member that runs, which may add to a closed workflow, too.
            close: close the workflow too.
            idempotency_key: for members without a ref, if the program may make the call again.
        """
        trace = current_trace(self._current_trace)
        return self._call(operations.add_members(id, members, by, close, idempotency_key, trace))

    def close_workflow(self, id: str) -> Workflow:
        """Let an open workflow take no more members, so that it ends once its members have."""
        return self._call(operations.close(id))

    def cancel_workflow(self, id: str, reason: str | None = None) -> Workflow:
        """Cancel a workflow: nothing more is released, waiting jobs are cancelled, running ones
        told. Its state is `stopping` until the last of them has ended.

        Raises InvalidState if it has ended.
        """
        try:
            return self._call(operations.cancel(id, reason))
        except InvalidState as error:
            if error._is_of_a_repetition:
                workflow = self.workflow(id)
                if workflow.state == "cancelled":
                    return workflow  # an earlier try cancelled it, and its answer was lost
            raise

    def retry_workflow(
        self,
        id: str,
        *,
        refs: Sequence[str] | None = None,
        reset_attempts: bool | None = None,
        drop_limits: bool | None = None,
    ) -> Workflow:
        """Run failed members again, and what was skipped because of them. What succeeded stays.

        Args:
            refs: the members. Default those whose failure no other member has caught.
            reset_attempts: whether their attempts start again at 0. Default True.
            drop_limits: run them without their limits.
        """
        return self._call(operations.retry(id, refs, reset_attempts, drop_limits))

    def skip_member(self, id: str, ref: str) -> Workflow:
        """Skip a member that waits. Raises InvalidState if it does not wait."""
        try:
            return self._call(operations.skip(id, ref))
        except InvalidState as error:
            if error._is_of_a_repetition and self.workflow_member(id, ref).state == "skipped":
                return self.workflow(id)  # an earlier try skipped it, and its answer was lost
            raise

    def delete_workflow(self, id: str) -> None:
        """Delete a workflow that has ended, with the jobs of its members."""
        self._call(operations.delete(id))
