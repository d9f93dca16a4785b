#include "sim/crash_points/workload.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "digest/fingerprint.h"

namespace millrace::crash_points {
namespace {

constexpr int kMoments = 600;
// Keeps the write-ahead logs short, since every recovery reads them.
constexpr int kRestartEvery = 100;
constexpr int kBackupAt = 240;
constexpr int kFlushEvery = 12;
constexpr int kSyncEvery = 60;

constexpr std::array<std::string_view, 4> kQueues = {"mail", "calls", "reports", "brief"};
constexpr std::array<std::string_view, 3> kTypes = {"send", "render", "sweep"};
constexpr std::array<std::string_view, 2> kWorkers = {"anna", "bruno"};

SharedBytes text(std::string_view content) { return SharedBytes(content); }

}  // namespace

Workload::Workload(Places places, Disk& disk, Ledger& ledger, Logger log)
    : places_(std::move(places)), disk_(disk), ledger_(ledger), log_(std::move(log)) {}

bool Workload::start() {
  doing_ = "starting";
  life_.reset();
  auto life = Life::start(places_.directory, disk_, ledger_, log_);
  if (!life) {
    log_.warn("the store was refused", {{"why", life.error().message}});
    return false;
  }
  life_ = std::move(*life);
  return true;
}

void Workload::run(const Over& over) {
  bool alive = start();
  if (alive) {
    life_->settle();
    prepare_queues();
  }
  for (int number = 0; number < kMoments && alive; ++number) {
    alive = moment(number);
    if (over(life_.get())) return;
  }
  if (alive) {
    // Leaves rows that the tables lack to the next start.
    doing_ = "stopping";
    while (life_->append()) life_->step();
    life_.reset();
  } else {
    over(life_.get());
  }
}

bool Workload::moment(int number) {
  if (number > 0 && number % kRestartEvery == 0 && !start()) return false;
  doing_ = fmt::format("moment {}: asking", number);
  for (std::uint64_t i = 0, count = 1 + below(9); i < count; ++i) ask_something();
  commit(number);
  if (number == kBackupAt) back_up();
  ledger_.now += Duration{static_cast<std::int64_t>(below(20))};
  return !life_->ended();
}

void Workload::commit(int number) {
  doing_ = fmt::format("moment {}: deciding", number);
  life_->step();
  doing_ = fmt::format("moment {}: appending row {}", number,
                       to_number(life_->shard().figures().applied));
  // Sometimes two rows wait.
  if (below(8) != 0) life_->append();
  if (number % kFlushEvery == 0) {
    doing_ = fmt::format("moment {}: flushing", number);
    life_->shard().request_flush();
    life_->flush();
  }
  if (number % kSyncEvery != kSyncEvery - 1) return;
  doing_ = fmt::format("moment {}: syncing the tables", number);
  life_->sync();
  doing_ = fmt::format("moment {}: trimming the journal", number);
  life_->trim();
  doing_ = fmt::format("moment {}: saving the statistics", number);
  static_cast<void>(life_->store().tables->put_blob("statistics", std::string(3'000, 's')));
}

void Workload::back_up() {
  doing_ = "making a backup";
  const Seq durable = ledger_.durable;
  if (life_->store().backup->backup_to(places_.backup)) ledger_.backed_up = durable;
}

void Workload::prepare_queues() {
  doing_ = "setting up the queues";
  core::QueuePatch forgetful;
  forgetful.succeeded = Duration{0};
  forgetful.dead = Duration{400};
  forgetful.cancelled = Duration{400};
  life_->ask(core::Command(core::SetQueue{text("brief"), true, forgetful, {}}));
  for (const std::string_view queue : {"mail", "calls", "reports"}) {
    life_->ask(core::Command(core::SetQueue{text(queue), true, {}, {}}));
  }
  life_->settle();
}

void Workload::ask_something() {
  const std::uint64_t kind = below(32);
  if (kind < 9) return life_->ask(any_enqueue());
  if (kind < 11) return life_->ask(any_batch());
  if (kind < 12) return life_->ask(keyed_enqueue());
  if (kind < 13) return life_->ask(unique_enqueue());
  if (kind < 19) return life_->ask(any_claim());
  if (kind < 26) return any_lease() == nullptr ? life_->ask(any_claim()) : life_->ask(any_ack());
  if (kind < 27) return life_->ask(any_heartbeat());
  if (kind < 28) return life_->ask(any_logs());
  if (kind < 31) return life_->ask(any_operation());
  if (below(8) == 0) return purge();
  life_->ask(any_queue_change());
}

JobId Workload::new_id() {
  const JobId id = make_job_id(ledger_.now, 0, random_.next());
  ids_.push_back(id);
  return id;
}

SharedBytes Workload::any_payload() {
  std::size_t size = 10 + below(200);
  if (below(40) == 0) size = 3'000 + below(30'000);  // more than a page
  std::string json = fmt::format("{{\"n\": {}, \"text\": \"", ids_.size());
  for (std::size_t i = 0; i < size; ++i) json += static_cast<char>('a' + below(26));
  return text(json + "\"}");
}

core::JobSpec Workload::any_job() {
  core::JobSpec job;
  job.id = new_id();
  job.id_origin = core::IdOrigin::kClient;
  job.queue = text(kQueues[below(kQueues.size())]);
  job.type = text(kTypes[below(kTypes.size())]);
  job.payload = any_payload();
  job.priority = static_cast<std::int16_t>(below(3));
  if (below(6) == 0) job.delay = Duration{static_cast<std::int64_t>(below(800))};
  if (below(12) == 0) job.expires_in = Duration{static_cast<std::int64_t>(100 + below(800))};
  if (below(4) == 0) job.max_attempts = 1 + static_cast<std::uint32_t>(below(3));
  if (below(6) == 0) {
    auto extras = std::make_shared<core::JobExtras>();
    extras->tags = {text("nightly"), text("eu")};
    extras->meta = {{text("tenant"), text("t" + std::to_string(below(5)))}};
    job.extras = std::move(extras);
  }
  return job;
}

core::Command Workload::any_enqueue() {
  core::Enqueue enqueue;
  enqueue.jobs.push_back(any_job());
  return enqueue;
}

core::Command Workload::any_batch() {
  core::Enqueue enqueue;
  enqueue.atomicity = core::Atomicity::kAll;
  for (std::uint64_t i = 0, count = 2 + below(6); i < count; ++i) enqueue.jobs.push_back(any_job());
  // An id already in use: no job of the batch may be accepted.
  if (below(4) == 0) enqueue.jobs.back().id = known_job();
  return enqueue;
}

core::Command Workload::keyed_enqueue() {
  core::Enqueue enqueue;
  enqueue.jobs.push_back(any_job());
  enqueue.jobs.back().queue = text("mail");
  enqueue.jobs.back().delay = Duration{0};
  const std::string key = fmt::format("key {}", below(40));
  enqueue.key = core::IdempotencyKey{fingerprint("mail", key), fingerprint("the body"), {}};
  return enqueue;
}

core::Command Workload::unique_enqueue() {
  core::Enqueue enqueue;
  enqueue.jobs.push_back(any_job());
  enqueue.jobs.back().queue = text("reports");
  auto extras = std::make_shared<core::JobExtras>();
  core::UniqueRule rule;
  rule.key = text(fmt::format("account {}", below(12)));
  rule.on_conflict = static_cast<core::OnConflict>(below(3));
  if (below(2) == 0) rule.hold_for = Duration{2'000};
  extras->unique = std::move(rule);
  enqueue.jobs.back().extras = std::move(extras);
  return enqueue;
}

core::Command Workload::any_claim() {
  core::Claim claim;
  claim.queues = {text(kQueues[below(kQueues.size())]), text(kQueues[below(kQueues.size())])};
  if (below(4) == 0) claim.types = {text(kTypes[below(kTypes.size())])};
  claim.limit = 1 + static_cast<std::uint32_t>(below(10));
  claim.worker = text(kWorkers[below(kWorkers.size())]);
  // Some leases expire by themselves.
  claim.lease = below(4) == 0 ? Duration{1'000} : Duration{60'000};
  return claim;
}

const Ledger::Lease* Workload::any_lease() {
  if (ledger_.leases.empty()) return nullptr;
  return &ledger_.leases[below(ledger_.leases.size())];
}

core::AckItem Workload::any_outcome(const Ledger::Lease& lease) {
  core::AckItem item;
  item.id = lease.id;
  item.token = lease.token;
  constexpr std::array kOutcomes = {core::AckOutcome::kSucceeded, core::AckOutcome::kSucceeded,
                                    core::AckOutcome::kSucceeded, core::AckOutcome::kSucceeded,
                                    core::AckOutcome::kFailed,    core::AckOutcome::kFailed,
                                    core::AckOutcome::kSnoozed,   core::AckOutcome::kReleased,
                                    core::AckOutcome::kCancelled, core::AckOutcome::kDead};
  item.outcome = kOutcomes[below(kOutcomes.size())];
  if (item.outcome == core::AckOutcome::kSucceeded) item.result = any_payload();
  if (item.outcome == core::AckOutcome::kSnoozed) item.delay = Duration{300};
  if (item.outcome == core::AckOutcome::kFailed || item.outcome == core::AckOutcome::kDead) {
    item.error = std::make_shared<core::JobError>();
    item.error->type = text("Refused");
    item.error->message = text(fmt::format("line {} was refused", below(100)));
    item.retryable = below(4) != 0;
  }
  if (below(6) == 0) item.logs = {{ledger_.now, 1, text("the last word")}};
  if (below(10) == 0) item.enqueue.push_back(any_job());
  return item;
}

core::Command Workload::any_ack() {
  core::Ack ack;
  for (std::uint64_t i = 0, count = 1 + below(8); i < count; ++i) {
    const Ledger::Lease& lease = *any_lease();
    const bool twice = std::ranges::any_of(
        ack.items, [&](const core::AckItem& item) { return item.id == lease.id; });
    if (!twice) ack.items.push_back(any_outcome(lease));
  }
  return ack;
}

core::Command Workload::any_heartbeat() {
  core::Heartbeat heartbeat;
  for (const Ledger::Lease& lease : ledger_.leases) {
    if (heartbeat.items.size() == 8) break;
    heartbeat.items.push_back({lease.id, lease.token, {}, nullptr});
    if (below(3) != 0) continue;
    auto progress = std::make_shared<core::Progress>();
    progress->percent = static_cast<double>(below(100));
    progress->checkpoint = text("{\"page\": 3}");
    heartbeat.items.back().progress = std::move(progress);
  }
  return heartbeat;
}

core::Command Workload::any_logs() {
  core::AppendLogs logs;
  if (const Ledger::Lease* lease = any_lease()) {
    logs.items.push_back({lease->id, lease->token, {ledger_.now, 2, any_payload()}});
  }
  return logs;
}

JobId Workload::known_job() {
  if (ids_.empty()) return new_id();
  // Usually one of the newest, which may still be live.
  const std::size_t among = below(4) == 0 ? ids_.size() : std::min<std::size_t>(ids_.size(), 100);
  return ids_[ids_.size() - 1 - below(among)];
}

core::Command Workload::any_operation() {
  switch (below(6)) {
    case 0:
      return core::Cancel{{known_job(), known_job()}, text("not wanted any more")};
    case 1:
    case 2:
      return core::Retry{{known_job(), known_job()}, {}, below(2) == 0};
    case 3:
      return core::Delete{{known_job()}, core::DeleteCause::kOperator};
    default: {
      core::Edit edit;
      edit.ids = {known_job()};
      edit.priority = static_cast<std::int16_t>(below(3));
      if (below(2) == 0) edit.payload = any_payload();
      return edit;
    }
  }
}

core::Command Workload::any_queue_change() {
  const SharedBytes queue = text(kQueues[below(kQueues.size())]);
  switch (below(6)) {
    case 0:
      return core::PauseQueue{queue, text("maintenance")};
    case 1: {
      core::QueuePatch patch;
      patch.max_attempts = 2 + static_cast<std::uint32_t>(below(5));
      return core::SetQueue{queue, false, patch, {}};
    }
    // A queue that is created and deleted, and never has a job.
    case 2:
      return core::PauseQueue{text("spare"), {}, true};
    case 3:
      return core::DeleteQueue{text("spare")};
    default:
      return core::ResumeQueue{queue};
  }
}

// Works like the operators' route: uses the tables' content, in pieces, with a note at the end.
void Workload::purge() {
  core::JobFilter filter;
  filter.conditions = {{core::JobField::kQueue, {}, false, {"calls"}, 0, 0, {}},
                       {core::JobField::kState, {}, false, {"dead", "cancelled"}, 0, 0, {}}};
  const auto page = life_->store().tables->select_ids(filter, {}, 50, std::chrono::seconds(60));
  if (!page) return;
  life_->ask(core::Command(core::Delete{page->ids, core::DeleteCause::kPurge}));
  life_->ask(core::Command(core::NotePurge{text("calls"), page->ids.size()}));
}

}  // namespace millrace::crash_points
