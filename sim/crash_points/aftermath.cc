#include "sim/crash_points/aftermath.h"

#include <fmt/format.h>

#include <algorithm>

#include "digest/fingerprint.h"
#include "sim/crash_points/checker.h"
#include "sim/crash_points/system_calls.h"
#include "sim/crash_points/vfs.h"
#include "store/sqlite/directory.h"

namespace millrace::crash_points {

void die(Disk& disk, Death death, const Call& under_way, Random random) {
  disk.die(death, under_way, random);
  forget_open_databases();
  forget_descriptors();
}

void Aftermath::live_on(CallHook* in_recovery, Random random) {
  std::unique_ptr<Life> life = start(in_recovery);
  if (life == nullptr) return problem("the start was refused: " + refusal_);
  check_files();
  // Only sometimes, since the backup does not change any more.
  if (ledger_.backed_up && random.next() % 4 == 0) check_backup();
  work(*life);
  // The recovered state must itself survive another end.
  const std::uint64_t end = random.next() % 3;
  if (end == 0) {
    life.reset();
  } else {
    static_cast<void>(life.release());
    die(disk_, end == 1 ? Death::kDropped : Death::kPart, {.kind = CallKind::kSync}, random);
  }
  life = try_to_start();
  if (life == nullptr) problem("the second start was refused: " + refusal_);
}

std::unique_ptr<Life> Aftermath::start(CallHook* in_recovery) {
  disk_.set_hook(in_recovery);
  std::unique_ptr<Life> life = try_to_start();
  if (life != nullptr) life->settle();
  disk_.set_hook(nullptr);
  if (life != nullptr && !life->ended()) return life;
  // The start may fail only because of a call that was made to fail. The next one, on a healed
  // disk, must succeed.
  if (in_recovery == nullptr) return nullptr;
  if (life == nullptr) ++tally_.refused_starts;
  life.reset();
  return try_to_start();
}

std::unique_ptr<Life> Aftermath::try_to_start() {
  for (const std::string_view name : {store::kJournalFile, store::kTablesFile}) {
    const std::string mark = fmt::format("{}/{}{}", places_.directory, name, store::kSuspectSuffix);
    if (disk_.find(mark) != nullptr) ++tally_.repairs;
  }
  ++tally_.recoveries;
  auto life = Life::start(places_.directory, disk_, ledger_, log_);
  if (life) return std::move(*life);
  refusal_ = life.error().message;
  return nullptr;
}

void Aftermath::check_files() {
  for (std::string& found : examine_files(places_.directory, ledger_.durable)) {
    problem(std::move(found));
  }
}

void Aftermath::check_backup() {
  for (std::string& found : examine_files(places_.backup, *ledger_.backed_up)) {
    problem(std::move(found));
  }
}

void Aftermath::work(Life& life) {
  life.settle();
  use_a_lease(life);
  core::Enqueue enqueue;
  enqueue.jobs.emplace_back();
  core::JobSpec& spec = enqueue.jobs.back();
  spec.id = make_job_id(ledger_.now, 0, ledger_.requests);
  spec.id_origin = core::IdOrigin::kClient;
  spec.queue = SharedBytes("afterwards");
  spec.type = SharedBytes("send");
  spec.payload = SharedBytes("{\"after\": true}");
  life.ask(core::Command(enqueue));
  if (ledger_.last_key) {
    // Submitted again under an answered idempotency key: the ledger knows which job must be
    // returned.
    spec.id = make_job_id(ledger_.now, 0, ledger_.requests);
    spec.queue = SharedBytes("mail");
    enqueue.key = core::IdempotencyKey{ledger_.last_key->first, fingerprint("the body"), {}};
    life.ask(core::Command(enqueue));
  }
  core::Claim claim;
  claim.queues = {SharedBytes("afterwards")};
  claim.worker = SharedBytes("anna");
  life.ask(core::Command(claim));
  life.shard().request_flush();
  life.settle();
  life.sync();
  life.trim();
  if (life.ended()) problem("the shard ended on a disk without fault: " + *life.shard().ended());
  if (ledger_.waiting() > 0) problem("something was not answered on a disk without fault");
}

// The holder of an unexpired lease must still hold it.
void Aftermath::use_a_lease(Life& life) {
  const auto lease = std::ranges::find_if(ledger_.leases, [&](const Ledger::Lease& each) {
    const auto job = ledger_.jobs.find(each.id);
    return each.until > ledger_.now + Duration{20'000} && job != ledger_.jobs.end() &&
           !job->second.may_be_gone;
  });
  if (lease == ledger_.leases.end()) return;
  const JobId id = lease->id;
  core::Ack ack;
  ack.items.emplace_back();
  ack.items.back().id = id;
  ack.items.back().token = lease->token;
  ack.items.back().outcome = core::AckOutcome::kSucceeded;
  ack.items.back().result = SharedBytes("\"done after all\"");
  life.ask(core::Command(ack));
  life.settle();
  if (ledger_.jobs.at(id).ended != core::State::kSucceeded) {
    problem(fmt::format("the lease of job {} was lost", to_string(id)));
  }
}

}  // namespace millrace::crash_points
