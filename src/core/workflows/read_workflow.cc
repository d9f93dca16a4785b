#include "core/workflows/read_workflow.h"

#include <string>

#include "core/bounds.h"
#include "core/schedules/schedule.h"

namespace millrace::core {
namespace {

SharedBytes shown_ref(const WorkflowEntry& entry, MemberNumber member) {
  const SharedBytes& ref = entry.members[to_number(member)].ref;
  return ref.empty() ? SharedBytes("@" + std::to_string(to_number(member))) : ref;
}

MemberView view_of(const WorkflowEntry& entry, MemberNumber member) {
  MemberView view;
  view.number = to_number(member);
  view.spec = entry.spec_of(member);
  view.fate = entry.fate_of(member);
  view.job = entry.job_of(member);
  for (const Need& need : view.spec.needs) view.need_refs.push_back(shown_ref(entry, need.of));
  return view;
}

}  // namespace

WorkflowReply read_workflow(const WorkflowEntry& entry, const GetWorkflow& command) {
  WorkflowReply reply;
  reply.id = command.id;
  reply.workflow = std::make_shared<const Workflow>(entry.record());
  if (command.queues) {
    reply.queues.push_back(entry.workflow.spec.queue);
    for (const std::string_view queue : entry.queues) reply.queues.emplace_back(queue);
    for (const Callback& callback : entry.workflow.spec.callbacks) {
      reply.queues.push_back(callback.queue);
    }
  }
  if (!command.ref.empty()) {
    const auto member = entry.find(command.ref.view());
    if (!member) {
      reply.refusal.why = Rejection::kNotFound;
      return reply;
    }
    MemberView& view = reply.members.emplace_back(view_of(entry, *member));
    for (const Need& need : view.spec.needs) {
      if (view.waits_for.size() == kMaxWaitsTold) break;
      if (terms::has_ended(entry.graph.state(need.of))) continue;
      view.waits_for.push_back(shown_ref(entry, need.of));
    }
    return reply;
  }
  for (std::uint32_t i = command.first; i < entry.members.size(); ++i) {
    if (command.limit == 0) break;
    if (command.state && entry.graph.state(MemberNumber{i}) != *command.state) continue;
    if (reply.members.size() == command.limit) {
      reply.next = i;
      break;
    }
    reply.members.push_back(view_of(entry, MemberNumber{i}));
  }
  return reply;
}

void describe_why(const WorkflowEntry& entry, WorkflowWhy& why) {
  why.open = entry.workflow.open;
  why.active = entry.graph.count(MemberState::kActive);
  for (std::uint32_t i = 0; i < entry.members.size(); ++i) {
    if (why.active_jobs.size() == kMaxWaitsTold) break;
    if (entry.graph.state(MemberNumber{i}) != MemberState::kActive) continue;
    why.active_jobs.push_back(entry.job_of(MemberNumber{i}));
  }
  const std::uint32_t most = entry.workflow.spec.max_active;
  why.at_max_active = most > 0 && why.active >= most;
  why.releasing = entry.graph.undecided();
}

}  // namespace millrace::core
