#include "sim/crash_points/checker.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "store/sqlite/maintenance.h"

namespace millrace::crash_points {
namespace {

using Problems = std::vector<std::string>;

void examine_prefix(const engine::Recovered& recovered, const Ledger& ledger, Problems& problems) {
  const Seq head = recovered.head;
  if (head < ledger.durable) {
    problems.push_back(fmt::format("the journal ends at row {}, but row {} was answered for",
                                   to_number(head), to_number(ledger.durable)));
  }
  if (recovered.projected.seq < ledger.synced) {
    problems.push_back(fmt::format("the tables are at row {}, but were synced at row {}",
                                   to_number(recovered.projected.seq), to_number(ledger.synced)));
  }
  if (head == Seq{}) return;
  const auto expected = ledger.digests.find(head);
  if (expected == ledger.digests.end()) {
    problems.push_back(fmt::format("row {} was never decided", to_number(head)));
  } else if (recovered.machine->digest() != expected->second) {
    problems.push_back(fmt::format("the state is not the one after row {}", to_number(head)));
  }
}

class Jobs {
 public:
  // Jobs in memory take precedence over the tables, which may still hold deleted ones.
  Jobs(const core::Machine& machine, store::Tables& tables, const Ledger& ledger,
       Problems& problems) {
    std::vector<JobId> wanted;
    for (const auto& [id, promise] : ledger.jobs) {
      const auto view = machine.view(id);
      if (view != nullptr) found_[id] = view->job;
      const bool whole = view != nullptr && !view->job.payload.empty();
      if (!whole && !machine.is_tombstone(id)) wanted.push_back(id);
    }
    if (const auto rows = tables.fetch(wanted)) {
      add(*rows);
      return;
    }
    // Reports the jobs that can't be read, and continues with the others.
    for (const JobId& id : wanted) {
      if (const auto rows = tables.fetch({id})) {
        add(*rows);
      } else {
        unreadable_.insert(id);
        problems.push_back(rows.error().message);
      }
    }
  }
  bool is_unreadable(const JobId& id) const { return unreadable_.contains(id); }
  const core::Job* find(const JobId& id) const {
    const auto found = found_.find(id);
    return found == found_.end() ? nullptr : &found->second;
  }

 private:
  void add(const std::vector<core::Job>& rows) {
    for (const core::Job& row : rows) {
      const auto known = found_.find(row.id);
      if (known == found_.end()) {
        found_[row.id] = row;
      } else {
        known->second.payload = row.payload;
      }
    }
  }

  std::map<JobId, core::Job> found_;
  std::set<JobId> unreadable_;
};

void examine_job(const JobId& id, const Ledger::Promise& promise, const core::Job* job,
                 Problems& problems) {
  const auto problem = [&](std::string_view what) {
    problems.push_back(
        fmt::format("job {} of queue {} {}", to_string(id), promise.queue.view(), what));
  };
  if (job == nullptr) {
    if (!promise.may_be_gone && !promise.gone) problem("was answered for and is not there");
    return;
  }
  const auto is_it = [&](const core::JobSpec& again) {
    return again.queue == job->queue && again.payload == job->payload;
  };
  if ((promise.gone || promise.may_be_gone) && std::ranges::any_of(promise.again, is_it)) return;
  if (promise.gone) return problem("was deleted and is there again");
  if (job->queue != promise.queue) problem("is in another queue");
  const bool payload_fits = std::ranges::any_of(
      promise.payloads, [&](const auto& each) { return each.second == job->payload; });
  if (!payload_fits) problem("has other bytes than were sent");
  if (!promise.ended) return;
  if (job->state != *promise.ended) {
    problem(fmt::format("is {}, but was answered to be {}", name_of(job->state),
                        name_of(*promise.ended)));
  } else if (!promise.result.empty() && job->result != promise.result) {
    problem("has another result than was sent");
  }
}

void examine_queues(core::Machine& machine, const Ledger& ledger, Problems& problems) {
  struct Nothing final : core::Prefetched {
    const core::Job* find(const JobId&) const override { return nullptr; }
  };
  std::vector<core::Event> none;
  const core::Reply reply =
      machine.decide(core::GetQueues{}, std::max(ledger.now, machine.facts().at), Nothing{},
                     core::Admission::kOpen, none);
  std::set<std::string_view> there;
  for (const core::Queue& queue : std::get<core::QueueReply>(reply).queues) {
    there.insert(queue.name.view());
    const auto told = ledger.paused.find(std::string(queue.name.view()));
    if (told != ledger.paused.end() && told->second != queue.paused) {
      problems.push_back(fmt::format("queue {} forgot that it was {}", queue.name.view(),
                                     told->second ? "paused" : "resumed"));
    }
  }
  for (const auto& [name, told] : ledger.there) {
    if (there.contains(name) == told) continue;
    problems.push_back(fmt::format("queue {} is {}, as if it had not been {}", name,
                                   told ? "gone" : "there", told ? "made" : "deleted"));
  }
}

}  // namespace

Problems examine_state(const engine::Recovered& recovered, store::Store& store,
                       const Ledger& ledger) {
  Problems problems;
  examine_prefix(recovered, ledger, problems);
  recovered.machine->check_invariants();  // aborts the process if an invariant is broken
  const Jobs jobs(*recovered.machine, *store.tables, ledger, problems);
  for (const auto& [id, promise] : ledger.jobs) {
    if (!jobs.is_unreadable(id)) examine_job(id, promise, jobs.find(id), problems);
  }
  examine_queues(*recovered.machine, ledger, problems);
  return problems;
}

Problems examine_files(const std::string& directory, Seq at_least) {
  const auto report = store::verify_store(directory);
  if (!report) return {"can't be verified: " + report.error().message};
  Problems problems;
  for (const std::string& problem : report->problems) problems.push_back("verify: " + problem);
  if (report->newest < at_least) {
    problems.push_back(fmt::format("{} ends at row {}, not at {}", directory,
                                   to_number(report->newest), to_number(at_least)));
  }
  return problems;
}

}  // namespace millrace::crash_points
