package dev.millrace;

import dev.millrace.Transport.Answer;
import dev.millrace.Transport.Replay;
import dev.millrace.Transport.Request;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** The client's calls on workflows. */
abstract class WorkflowCalls extends ScheduleCalls {
  private static final String WORKFLOWS = "/v1/workflows/";

  final Preparer preparer;

  WorkflowCalls(Transport transport, ApiCodec codec, Preparer preparer) {
    super(transport, codec);
    this.preparer = preparer;
  }

  /**
   * Creates a workflow, all of it or nothing. The call is idempotent: the server recognizes the
   * workflow by its id or key. One with more than 10,000 members is sent in parts, and stays open
   * until the last of them; if the call fails between them, repeat it with the same id.
   *
   * @param workflow the workflow
   * @return the workflow as stored by the server, once it is on disk
   * @throws MillraceException.ValidationFailed if members need in a circle, or an unknown ref
   * @throws IllegalArgumentException if it has more than 10,000 members and an idempotency key
   * @throws CodecException if a payload can't be written as JSON
   */
  public CreatedWorkflow createWorkflow(NewWorkflow workflow) {
    String key = workflow.get("idempotency_key");
    String id = workflow.get("id");
    if (id == null && key == null) id = Ids.make(workflow.queue());
    List<NewMember> members = workflow.members();
    boolean isLarge = members.size() > Constants.MOST_MEMBERS;
    if (isLarge && key != null) {
      // The later parts go to the workflow's id, which the client must know before.
      throw new IllegalArgumentException(
          "a workflow of more than 10,000 members takes an id instead of an idempotency key");
    }
    Map<String, Object> more = new LinkedHashMap<>();
    if (id != null) more.put("id", id);
    if (isLarge) more.put("open", true);
    List<NewMember> first = isLarge ? members.subList(0, Constants.MOST_MEMBERS) : members;
    Answer answer = send("/v1/workflows", workflow.write(codec, more, first), key);
    Workflow made = read(answer, Workflow.class);
    boolean isOwn = made.id().equals(id); // else it holds the unique key
    if (isLarge && isOwn && made.open()) {
      addRest(workflow, id);
      made = workflow(id);
    }
    return new CreatedWorkflow(made, answer.status() == 201);
  }

  private void addRest(NewWorkflow workflow, String id) {
    List<NewMember> members = workflow.members();
    boolean closes = workflow.get("open") == null;
    NewJob defaults = workflow.get("defaults"); // of each request, and an addition has none
    for (int from = Constants.MOST_MEMBERS; from < members.size(); from += Constants.MOST_MEMBERS) {
      int to = Math.min(from + Constants.MOST_MEMBERS, members.size());
      boolean isLast = to == members.size();
      Map<String, Object> more = isLast && closes ? Map.of("close", true) : Map.of();
      List<NewMember> part = members.subList(from, to);
      String body = NewMembers.create().write(codec, more, part, defaults);
      send(Target.path(WORKFLOWS, id, "/members"), body, id + "-" + from);
    }
  }

  /** Sends a request that creates jobs, which are part of the current trace. */
  private Answer send(String target, String body, String key) {
    Map<String, String> headers = new HashMap<>();
    if (key != null) headers.put("Idempotency-Key", key);
    TraceContext trace = preparer.currentTrace();
    if (trace != null) {
      headers.put("traceparent", trace.traceparent());
      if (trace.tracestate() != null) headers.put("tracestate", trace.tracestate());
    }
    return transport.call(new Request("POST", target, body, headers, Replay.ALWAYS));
  }

  /**
   * Returns a workflow in its current state.
   *
   * @param id its id
   * @param include what the answer contains only on request
   * @return the workflow
   * @throws MillraceException.NotFound if there is no such workflow
   */
  public Workflow workflow(String id, Workflow.Include... include) {
    return get(Target.query(Target.path(WORKFLOWS, id), included(include)), Workflow.class);
  }

  private static Map<String, Object> included(Enum<?>... include) {
    Map<String, Object> parameters = new HashMap<>();
    if (include.length > 0) parameters.put("include", JobFilter.words(include));
    return parameters;
  }

  /**
   * Waits until a workflow has ended in any way; check its state.
   *
   * @param id its id
   * @param timeout the longest time to wait
   * @return the workflow with its result
   * @throws MillraceException.WaitTimeout if it has not ended by then
   * @throws MillraceException.NotFound if there is no such workflow, also 2 s later
   */
  public Workflow waitForWorkflow(String id, Duration timeout) {
    String path = Target.path(WORKFLOWS, id);
    return await("workflow " + id, path, timeout, Workflow.class, WorkflowCalls::hasEnded);
  }

  private static boolean hasEnded(Workflow workflow) {
    return workflow.state() != null && workflow.state().isFinal();
  }

  /**
   * Returns a page of workflows, newest first. Those created within the last second may be missing.
   *
   * @param filter selects the workflows and the page
   * @return the page
   */
  public Page<Workflow> workflows(WorkflowFilter filter) {
    return page("/v1/workflows", filter.named(), Workflow.class);
  }

  /**
   * Returns a page of a workflow's members, by number.
   *
   * @param id the workflow's id
   * @param filter selects the members and the page
   * @return the page
   * @throws MillraceException.NotFound if there is no such workflow
   */
  public Page<Member> workflowMembers(String id, MemberFilter filter) {
    return page(Target.path(WORKFLOWS, id, "/members"), filter.named(), Member.class);
  }

  /**
   * Returns a member of a workflow, with its definition.
   *
   * @param id the workflow's id
   * @param ref the member's ref, or {@code @} and its number
   * @param include what the answer contains only on request
   * @return the member
   * @throws MillraceException.NotFound if there is no such member
   */
  public MemberDetail workflowMember(String id, String ref, Member.Include... include) {
    return workflowMember(id, ref, Duration.ZERO, include);
  }

  /**
   * Returns a member of a workflow, once it has ended or the time is over.
   *
   * @param id the workflow's id
   * @param ref the member's ref, or {@code @} and its number
   * @param wait how long to wait, at most 60 s
   * @param include what the answer contains only on request
   * @return the member
   * @throws MillraceException.NotFound if there is no such member
   */
  public MemberDetail workflowMember(
      String id, String ref, Duration wait, Member.Include... include) {
    Map<String, Object> parameters = included(include);
    if (!wait.isZero()) parameters.put("wait_ms", wait.toMillis());
    Request request = Request.get(Target.query(member(id, ref), parameters));
    return read(transport.call(request, wait.plus(transport.timeout())), MemberDetail.class);
  }

  private static String member(String id, String ref) {
    return Target.path(Target.path(WORKFLOWS, id, "/members/"), ref);
  }

  /**
   * Returns a page of a workflow's graph: up to 10,000 members, by number.
   *
   * @param id the workflow's id
   * @param cursor the {@code nextCursor} of the previous page; null for the first one
   * @return the page
   * @throws MillraceException.NotFound if there is no such workflow
   */
  public Page<GraphLine> workflowGraph(String id, String cursor) {
    Map<String, String> parameters = cursor == null ? Map.of() : Map.of("cursor", cursor);
    return page(Target.path(WORKFLOWS, id, "/graph"), parameters, GraphLine.class);
  }

  /**
   * Returns a workflow's whole graph, by number, fetched page by page as it is used.
   *
   * @param id the workflow's id
   * @return the members; iterating throws what {@link #workflowGraph(String, String)} throws
   */
  public Iterable<GraphLine> workflowGraph(String id) {
    return () -> new Pages<>(null, cursor -> workflowGraph(id, cursor));
  }

  /**
   * Says why a workflow has not ended.
   *
   * @param id its id
   * @return everything that it waits for
   * @throws MillraceException.NotFound if there is no such workflow
   */
  public WorkflowWhy whyWorkflow(String id) {
    return get(Target.path(WORKFLOWS, id, "/why"), WorkflowWhy.class);
  }

  /**
   * Adds members to a workflow that is open, or by one of its active members. A member whose ref is
   * there already is left alone, so a repetition is harmless.
   *
   * @param id the workflow's id
   * @param members at most 10,000 members
   * @return the numbers of members
   * @throws MillraceException.InvalidState if the workflow is closed
   */
  public AddedMembers addMembers(String id, NewMembers members) {
    String key = members.get("idempotency_key");
    boolean isNamed = members.members().stream().allMatch(member -> member.ref() != null);
    if (key == null && !isNamed) key = UUID.randomUUID().toString();
    String body = members.write(codec, Map.of(), members.members());
    return read(send(Target.path(WORKFLOWS, id, "/members"), body, key), AddedMembers.class);
  }

  /**
   * Closes an open workflow: it takes no more members from outside, and ends once its members have.
   *
   * @param id its id
   * @return the workflow
   * @throws MillraceException.NotFound if there is no such workflow
   */
  public Workflow closeWorkflow(String id) {
    return post(Target.path(WORKFLOWS, id, "/close"), null, Workflow.class);
  }

  /**
   * Cancels a workflow: nothing more is released, waiting jobs are cancelled, and handlers of
   * running ones are told.
   *
   * @param id its id
   * @param reason a note for people, at most 1,024 bytes; may be null
   * @return the workflow
   * @throws MillraceException.InvalidState if it has ended
   */
  public Workflow cancelWorkflow(String id, String reason) {
    try {
      return post(Target.path(WORKFLOWS, id, "/cancel"), reasonBody(reason), Workflow.class);
    } catch (MillraceException.InvalidState ended) {
      // An earlier try may have cancelled it, and its answer was lost.
      Workflow workflow = ended.tries > 1 ? workflow(id) : null;
      if (workflow != null && workflow.state() == WorkflowState.CANCELLED) return workflow;
      throw ended;
    }
  }

  /**
   * Runs members of a workflow again. It is not repeated after a lost answer.
   *
   * @param id the workflow's id
   * @param retry which members, and how
   * @return the workflow
   * @throws MillraceException.InvalidState if they can't be retried
   * @throws MillraceException.DuplicateWorkflow if another workflow has its unique key by now
   */
  public Workflow retryWorkflow(String id, WorkflowRetry retry) {
    String target = Target.path(WORKFLOWS, id, "/retry");
    String body = codec.write(retry);
    Request request = new Request("POST", target, body, Map.of(), Replay.IF_NOT_BEGUN);
    return read(transport.call(request), Workflow.class);
  }

  /**
   * Skips a blocked member, and what needs that it succeeds.
   *
   * @param id the workflow's id
   * @param ref the member's ref, or {@code @} and its number
   * @return the workflow
   * @throws MillraceException.InvalidState if the member is not blocked
   */
  public Workflow skipMember(String id, String ref) {
    try {
      return post(member(id, ref) + "/skip", null, Workflow.class);
    } catch (MillraceException.InvalidState other) {
      // An earlier try may have skipped it, and its answer was lost.
      MemberDetail member = other.tries > 1 ? workflowMember(id, ref) : null;
      if (member != null && member.state() == MemberState.SKIPPED) return workflow(id);
      throw other;
    }
  }

  /**
   * Deletes a workflow that has ended, with the jobs of its members.
   *
   * @param id its id
   * @throws MillraceException.NotFound if there is no such workflow
   * @throws MillraceException.InvalidState if it has not ended
   */
  public void deleteWorkflow(String id) {
    remove(Target.path(WORKFLOWS, id));
  }
}
