package dev.millrace.conformance;

import dev.millrace.ClaimedWorkflow;
import dev.millrace.CreatedWorkflow;
import dev.millrace.GraphLine;
import dev.millrace.Job;
import dev.millrace.Jobs;
import dev.millrace.Json;
import dev.millrace.Member;
import dev.millrace.MemberDetail;
import dev.millrace.MemberFilter;
import dev.millrace.MemberState;
import dev.millrace.MillraceClient;
import dev.millrace.Need;
import dev.millrace.NewJob;
import dev.millrace.NewMember;
import dev.millrace.NewMembers;
import dev.millrace.NewWorkflow;
import dev.millrace.OnMemberFailed;
import dev.millrace.Page;
import dev.millrace.Parent;
import dev.millrace.Unique;
import dev.millrace.Workflow;
import dev.millrace.WorkflowFilter;
import dev.millrace.WorkflowRetry;
import dev.millrace.WorkflowState;
import dev.millrace.WorkflowWhy;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiFunction;
import java.util.function.Function;

/** The commands on workflows. */
final class Flows {
  private Flows() {}

  static Object carryOut(Program.Command c, Jobs client) {
    return switch (c.name()) {
      case "create_workflow" -> {
        CreatedWorkflow made = client.createWorkflow(Shapes.read(c.workflow(), Flow.class).flow());
        yield Map.of("workflow", of(made.workflow()), "is_new", made.isNew());
      }
      case "workflow" -> of(client.workflow(id(c), includes(c, Workflow.Include[].class)));
      case "wait_workflow" -> of(client.waitForWorkflow(id(c), c.timeout()));
      case "workflows" -> page(client.workflows(workflows(c)), Flows::of);
      case "all_workflows" -> {
        List<String> ids = new ArrayList<>();
        for (Workflow workflow : client.allWorkflows(workflows(c))) ids.add(workflow.id());
        yield Map.of("ids", ids);
      }
      case "workflow_members" -> page(client.workflowMembers(id(c), members(c)), Flows::of);
      case "all_members" -> {
        List<Long> numbers = new ArrayList<>();
        for (Member member : client.allMembers(id(c), members(c))) numbers.add(member.number());
        yield Map.of("numbers", numbers);
      }
      case "workflow_member" -> {
        Member.Include[] include = includes(c, Member.Include[].class);
        yield of(
            c.wait_() == null
                ? client.workflowMember(id(c), c.ref(), include)
                : real(client).workflowMember(id(c), c.ref(), c.wait_(), include));
      }
      case "workflow_graph" ->
          page(real(client).workflowGraph(id(c), c.cursor()), Function.<GraphLine>identity());
      case "why_workflow" -> of(real(client).whyWorkflow(id(c)));
      case "add_members" -> client.addMembers(id(c), additions(c));
      case "close_workflow" -> of(client.closeWorkflow(id(c)));
      case "cancel_workflow" -> of(client.cancelWorkflow(id(c), c.reason()));
      case "retry_workflow" ->
          of(
              c.request() == null
                  ? client.retryWorkflow(id(c))
                  : client.retryWorkflow(id(c), Shapes.read(c.request(), Retry.class).retry()));
      case "skip_member" -> of(client.skipMember(id(c), c.ref()));
      case "delete_workflow" -> {
        real(client).deleteWorkflow(id(c));
        yield Map.of();
      }
      default -> throw new IllegalArgumentException("no such command: " + c.name());
    };
  }

  private static MillraceClient real(Jobs client) {
    return (MillraceClient) client;
  }

  // Members of commands.

  private static String id(Program.Command c) {
    return c.workflow().as(String.class);
  }

  private static <T> T[] includes(Program.Command c, Class<T[]> type) {
    return Shapes.read(c.include() == null ? Json.of("[]") : c.include(), type);
  }

  record MemberSpec(String ref, List<Json> needs, Boolean needsAny, Shapes.JobSpec job) {
    void addTo(Function<NewJob, NewMember> unnamed, BiFunction<String, NewJob, NewMember> named) {
      NewMember member = ref == null ? unnamed.apply(job.job()) : named.apply(ref, job.job());
      for (Json need : needs == null ? List.<Json>of() : needs) {
        if (need.text().startsWith("{")) {
          member.needs(Shapes.read(need, Need.class));
        } else {
          member.needs(need.as(String.class));
        }
      }
      if (needsAny != null && needsAny) member.needsAny();
    }
  }

  private record Flow(
      String id,
      String name,
      String queue,
      List<String> tags,
      Map<String, String> meta,
      Shapes.JobSpec defaults,
      List<MemberSpec> members,
      Boolean open,
      OnMemberFailed onMemberFailed,
      Shapes.JobSpec onSuccess,
      Shapes.JobSpec onFailure,
      Shapes.JobSpec onEnd,
      Long maxActive,
      Duration timeout,
      String resultFrom,
      Boolean keepMembers,
      Unique unique,
      String idempotencyKey) {

    NewWorkflow flow() {
      NewWorkflow flow = NewWorkflow.create();
      if (id != null) flow.id(id);
      if (name != null) flow.name(name);
      if (queue != null) flow.queue(queue);
      if (tags != null) flow.tags(tags.toArray(String[]::new));
      if (meta != null) flow.meta(meta);
      if (defaults != null) flow.defaults(defaults::over);
      if (open != null && open) flow.open();
      if (onMemberFailed != null) flow.onMemberFailed(onMemberFailed);
      if (onSuccess != null) flow.onSuccess(onSuccess.job());
      if (onFailure != null) flow.onFailure(onFailure.job());
      if (onEnd != null) flow.onEnd(onEnd.job());
      if (maxActive != null) flow.maxActive(maxActive);
      if (timeout != null) flow.timeout(timeout);
      if (resultFrom != null) flow.resultFrom(resultFrom);
      if (keepMembers != null) flow.keepMembers(keepMembers);
      if (unique != null) flow.unique(unique.key(), unique.onConflict());
      if (idempotencyKey != null) flow.idempotencyKey(idempotencyKey);
      if (members != null) members.forEach(member -> member.addTo(flow::add, flow::add));
      return flow;
    }
  }

  private record Additions(List<MemberSpec> members, String by, Boolean close) {}

  private static NewMembers additions(Program.Command c) {
    Additions given = Shapes.read(c.request(), Additions.class);
    NewMembers more = NewMembers.create();
    given.members().forEach(member -> member.addTo(more::add, more::add));
    if (given.by() != null) more.by(given.by());
    if (given.close() != null && given.close()) more.close();
    if (c.idempotencyKey() != null) more.idempotencyKey(c.idempotencyKey());
    return more;
  }

  private record Retry(List<String> refs, Boolean resetAttempts, Boolean dropLimits) {
    WorkflowRetry retry() {
      WorkflowRetry retry = WorkflowRetry.create();
      if (refs != null) retry = retry.refs(refs.toArray(String[]::new));
      if (resetAttempts != null) retry = retry.resetAttempts(resetAttempts);
      return dropLimits == null ? retry : retry.dropLimits(dropLimits);
    }
  }

  private static WorkflowFilter workflows(Program.Command c) {
    WorkflowFilter filter = WorkflowFilter.all().cursor(c.cursor());
    if (c.limit() != null) filter = filter.limit(c.limit());
    Shapes.Filter given = c.filter();
    if (given == null) return filter;
    if (given.state() != null) filter = filter.state(given.states(WorkflowState[].class));
    if (given.queue() != null) filter = filter.queue(given.queue());
    if (given.name() != null) filter = filter.name(given.name());
    if (given.tag() != null) filter = filter.tag(given.tag());
    return given.fresh() != null && given.fresh() ? filter.fresh() : filter;
  }

  private static MemberFilter members(Program.Command c) {
    MemberFilter filter = MemberFilter.all().cursor(c.cursor());
    if (c.limit() != null) filter = filter.limit(c.limit());
    if (c.include() != null) filter = filter.include(includes(c, Member.Include[].class));
    if (c.state() == null) return filter;
    return filter.state(Shapes.read(Json.of("\"" + c.state() + "\""), MemberState.class));
  }

  // The API's shapes: members that the API leaves out are no nulls.

  private static <T> Map<String, Object> page(Page<T> page, Function<T, ?> shape) {
    Map<String, Object> members = new LinkedHashMap<>();
    members.put("items", page.items().stream().map(shape).toList());
    members.put("next_cursor", page.nextCursor());
    return members;
  }

  private static Map<String, Object> of(Workflow workflow) {
    Map<String, Object> members = Shapes.members(workflow);
    Shapes.leaveOut(members, "cancel_reason");
    members.put("callbacks", Shapes.withoutNulls(Shapes.members(workflow.callbacks())));
    return withResult(members, workflow.result());
  }

  private static Map<String, Object> withResult(Map<String, Object> members, Json result) {
    members.remove("result");
    if (result != null) members.put("result", result);
    return members;
  }

  private static Map<String, Object> of(Member member) {
    return withJob(Shapes.members(member), member.job(), member.result());
  }

  private static Map<String, Object> of(MemberDetail member) {
    return withJob(Shapes.members(member), member.job(), member.result());
  }

  private static Map<String, Object> withJob(Map<String, Object> members, Job job, Json result) {
    members.remove("job");
    if (job != null) members.put("job", Shapes.of(job));
    Shapes.leaveOut(members, "queue");
    return withResult(members, result);
  }

  private static Map<String, Object> of(WorkflowWhy why) {
    Map<String, Object> members = Shapes.members(why);
    List<?> parts = why.blocking().stream().map(Shapes::members).map(Shapes::withoutNulls).toList();
    members.put("blocking", parts);
    return members;
  }

  /** The workflow of a claim. */
  static Map<String, Object> of(ClaimedWorkflow workflow) {
    if (workflow == null) return null;
    Map<String, Object> members = Shapes.members(workflow);
    Shapes.leaveOut(members, "counts", "failed");
    return members;
  }

  /** The parents of a claim. */
  static Map<String, Object> of(Map<String, Parent> parents) {
    Map<String, Object> shapes = new LinkedHashMap<>();
    parents.forEach(
        (ref, parent) -> {
          Map<String, Object> members = Shapes.members(parent);
          Shapes.leaveOut(members, "omitted");
          shapes.put(ref, withResult(members, parent.result()));
        });
    return shapes;
  }
}
