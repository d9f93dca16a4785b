// The members of the engine's own requests and answers, as nodes send them to each other: see
// core/describe.h.
#pragma once

#include <tuple>

#include "core/command_fields.h"
#include "core/describe.h"
#include "core/reply_fields.h"
#include "core/schedules/schedule_fields.h"
#include "engine/request.h"

namespace millrace::engine {

using core::Field;
using core::Of;

constexpr auto last_of(Of<Unavailable>) { return Unavailable::kUpgrading; }
constexpr auto last_of(Of<Denied>) { return Denied::kQueue; }

constexpr auto describe(Of<WorkerInfo>) {
  return std::tuple(Field(1, &WorkerInfo::id), Field(2, &WorkerInfo::host),
                    Field(3, &WorkerInfo::pid), Field(4, &WorkerInfo::sdk),
                    Field(5, &WorkerInfo::version), Field(6, &WorkerInfo::labels));
}

constexpr auto describe(Of<WaitingClaim>) {
  return std::tuple(Field(1, &WaitingClaim::claim), Field(2, &WaitingClaim::wait),
                    Field(3, &WaitingClaim::worker));
}

constexpr auto describe(Of<Poll>) {
  return std::tuple(Field(1, &Poll::worker), Field(2, &Poll::acks), Field(3, &Poll::heartbeats),
                    Field(4, &Poll::logs), Field(5, &Poll::claim), Field(6, &Poll::wait),
                    Field(7, &Poll::goodbye));
}

constexpr auto describe(Of<WatchJob>) {
  return std::tuple(Field(1, &WatchJob::id), Field(2, &WatchJob::wait), Field(3, &WatchJob::queue),
                    Field(4, &WatchJob::lease));
}

constexpr auto describe(Of<FindJob>) { return std::tuple(Field(1, &FindJob::id)); }

constexpr auto describe(Of<AwaitProjection>) { return std::tuple(); }

constexpr auto describe(Of<AwaitEvents>) {
  return std::tuple(Field(1, &AwaitEvents::after), Field(2, &AwaitEvents::wait));
}

constexpr auto describe(Of<AwaitWork>) {
  return std::tuple(Field(1, &AwaitWork::queues), Field(2, &AwaitWork::types),
                    Field(3, &AwaitWork::worker), Field(4, &AwaitWork::wait),
                    Field(5, &AwaitWork::no_commands));
}

constexpr auto describe(Of<AwaitJobQuestions>) {
  return std::tuple(Field(1, &AwaitJobQuestions::wait));
}

constexpr auto describe(Of<JobQuestion>) {
  return std::tuple(Field(1, &JobQuestion::schedule), Field(2, &JobQuestion::job),
                    Field(3, &JobQuestion::wait), Field(4, &JobQuestion::cancel),
                    Field(5, &JobQuestion::workflow));
}

constexpr auto describe(Of<JobQuestions>) {
  return std::tuple(Field(1, &JobQuestions::items),
                    Field(0, &JobQuestions::shares, core::Form::kUnsent));
}

constexpr auto describe(Of<TellOfJob>) {
  return std::tuple(Field(1, &TellOfJob::schedule), Field(2, &TellOfJob::job),
                    Field(3, &TellOfJob::ended));
}

constexpr auto describe(Of<OperationSharers>) {
  return std::tuple(Field(1, &OperationSharers::id), Field(2, &OperationSharers::sharers));
}

constexpr auto describe(Of<AwaitOperationWork>) {
  return std::tuple(Field(1, &AwaitOperationWork::wait), Field(2, &AwaitOperationWork::sharers));
}

constexpr auto describe(Of<OperationWork>) {
  return std::tuple(Field(1, &OperationWork::part), Field(2, &OperationWork::limit));
}

constexpr auto describe(Of<ListWorkers>) { return std::tuple(); }

constexpr auto describe(Of<SetWorkerState>) {
  return std::tuple(Field(1, &SetWorkerState::worker), Field(2, &SetWorkerState::state));
}

constexpr auto describe(Of<WorkerCommand>) {
  return std::tuple(Field(1, &WorkerCommand::kind), Field(2, &WorkerCommand::job),
                    Field(3, &WorkerCommand::token));
}

constexpr auto describe(Of<PollReply>) {
  return std::tuple(Field(1, &PollReply::acks), Field(2, &PollReply::heartbeats),
                    Field(3, &PollReply::logs), Field(4, &PollReply::claim),
                    Field(5, &PollReply::commands), Field(6, &PollReply::news));
}

constexpr auto describe(Of<WorkerView>) {
  return std::tuple(Field(1, &WorkerView::info), Field(2, &WorkerView::state),
                    Field(3, &WorkerView::queues), Field(4, &WorkerView::types),
                    Field(5, &WorkerView::first_seen_at), Field(6, &WorkerView::last_seen_at),
                    Field(7, &WorkerView::running));
}

constexpr auto describe(Of<WorkersReply>) {
  return std::tuple(Field(1, &WorkersReply::found), Field(2, &WorkersReply::workers));
}

}  // namespace millrace::engine
