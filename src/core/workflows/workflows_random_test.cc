// Random workflows with random ends, calls, restarts and a relay that is late, repeats and
// reorders, on one shard and on two. After each step every fate is as the model computes it from
// lists; in the end all workflows have ended.
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "core/workflows/workflow_model_testing.h"
#include "core/workflows/workflows_testing.h"

namespace millrace::core {
namespace {

struct Setting {
  std::uint64_t seed = 0;
  std::uint32_t shards = 1;
  friend void PrintTo(const Setting& setting, std::ostream* out) {
    *out << "seed " << setting.seed << " on " << setting.shards << " shards";
  }
};

class WorkflowsRandom : public ::testing::TestWithParam<Setting> {
 protected:
  struct Lease {
    std::uint32_t shard = 0;
    JobId id;
    LeaseToken token{};
  };
  struct Box {
    std::uint32_t shard = 0;
    Job job;
  };

  void SetUp() override {
    shards_.watch = [this](std::uint32_t shard, const EventBatch& batch) {
      model_.apply(shard, batch);
      model_.compare(shard, shards_.machine(shard));
    };
  }
  std::uint64_t below(std::uint64_t bound) { return random_.next() % bound; }
  bool one_in(std::uint64_t n) { return below(n) == 0; }
  std::uint32_t any_shard() { return static_cast<std::uint32_t>(below(shards_.size())); }
  template <typename T>
  T take_any(std::vector<T>& from) {
    std::swap(from[below(from.size())], from.back());
    T taken = std::move(from.back());
    from.pop_back();
    return taken;
  }
  std::uint32_t home_of(const JobId& id) const { return shards_.shard_of(queue_bits(id)); }

  // --- Clients.
  JobSpec job(const std::string& queue) {
    JobSpec spec;
    spec.queue = SharedBytes(queue);
    spec.type = SharedBytes("work");
    spec.payload = SharedBytes("1");
    if (one_in(6)) spec.expires_in = Duration{static_cast<std::int64_t>(below(3'000))};
    if (one_in(6)) spec.delay = Duration{static_cast<std::int64_t>(below(1'000))};
    spec.max_attempts = 1 + static_cast<std::uint32_t>(below(2));
    return spec;
  }
  std::vector<MemberDraft> drafts(std::size_t there) {
    std::vector<MemberDraft> drafts(below(7));
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      MemberDraft& draft = drafts[i];
      draft.ref = SharedBytes("m" + std::to_string(there + i));
      const std::string queue = shards_.queue_of(any_shard());
      draft.queue = SharedBytes(queue);
      draft.job = one_in(20) ? SharedBytes("unreadable") : shards_.submissions.keep(job(queue));
      draft.any = one_in(4);
      for (std::size_t of = 0; of < there + i; ++of) {
        if (!one_in(4)) continue;
        const auto on = one_in(2) ? NeedOn::kSucceeded : static_cast<NeedOn>(below(3));
        draft.needs.push_back({SharedBytes("m" + std::to_string(of)), on});
      }
    }
    return drafts;
  }
  void create() {
    const std::string queue = shards_.queue_of(any_shard());
    CreateWorkflow create;
    create.id = make_job_id(shards_.now, queue_bits(queue), random_.next());
    create.spec.queue = SharedBytes(queue);
    create.spec.on_member_failed = static_cast<OnMemberFailed>(below(3));
    if (one_in(3)) create.spec.max_active = 1 + static_cast<std::uint32_t>(below(3));
    if (one_in(5)) create.spec.timeout = Duration{static_cast<std::int64_t>(below(8'000))};
    if (one_in(4)) create.spec.unique_key = SharedBytes("key");
    create.spec.keep_members = !one_in(3);
    create.open = one_in(3);
    for (const auto role : {MemberRole::kOnSuccess, MemberRole::kOnFailure, MemberRole::kOnEnd}) {
      if (!one_in(3)) continue;
      const std::string to = shards_.queue_of(any_shard());
      create.spec.callbacks.push_back({role, SharedBytes(to), shards_.submissions.keep(job(to))});
    }
    create.members = drafts(0);
    shards_.decide(home_of(create.id), create);
  }
  // Any that exists.
  const WorkflowModel::Flow* any_flow() {
    if (model_.flows().empty()) return nullptr;
    const auto skipped = static_cast<std::ptrdiff_t>(below(model_.flows().size()));
    return &std::next(model_.flows().begin(), skipped)->second;
  }
  SharedBytes any_ref(const WorkflowModel::Flow& flow) {
    return SharedBytes("@" + std::to_string(below(flow.members.size() + 1)));
  }
  void call() {
    const WorkflowModel::Flow* const flow = any_flow();
    if (flow == nullptr) return;
    const JobId id = flow->record.id;
    const std::uint32_t home = home_of(id);
    switch (below(12)) {
      case 0:
        shards_.decide(home, CloseWorkflow{id, {}});
        break;
      case 1:
        if (one_in(3)) shards_.decide(home, CancelWorkflow{id, SharedBytes("why"), {}});
        break;
      case 2:
        if (one_in(2)) shards_.decide(home, SkipMember{id, any_ref(*flow), {}});
        break;
      case 3:
        if (one_in(4)) shards_.decide(home, DeleteWorkflow{id, false, {}});
        break;
      case 4:
      case 5: {
        AddMembers add;
        add.id = id;
        add.members = drafts(flow->members.size());
        if (one_in(2)) add.while_active = any_ref(*flow);
        add.close = one_in(4);
        shards_.decide(home, add);
        break;
      }
      default: {
        RetryWorkflow retry;
        retry.id = id;
        if (one_in(2)) retry.refs = {any_ref(*flow)};
        retry.reset_attempts = one_in(2);
        shards_.decide(home, retry);
      }
    }
  }
  // By hand, of a job that some worker has had.
  void operate() {
    if (late_.empty()) return;
    const Lease lease = late_[below(late_.size())];
    switch (below(3)) {
      case 0:
        shards_.decide(lease.shard, Cancel{{lease.id}, SharedBytes(kByHand)});
        break;
      case 1:
        shards_.decide(lease.shard, Delete{{lease.id}, DeleteCause::kOperator});
        break;
      default:
        ack(lease, AckOutcome::kSucceeded, AckRight::kFence);
    }
  }

  // --- The worker.
  void claim(std::uint32_t shard, std::uint32_t limit) {
    Claim claim;
    for (std::uint32_t on = 0; on < shards_.size(); ++on) {
      claim.queues.emplace_back(shards_.queue_of(on));
    }
    claim.limit = limit;
    claim.lease = Duration{one_in(4) ? 1'000 : 60'000};
    claim.worker = SharedBytes("worker");
    const auto reply = std::get<ClaimReply>(shards_.decide(shard, claim));
    for (const auto& item : reply.jobs) {
      leases_.push_back({shard, item.job.id, item.job.token});
      late_.push_back(leases_.back());
    }
  }
  void ack(const Lease& lease, AckOutcome outcome, AckRight right = AckRight::kLease) {
    Ack ack;
    ack.right = right;
    ack.items.resize(1);
    ack.items[0].id = lease.id;
    ack.items[0].token = lease.token;
    ack.items[0].outcome = outcome;
    if (outcome == AckOutcome::kDead || outcome == AckOutcome::kFailed) {
      ack.items[0].error = std::make_shared<JobError>();
    }
    if (outcome == AckOutcome::kSnoozed) ack.items[0].delay = Duration{50};
    shards_.decide(lease.shard, ack);
  }
  void end_one() {
    static constexpr AckOutcome kOutcomes[] = {AckOutcome::kSucceeded, AckOutcome::kSucceeded,
                                               AckOutcome::kSucceeded, AckOutcome::kDead,
                                               AckOutcome::kDead,      AckOutcome::kFailed,
                                               AckOutcome::kSnoozed,   AckOutcome::kCancelled};
    if (!leases_.empty()) ack(take_any(leases_), kOutcomes[below(std::size(kOutcomes))]);
  }

  // --- The relay, and the network of the stops.
  void relay() {
    if (boxes_.empty() || one_in(3)) {
      const std::uint32_t shard = any_shard();
      for (Job& box : shards_.boxes(shard)) boxes_.push_back({shard, std::move(box)});
    }
    if (boxes_.empty()) return;
    const Box box = take_any(boxes_);
    shards_.pass_on(box.shard, box.job, one_in(6));
  }
  void tell_stops() {
    const std::uint32_t shard = any_shard();
    for (ShareMessage& message : shards_.machine(shard).take_share_messages(shards_.now)) {
      if (!one_in(4)) letters_.push_back(std::move(message));
    }
    while (!letters_.empty() && !one_in(3)) {
      const ShareMessage letter = one_in(5) ? letters_[below(letters_.size())] : take_any(letters_);
      shards_.decide(letter.shard, letter.command);
    }
  }

  void step() {
    shards_.advances = one_in(2) ? kMaxAdvancedPerStep : below(4);
    shards_.at_once = one_in(2) ? 1 : 100;
    shards_.admission = one_in(10) ? Admission::kMemoryFull : Admission::kOpen;
    switch (below(20)) {
      case 0:
        if (model_.flows().size() < 5) create();
        break;
      case 1:
      case 2:
      case 3:
        call();
        break;
      case 4:
        if (one_in(3)) operate();
        break;
      case 5:
      case 6:
      case 7:
        claim(any_shard(), 1 + static_cast<std::uint32_t>(below(3)));
        break;
      case 8:
      case 9:
      case 10:
      case 11:
        end_one();
        break;
      case 12:
      case 13:
      case 14:
      case 15:
        relay();
        break;
      case 16:
        tell_stops();
        break;
      case 17:
        if (one_in(3)) shards_.flush(any_shard());
        break;
      case 18:
        if (one_in(3)) shards_.loaded(any_shard());
        if (one_in(6)) shards_.restart(any_shard());
        break;
      default:
        shards_.wait(Duration{static_cast<std::int64_t>(one_in(10) ? below(5'000) : below(200))});
    }
  }

  // The faults are over: all workflows end, with their callbacks.
  void heal() {
    shards_.advances = kMaxAdvancedPerStep;
    shards_.admission = Admission::kOpen;
    std::vector<JobId> open;
    for (const auto& [id, flow] : model_.flows()) {
      if (flow.record.open) open.push_back(id);
    }
    for (const JobId& id : open) shards_.decide(home_of(id), CloseWorkflow{id, {}});
    for (int round = 0; round < 300 && !has_ended() && !HasFatalFailure(); ++round) {
      for (const Box& box : std::exchange(boxes_, {})) shards_.pass_on(box.shard, box.job);
      shards_.pass_all();
      shards_.tell_stops();
      for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) claim(shard, 1'000);
      for (const Lease& lease : std::exchange(leases_, {})) ack(lease, AckOutcome::kSucceeded);
      shards_.pass_all();
      shards_.wait(Duration{1'000});
    }
    EXPECT_TRUE(has_ended()) << "some workflows never end";
    model_.check_callbacks();
  }
  bool has_ended() {
    for (const auto& [id, flow] : model_.flows()) {
      const WorkflowEntry* const entry = shards_.machine(home_of(id)).workflows().find(id);
      if (!terms::has_ended(flow.record.state)) return false;
      if (entry != nullptr && calls_back(entry->record())) return false;
    }
    return true;
  }

  Random random_{GetParam().seed};
  WorkflowShards shards_{GetParam().shards};
  WorkflowModel model_{GetParam().shards};
  std::vector<Lease> leases_;
  std::vector<Lease> late_;  // all that ever were
  std::vector<Box> boxes_;   // claimed by the relay
  std::vector<ShareMessage> letters_;
};

TEST_P(WorkflowsRandom, FatesAreAsTheListsSay) {
  for (int i = 0; i < 250 && !HasFailure(); ++i) {
    SCOPED_TRACE("step " + std::to_string(i));
    step();
  }
  if (!HasFailure()) heal();
}

std::vector<Setting> settings() {
  std::vector<Setting> settings;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    settings.push_back({seed, 1});
    settings.push_back({seed, 2});
  }
  return settings;
}

INSTANTIATE_TEST_SUITE_P(Seeds, WorkflowsRandom, ::testing::ValuesIn(settings()),
                         [](const auto& info) {
                           return std::to_string(info.param.shards) + "Shards" +
                                  std::to_string(info.param.seed);
                         });

}  // namespace
}  // namespace millrace::core
