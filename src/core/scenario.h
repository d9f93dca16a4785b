// For tests: a machine with a terse interface. It journals its decisions, and checks after every
// step that a replay of the journal gives the same state.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/machine.h"

namespace millrace::core {

class Scenario {
 public:
  explicit Scenario(MachineOptions options = {}) : options_(options), machine_(options) {
    record([&](std::vector<Event>& events) { machine_.start_epoch(Epoch{1}, now_, events); });
  }

  // --- Time.
  Time now() const { return now_; }
  void wait_ms(std::int64_t ms) {
    now_ += Duration{ms};
    tick();
  }
  void tick() {
    while (machine_.next_timer() && *machine_.next_timer() <= now_) {
      record([&](std::vector<Event>& events) { machine_.tick(now_, events); });
    }
  }

  // Tokens of a later term start above those of earlier terms.
  void start_epoch(Epoch epoch) {
    record([&](std::vector<Event>& events) { machine_.start_epoch(epoch, now_, events); });
  }

  // --- Jobs. A test names them by a letter or a word, from which the id is derived.
  static JobId id(const std::string& name) {
    JobId id;
    for (std::size_t i = 0; i < name.size() && i < 16; ++i)
      id.bytes[i] = static_cast<std::uint8_t>(name[i]);
    id.bytes[6] = 0x70;
    id.bytes[8] = 0x80;
    names()[id] = name;
    return id;
  }
  static std::string name(const JobId& id) { return names()[id]; }
  static JobSpec spec(const std::string& name, const std::string& queue = "mail",
                      const std::string& type = "send") {
    JobSpec spec;
    spec.id = id(name);
    spec.queue = SharedBytes(queue);
    spec.type = SharedBytes(type);
    spec.payload = SharedBytes("{\"job\":\"" + name + "\"}");
    return spec;
  }

  EnqueueReply enqueue(std::vector<JobSpec> jobs, Atomicity atomicity = Atomicity::kEach) {
    Enqueue command;
    command.jobs = std::move(jobs);
    command.atomicity = atomicity;
    return std::get<EnqueueReply>(decide(std::move(command)));
  }
  EnqueueReply::Item enqueue(const JobSpec& job) {
    return enqueue(std::vector<JobSpec>{job}).items.at(0);
  }
  EnqueueReply::Item enqueue(const std::string& name) { return enqueue(spec(name)); }

  Claim claim_of(std::uint32_t limit, std::vector<std::string> queues = {"mail"},
                 std::vector<std::string> types = {}) const {
    Claim claim;
    for (const auto& queue : queues) claim.queues.emplace_back(queue);
    for (const auto& type : types) claim.types.emplace_back(type);
    claim.limit = limit;
    claim.worker = SharedBytes("worker-1");
    return claim;
  }
  std::vector<Job> claim(const Claim& command) {
    std::vector<Job> jobs;
    auto reply = std::get<ClaimReply>(decide(command));
    for (auto& item : reply.jobs) {
      tokens_[item.job.id] = item.job.token;
      jobs.push_back(std::move(item.job));
    }
    return jobs;
  }
  // The names of the claimed jobs, joined: "a b c".
  std::string claim(std::uint32_t limit = 1, std::vector<std::string> queues = {"mail"},
                    std::vector<std::string> types = {}) {
    std::string names;
    for (const Job& job : claim(claim_of(limit, std::move(queues), std::move(types)))) {
      if (!names.empty()) names += ' ';
      names += name(job.id);
    }
    return names;
  }

  LeaseToken token(const std::string& name) { return tokens_[id(name)]; }
  AckItem ack_of(const std::string& name, AckOutcome outcome) {
    AckItem item;
    item.id = id(name);
    item.token = token(name);
    item.outcome = outcome;
    if (outcome == AckOutcome::kFailed || outcome == AckOutcome::kDead) {
      item.error = std::make_shared<JobError>();
      item.error->type = SharedBytes("Boom");
      item.error->message = SharedBytes("it broke");
    }
    if (outcome == AckOutcome::kSnoozed) item.delay = Duration{1'000};
    return item;
  }
  ItemReply ack(AckItem item) {
    Ack command;
    command.items.push_back(std::move(item));
    return std::get<ItemsReply>(decide(std::move(command))).items.at(0);
  }
  ItemReply ack(const std::string& name, AckOutcome outcome) { return ack(ack_of(name, outcome)); }
  ItemReply heartbeat(const std::string& name, std::optional<Duration> extend = {}) {
    Heartbeat command;
    command.items.push_back({id(name), token(name), extend, nullptr});
    return std::get<ItemsReply>(decide(std::move(command))).items.at(0);
  }
  ItemReply cancel(const std::string& name) {
    return items(Cancel{{id(name)}, SharedBytes("by hand")});
  }
  ItemReply retry(const std::string& name) { return items(Retry{{id(name)}, {}, true}); }
  ItemReply remove(const std::string& name) {
    return items(Delete{{id(name)}, DeleteCause::kOperator});
  }
  ItemReply items(Command command) {
    return std::get<ItemsReply>(decide(std::move(command))).items.at(0);
  }

  void set_queue(const std::string& queue, const QueuePatch& patch) {
    decide(SetQueue{SharedBytes(queue), true, patch, {}});
  }
  Queue queue(const std::string& name = "mail") {
    return std::get<QueueReply>(decide(GetQueues{SharedBytes(name)})).queues.at(0);
  }
  // The job in memory; fails the test if it is not there.
  Job job(const std::string& name) {
    const auto view = machine_.view(id(name));
    EXPECT_NE(view, nullptr) << name << " is not in memory";
    return view == nullptr ? Job{} : view->job;
  }
  std::string state(const std::string& name) {
    const auto view = machine_.view(id(name));
    return view == nullptr ? "gone" : std::string(name_of(view->job.state));
  }

  Reply decide(Command command) {
    tick();
    Reply reply;
    record([&](std::vector<Event>& events) {
      reply = machine_.decide(command, now_, tables_, admission, events);
    });
    return reply;
  }

  // --- Schedules.
  void fire(const Firing& firing) {
    record([&](std::vector<Event>& events) { machine_.fire(firing, now_, admission, events); });
  }

  // The projection, into tables that are a map. It contains jobs that have left memory.
  void project() {
    const auto changes = machine_.take_changes();
    for (const JobId& gone : changes->deleted) tables_.jobs.erase(gone);
    for (const Job& job : changes->jobs) tables_.jobs[job.id] = job;
    machine_.changes_stored();
    machine_.check_invariants();
  }
  const std::map<JobId, Job>& table() const { return tables_.jobs; }

  // Replays the whole journal into a new machine.
  std::unique_ptr<Machine> replayed() const {
    auto machine = std::make_unique<Machine>(options_);
    for (const EventBatch& batch : journal_) {
      for (const Event& event : batch.events) machine->apply(event, batch.at);
      machine->end_step();
    }
    return machine;
  }

  Machine& machine() { return machine_; }
  const std::vector<EventBatch>& journal() const { return journal_; }
  Admission admission = Admission::kOpen;

 private:
  struct Tables final : Prefetched {
    const Job* find(const JobId& id) const override {
      const auto found = jobs.find(id);
      return found == jobs.end() ? nullptr : &found->second;
    }
    std::map<JobId, Job> jobs;
  };

  static std::map<JobId, std::string>& names() {
    static std::map<JobId, std::string> names;
    return names;
  }

  template <typename Step>
  void record(Step step) {
    EventBatch batch;
    batch.at = now_;
    step(batch.events);
    machine_.end_step();
    journal_.push_back(std::move(batch));
    machine_.check_invariants();
    EXPECT_TRUE(replayed()->digest() == machine_.digest())
        << "the fold of the journal differs from the live state";
  }

  Time now_ = time_from_ms(1'700'000'000'000);
  MachineOptions options_;
  Machine machine_;
  Tables tables_;
  std::vector<EventBatch> journal_;
  std::map<JobId, LeaseToken> tokens_;
};

}  // namespace millrace::core
