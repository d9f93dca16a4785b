#include "server/process/error_watch.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/thread_name.h"
#include "core/bounds.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""s;

constexpr auto kPause = 1s;
constexpr Duration kPatience{2'000};
// The most documents written in one round; each costs a commit.
constexpr int kMostWrites = 500;

constexpr auto kKind = core::CatalogKind::kErrorGroup;
constexpr std::uint32_t kFirstShard = 0;

const core::Job* job_of(const std::map<JobId, core::Job>& jobs, const JobId& id) {
  const auto found = jobs.find(id);
  return found == jobs.end() ? nullptr : &found->second;
}

}  // namespace

struct ErrorWatch::Round {
  Time now{};
  std::map<JobId, core::Job> canaries;
  bool canaries_known = false;
  Counts counts{};
};

ErrorWatch::ErrorWatch(Parts parts) : parts_(std::move(parts)) {}

ErrorWatch::~ErrorWatch() { stop(); }

void ErrorWatch::start() {
  thread_ = std::thread([this] { run(); });
}

void ErrorWatch::stop() {
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

bool ErrorWatch::stopping() const {
  const MutexLock lock(mutex_);
  return stopping_;
}

std::optional<ErrorWatch::Counts> ErrorWatch::counts() const {
  const MutexLock lock(mutex_);
  return counts_;
}

void ErrorWatch::run() {
  name_this_thread("errors");
  while (true) {
    {
      const MutexLock lock(mutex_);
      const auto until = std::chrono::steady_clock::now() + kPause;
      while (!stopping_ && wake_.wait_until(mutex_, until)) {
      }
      if (stopping_) return;
    }
    const bool heard = parts_.catalog.heard_at() != Steady::min();
    if (heard && parts_.backend.leads(kFirstShard)) {
      look();
    } else {
      const MutexLock lock(mutex_);
      counts_.reset();
    }
  }
}

void ErrorWatch::look() {
  engine::ReadModels& models = parts_.backend.parts().models();
  Round round;
  round.now = parts_.clock.now();
  models.refresh(round.now);
  bool whole = models.complete();
  const auto groups = models.error_groups();
  whole = whole && models.complete();
  const auto catalog = parts_.catalog.snapshot();
  std::size_t documents = 0;
  std::vector<JobId> canaries;
  catalog->each(kKind, [&](const core::CatalogEntry& entry) {
    ++documents;
    const auto state = api::read_stored_error_group(entry.body.view());
    if (state && state->canary && state->canary->state == api::CanaryState::kRunning) {
      canaries.push_back(state->canary->job);
    }
  });
  if (!canaries.empty()) {
    auto jobs = parts_.backend.parts().reads().fetch(canaries);
    round.canaries_known = jobs.has_value();
    if (jobs) {
      for (core::Job& job : *jobs) {
        const JobId id = job.id;
        round.canaries.emplace(id, std::move(job));
      }
    }
  }
  int writes = 0;
  for (const auto& [fingerprint, group] : groups) {
    const std::string id = service::error_group_id(fingerprint);
    const core::CatalogEntry* const entry = catalog->find(kKind, id);
    const auto state = wanted(group, entry, round);
    if (!state || writes >= kMostWrites) continue;
    if (entry == nullptr && documents >= core::kMaxCatalogEntries) continue;
    if (stopping()) return;
    ++writes;
    if (!put(id, entry, *state)) break;
    if (entry == nullptr) ++documents;
  }
  {
    const MutexLock lock(mutex_);
    counts_ = round.counts;
  }
  if (!whole) return;  // an absent group may still be coming
  catalog->each(kKind, [&](const core::CatalogEntry& entry) {
    const auto fingerprint = service::parse_error_group_id(entry.name.view());
    if (writes >= kMostWrites || !fingerprint || groups.contains(*fingerprint)) return;
    const auto state = api::read_stored_error_group(entry.body.view());
    // A document that a user has edited is kept while there is room.
    const bool plain = state && state->status == api::ErrorStatus::kOpen && state->note.empty();
    if (!plain && documents < core::kMaxCatalogEntries) return;
    ++writes;
    forget(entry);
  });
}

std::optional<api::ErrorGroupState> ErrorWatch::wanted(const engine::ErrorGroup& group,
                                                       const core::CatalogEntry* entry,
                                                       Round& round) {
  if (entry == nullptr) {
    ++round.counts[static_cast<std::size_t>(api::ErrorStatus::kOpen)];
    return service::opened_group(group);
  }
  const auto said = api::read_stored_error_group(entry->body.view());
  if (!said) return std::nullopt;
  api::ErrorGroupState state = service::state_now(*said, group.last_seen, round.now);
  ++round.counts[static_cast<std::size_t>(state.status)];
  if (state.status != said->status) {
    state.change = said->status == api::ErrorStatus::kResolved ? "reopened" : "unmuted";
  }
  if (state.canary && state.canary->state == api::CanaryState::kRunning && round.canaries_known) {
    state.canary->state =
        service::canary_now(*state.canary, job_of(round.canaries, state.canary->job), group);
    if (state.canary->state != api::CanaryState::kRunning && state.status == said->status) {
      state.change = "canary";
    }
  }
  if (state == *said) return std::nullopt;
  return state;
}

bool ErrorWatch::put(const std::string& id, const core::CatalogEntry* entry,
                     const api::ErrorGroupState& state) {
  core::PutCatalogEntry put;
  put.kind = kKind;
  put.name = SharedBytes(id);
  put.body = SharedBytes(api::stored_error_group(state));
  put.if_version = entry == nullptr ? 0 : entry->version;
  // If another writer was faster, the next round sees its change.
  return questions_
      .ask(parts_.backend.gateway(), core::Command(std::move(put)), kPatience, engine::kNodesOwn)
      .has_value();
}

void ErrorWatch::forget(const core::CatalogEntry& entry) {
  core::DeleteCatalogEntry removal;
  removal.kind = kKind;
  removal.name = entry.name;
  removal.if_version = entry.version;
  questions_.ask(parts_.backend.gateway(), core::Command(std::move(removal)), kPatience,
                 engine::kNodesOwn);
}

}  // namespace millrace::server
