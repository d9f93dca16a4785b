// The expected answers of commands on schedules.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/bounds.h"
#include "core/same.h"
#include "core/schedules/schedule_fields.h"
#include "sim/model/auditor.h"
#include "sim/model/difference.h"
#include "sim/violation.h"

namespace millrace::sim {

using core::Rejection;

std::set<std::string, std::less<>> Auditor::told_schedules(const Step& step) const {
  std::set<std::string, std::less<>> names;
  for (const Ticket ticket : step.tickets) {
    const auto found = requests_.find(ticket);
    if (found == requests_.end()) continue;
    const auto* const told = std::get_if<engine::TellOfJob>(&found->second);
    if (told != nullptr) names.emplace(told->schedule.view());
  }
  return names;
}

// Near a limit a new schedule may be refused, as the answer or else the batch tells.
bool Auditor::admits_schedule(Ticket ticket, const SharedBytes& name) {
  if (limits_ != Limits::kTight) return true;
  const auto found = answers_.find(ticket);
  const auto* reply = found == answers_.end() ? nullptr : std::get_if<core::Reply>(&found->second);
  const auto* told = reply == nullptr ? nullptr : std::get_if<core::ScheduleReply>(reply);
  return told != nullptr ? told->refusal.why != Rejection::kOverloaded
                         : schedules_.is_made(name.view());
}

// False: not a command on schedules.
bool Auditor::follow_schedule_command(Ticket ticket, const core::Command& command) {
  if (const auto* set = std::get_if<core::SetSchedule>(&command)) {
    const bool admitted = admits_schedule(ticket, set->name);
    expect_schedule(ticket, schedules_.set(*set, admitted), set->name);
  } else if (const auto* pause = std::get_if<core::PauseSchedule>(&command)) {
    expect_schedule(ticket, schedules_.pause(*pause), pause->name);
  } else if (const auto* resume = std::get_if<core::ResumeSchedule>(&command)) {
    expect_schedule(ticket, schedules_.resume(*resume), resume->name);
  } else if (const auto* note = std::get_if<core::NoteScheduleRun>(&command)) {
    expect_schedule(ticket, schedules_.note(*note), note->name);
  } else if (const auto* gone = std::get_if<core::DeleteSchedule>(&command)) {
    // The answer shows the schedule's last state.
    const Rejection why = schedules_.may_delete(*gone);
    expect_schedule(ticket, {why, false, why == Rejection::kNone}, gone->name);
    if (why == Rejection::kNone) schedules_.remove(*gone);
  } else if (const auto* get = std::get_if<core::GetSchedules>(&command)) {
    expect_schedules(ticket, *get);
  } else {
    return false;
  }
  return true;
}

void Auditor::expect_schedule(Ticket ticket, const Schedules::Said& said, const SharedBytes& name) {
  const auto* reply = reply_of<core::ScheduleReply>(ticket, "a schedule's command");
  if (reply == nullptr) return;
  demand(reply->refusal.why == said.why, "R4", "schedule {}: {}, should be {}", name.view(),
         rejection_name(reply->refusal.why), rejection_name(said.why));
  if (said.why != Rejection::kNone) return;
  demand(reply->created == said.created && reply->changed == said.changed, "C4",
         "schedule {}: created {}, changed {}, should be {}, {}", name.view(), reply->created,
         reply->changed, said.created, said.changed);
  const ModelSchedule* const should = schedules_.find(name.view());
  demand(reply->schedules.size() == 1 && schedules_.may_be(*should, reply->schedules.front()), "C4",
         "schedule {} is shown otherwise than it is", name.view());
}

// Checks the runs that the tables lack: they are a contiguous end of the list.
void Auditor::check_runs(const core::ScheduleReply& reply, const ModelSchedule& schedule) const {
  std::uint64_t n = schedule.runs.size() - std::min(reply.runs.size(), schedule.runs.size());
  for (const core::ScheduleRunRow& row : reply.runs) {
    demand(row.schedule == schedule.is.name && row.n == ++n && n <= schedule.runs.size() &&
               core::same(row.run, schedule.runs[n - 1]),
           "C2", "schedule {}: run {} is shown, which did not happen so", schedule.is.name.view(),
           row.n);
  }
}

void Auditor::expect_schedules(Ticket ticket, const core::GetSchedules& command) {
  const auto* reply = reply_of<core::ScheduleReply>(ticket, "a list of schedules");
  if (reply == nullptr) return;
  if (!command.name.empty()) {
    const ModelSchedule* const one = schedules_.find(command.name.view());
    const Rejection why = one == nullptr ? Rejection::kNotFound : Rejection::kNone;
    demand(reply->refusal.why == why, "R4", "schedule {}: {}, should be {}", command.name.view(),
           rejection_name(reply->refusal.why), rejection_name(why));
    if (one == nullptr) return;
    demand(reply->schedules.size() == 1 && schedules_.may_be(*one, reply->schedules.front()), "C4",
           "schedule {} is shown otherwise than it is", command.name.view());
    if (reply->schedules.front() == one->is) check_runs(*reply, *one);
    return;
  }
  std::vector<const ModelSchedule*> listed;
  bool more = false;
  for (const auto& [name, schedule] : schedules_.all()) {
    const core::ScheduleSpec& spec = schedule.is.spec;
    if (name <= command.after.view()) continue;
    if (command.of_owner && spec.managed_by != command.managed_by) continue;
    if (!command.queue.empty() && spec.queue != command.queue) continue;
    more = listed.size() == command.limit;
    if (more) break;
    listed.push_back(&schedule);
  }
  demand(reply->schedules.size() == listed.size(), "C4", "{} schedules are listed, there are {}",
         reply->schedules.size(), listed.size());
  for (std::size_t i = 0; i < listed.size(); ++i) {
    demand(schedules_.may_be(*listed[i], reply->schedules[i]), "C4",
           "schedule {} is listed otherwise than it is", listed[i]->is.name.view());
  }
  demand(reply->next.view() == (more ? listed.back()->is.name.view() : std::string_view()), "C4",
         "the list of schedules goes on after '{}'", reply->next.view());
}

void Auditor::compare_schedules(const core::Machine& machine) const {
  demand(machine.schedules() == schedules_.all().size(), "C4", "there are {} schedules, not {}",
         machine.schedules(), schedules_.all().size());
  for (const auto& [name, should] : schedules_.all()) {
    const core::Schedule* const is = machine.schedule(name);
    demand(is != nullptr && *is == should.is, "C4", "schedule {} is not what its rows say", name);
  }
}

}  // namespace millrace::sim
