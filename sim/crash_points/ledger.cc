#include "sim/crash_points/ledger.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

namespace millrace::crash_points {
namespace {

using engine::Ticket;

// Jobs of this queue are deleted as soon as they have ended.
constexpr std::string_view kForgetfulQueue = "brief";

std::pair<std::string, std::string> unique_name(const core::JobSpec& spec) {
  if (spec.extras == nullptr || !spec.extras->unique) return {};
  return {std::string(spec.queue.view()), std::string(spec.extras->unique->key.view())};
}

template <typename Command>
const std::vector<JobId>* ids_of(const Command& command) {
  if constexpr (requires { command.ids; }) return &command.ids;
  return nullptr;
}

}  // namespace

Ticket Ledger::asked(const engine::Request& request) {
  const Ticket ticket{++last_ticket_};
  ++requests;
  const auto& command = std::get<core::Command>(request);
  note_asked(ticket, command);
  waiting_.emplace(ticket, command);
  return ticket;
}

void Ledger::note_asked(Ticket ticket, const core::Command& command) {
  const auto each = [&](const std::vector<JobId>& ids, auto change) {
    for (const JobId& id : ids) {
      if (const auto found = jobs.find(id); found != jobs.end()) change(found->second);
    }
  };
  if (const auto* enqueue = std::get_if<core::Enqueue>(&command)) {
    for (const core::JobSpec& spec : enqueue->jobs) {
      const auto name = unique_name(spec);
      if (name.second.empty()) continue;
      if (spec.extras->unique->on_conflict != core::OnConflict::kReplace) continue;
      replaced_[name] = ticket;
      for (auto& [id, job] : jobs) {
        if (job.unique.first.view() == name.first && job.unique.second.view() == name.second) {
          job.may_be_gone = true;
        }
      }
    }
  } else if (const auto* remove = std::get_if<core::Delete>(&command)) {
    each(remove->ids, [](Promise& job) { job.may_be_gone = true; });
  } else if (const auto* retry = std::get_if<core::Retry>(&command)) {
    each(retry->ids, [&](Promise& job) {
      job.ended.reset();
      job.disturbed = ticket;
    });
  } else if (const auto* edit = std::get_if<core::Edit>(&command)) {
    if (edit->payload.empty()) return;
    each(edit->ids, [&](Promise& job) { job.payloads.emplace_back(ticket, edit->payload); });
  } else if (const auto* ack = std::get_if<core::Ack>(&command)) {
    for (const core::AckItem& item : ack->items) {
      std::erase_if(leases, [&](const Lease& lease) { return lease.id == item.id; });
    }
  } else if (const auto* pause = std::get_if<core::PauseQueue>(&command)) {
    paused.erase(std::string(pause->queue.view()));
    there.erase(std::string(pause->queue.view()));
  } else if (const auto* resume = std::get_if<core::ResumeQueue>(&command)) {
    paused.erase(std::string(resume->queue.view()));
  } else if (const auto* gone = std::get_if<core::DeleteQueue>(&command)) {
    paused.erase(std::string(gone->queue.view()));
    there.erase(std::string(gone->queue.view()));
  }
}

void Ledger::answered(Ticket ticket, const engine::Answer& answer) {
  const auto found = waiting_.find(ticket);
  if (found == waiting_.end()) {
    problems.push_back("an answer that nobody waits for");
    return;
  }
  const core::Command command = std::move(found->second);
  waiting_.erase(found);
  const auto* reply = std::get_if<core::Reply>(&answer);
  if (reply == nullptr) return note_unknown(command);  // refused for now
  ++answers;
  if (const auto* enqueued = std::get_if<core::EnqueueReply>(reply)) {
    note(ticket, std::get<core::Enqueue>(command), *enqueued);
  } else if (const auto* claimed = std::get_if<core::ClaimReply>(reply)) {
    note(*claimed);
  } else if (const auto* items = std::get_if<core::ItemsReply>(reply)) {
    note(ticket, command, *items);
  } else if (const auto* queue = std::get_if<core::QueueReply>(reply); queue && !queue->refusal) {
    if (const auto* pause = std::get_if<core::PauseQueue>(&command)) {
      paused[std::string(pause->queue.view())] = true;
      there[std::string(pause->queue.view())] = true;
    } else if (const auto* resume = std::get_if<core::ResumeQueue>(&command)) {
      paused[std::string(resume->queue.view())] = false;
    } else if (const auto* gone = std::get_if<core::DeleteQueue>(&command)) {
      paused.erase(std::string(gone->queue.view()));
      there[std::string(gone->queue.view())] = false;
    }
  }
}

void Ledger::forget_waiting() {
  for (const auto& [ticket, command] : waiting_) note_unknown(command);
  waiting_.clear();
}

void Ledger::note_unknown(const core::Command& command) {
  const auto maybe_again = [&](const std::vector<core::JobSpec>& specs) {
    for (const core::JobSpec& spec : specs) {
      if (const auto job = jobs.find(spec.id); job != jobs.end()) job->second.again.push_back(spec);
    }
  };
  if (const auto* enqueue = std::get_if<core::Enqueue>(&command)) {
    maybe_again(enqueue->jobs);
  } else if (const auto* ack = std::get_if<core::Ack>(&command)) {
    for (const core::AckItem& item : ack->items) maybe_again(item.enqueue);
  }
}

void Ledger::note(Ticket ticket, const core::Enqueue& asked, const core::EnqueueReply& reply) {
  if (reply.refused_as_one) return;
  for (std::size_t i = 0; i < reply.items.size(); ++i) {
    const core::EnqueueReply::Item& item = reply.items[i];
    if (item.fate == core::Fate::kCreated) note_created(ticket, asked.jobs[i]);
    if (!asked.key || item.fate == core::Fate::kRefused) continue;
    const auto [known, first] = keys.emplace(asked.key->key, item.id);
    if (known->second != item.id) problems.push_back("an idempotency key gave a second job");
    if (first) last_key = {asked.key->key, item.id};
  }
}

void Ledger::note_created(Ticket ticket, const core::JobSpec& spec) {
  promise(ticket, spec);
  // Requests about the job that were sent before its own answer came.
  for (const auto& [later, command] : waiting_) {
    if (later > ticket) note_asked(later, command);
  }
}

void Ledger::promise(Ticket ticket, const core::JobSpec& spec) {
  Promise job;
  job.queue = spec.queue;
  job.payloads.emplace_back(ticket, spec.payload);
  const auto name = unique_name(spec);
  if (!name.second.empty()) {
    job.unique = {spec.queue, spec.extras->unique->key};
    const auto replaced = replaced_.find(name);
    job.may_be_gone = replaced != replaced_.end() && replaced->second > ticket;
  }
  if (spec.queue.view() == kForgetfulQueue) job.may_be_gone = true;
  const auto known = jobs.find(spec.id);
  if (known == jobs.end()) {
    jobs.emplace(spec.id, std::move(job));
    return;
  }
  // The job was made again under the id of a deleted one.
  if (!known->second.may_be_gone) problems.push_back("a job was made twice");
  job.may_be_gone = true;
  job.disturbed = ticket;
  known->second = std::move(job);
}

void Ledger::note(const core::ClaimReply& reply) {
  for (const core::ClaimReply::Item& item : reply.jobs) {
    const core::Job& job = item.job;
    if (job.token <= newest_token) {
      problems.push_back(fmt::format("token {} was given after {}", to_number(job.token),
                                     to_number(newest_token)));
    }
    newest_token = std::max(newest_token, job.token);
    std::erase_if(leases, [&](const Lease& lease) { return lease.id == job.id; });
    leases.push_back({job.id, job.token, job.lease_expires_at.value_or(now)});
    const auto known = jobs.find(job.id);
    if (known == jobs.end()) continue;
    const bool fits = std::ranges::any_of(
        known->second.payloads, [&](const auto& payload) { return payload.second == job.payload; });
    if (!fits)
      problems.push_back(fmt::format("{} was claimed with other bytes", to_string(job.id)));
  }
}

void Ledger::note(Ticket ticket, const core::Command& asked, const core::ItemsReply& reply) {
  for (std::size_t i = 0; i < reply.items.size(); ++i) note_item(ticket, asked, i, reply.items[i]);
}

void Ledger::note_item(Ticket ticket, const core::Command& asked, std::size_t index,
                       const core::ItemReply& item) {
  if (const auto* ack = std::get_if<core::Ack>(&asked); ack && !item.refusal) {
    for (const core::JobSpec& spec : ack->items[index].enqueue) note_created(ticket, spec);
  }
  const auto found = jobs.find(item.id);
  if (found == jobs.end()) return;
  Promise& job = found->second;
  if (const auto* edit = std::get_if<core::Edit>(&asked); edit && !edit->payload.empty()) {
    if (!item.refusal) job.payloads.emplace_back(ticket, edit->payload);
    std::erase_if(job.payloads, [&](const auto& payload) {
      return item.refusal ? payload.first == ticket : payload.first < ticket;
    });
  }
  if (item.refusal) return;
  if (std::holds_alternative<core::Delete>(asked)) job.gone = true;
  if (!item.state || !core::is_terminal(*item.state) || ticket < job.disturbed) return;
  job.ended = item.state;
  job.result = {};
  if (const auto* ack = std::get_if<core::Ack>(&asked)) {
    if (*item.state == core::State::kSucceeded) job.result = ack->items[index].result;
  }
}

}  // namespace millrace::crash_points
