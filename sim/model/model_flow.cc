// The effect of limits, fair shares, ageing, order keys and debouncing on jobs, as the contract
// requires.
#include <algorithm>
#include <tuple>
#include <utility>

#include "sim/model/model.h"
#include "sim/violation.h"

namespace millrace::sim {

using core::BlockCode;
using core::Job;
using core::JobExtras;
using core::JobSpec;
using core::State;

namespace {

const SharedBytes& fair_key_of(const std::shared_ptr<const JobExtras>& extras) {
  static const SharedBytes kNone;
  return extras == nullptr ? kNone : extras->fair_key;
}

bool is_past_expiry(const Job& job, Time now) {
  return job.latest.n == 0 && job.expires_at && *job.expires_at <= now;
}

// The invariant that a start through a closed gate breaks.
const char* invariant_of(BlockCode code) {
  switch (code) {
    case BlockCode::kLimitFull:
      return "F1";
    case BlockCode::kRate:
    case BlockCode::kRetryRate:
      return "F2";
    case BlockCode::kBreakerOpen:
      return "F9";
    case BlockCode::kShare:
      return "F8";
    default:
      return "R5";  // a pause, or a request to slow down
  }
}

}  // namespace

const core::QueueSettings* Model::settings_of(std::string_view name) const {
  const ModelQueue* const found = queue(name);
  return found == nullptr ? nullptr : &found->settings;
}

bool Model::any_queue_names(const SharedBytes& limit) const {
  return std::ranges::any_of(queues_, [&](const auto& entry) {
    return std::ranges::count(entry.second.settings.limits, limit, &core::JobLimit::name) > 0;
  });
}

// --- Submissions.

bool Model::is_key_full(const JobSpec& spec, const std::vector<const JobSpec*>& before) const {
  const ModelQueue* const at = queue(spec.queue.view());
  if (at == nullptr || !at->settings.max_ready_per_key) return false;
  const SharedBytes& key = fair_key_of(spec.extras);
  auto ready = static_cast<std::uint64_t>(std::ranges::count_if(live_, [&](const auto& entry) {
    const Job& job = *entry.second;
    return job.state == State::kReady && job.queue == spec.queue && fair_key_of(job.extras) == key;
  }));
  for (const JobSpec* other : before) {
    if (other->queue != spec.queue || fair_key_of(other->extras) != key) continue;
    const bool due = other->run_at ? *other->run_at <= now_ : other->delay.count() <= 0;
    if (due) ++ready;
  }
  return ready >= *at->settings.max_ready_per_key;
}

std::shared_ptr<const JobExtras> Model::extras_of(const JobSpec& spec, Time run_at) const {
  std::shared_ptr<const JobExtras> made = gates_.with_limits(spec);
  if (made == nullptr || made->order_key.empty()) return made;
  JobExtras extras = *made;
  extras.place = run_at;
  return std::make_shared<const JobExtras>(std::move(extras));
}

bool Model::is_superseded(const Job& job) {
  return job.extras != nullptr && job.extras->unique && job.extras->unique->superseded;
}

// A running job whose unique key is passed to a successor does not wait again.
void Model::supersede(const Job& successor) {
  if (successor.extras == nullptr || !successor.extras->unique) return;
  if (successor.extras->unique->on_conflict != core::OnConflict::kDebounce) return;
  const Holder* const holder = unique_holder(successor.queue, successor.extras->unique->key);
  Job* const job = holder == nullptr ? nullptr : job_at(holder->job);
  if (job == nullptr || job->state != State::kRunning) return;
  marks_.hit(Mark::kSuccessorWaits);
  JobExtras extras = *job->extras;
  extras.unique->superseded = true;
  job->extras = std::make_shared<const JobExtras>(std::move(extras));
}

void Model::debounce(const JobSpec& spec, Job& job) {
  marks_.hit(Mark::kDebounced);
  core::Debounced event;
  event.job.id = job.id;
  event.payload = spec.payload;
  event.run_at = spec.run_at ? *spec.run_at : add_saturating(now_, spec.delay);
  for (const auto& longest : {job.extras->unique->max_wait, spec.extras->unique->max_wait}) {
    if (longest) event.run_at = std::min(event.run_at, add_saturating(job.created_at, *longest));
  }
  event.state = job.state;
  if (job.state == State::kRetrying) {
    event.run_at = std::max(event.run_at, job.run_at);
  } else {
    event.state = event.run_at > now_ ? State::kScheduled : State::kReady;
  }
  if (job.state == State::kReady && event.state == State::kReady) event.run_at = job.run_at;
  gates_.events().expect(event);
  job.run_at = event.run_at;
  job.payload = event.payload;
  set_state(job, event.state);
  if (job.extras->place && job.state != State::kRetrying) {
    JobExtras extras = *job.extras;
    extras.place = event.run_at;
    job.extras = std::make_shared<const JobExtras>(std::move(extras));
  }
  settle_fair();
}

// --- Fair shares.

core::NaiveJobs::ModelJob Model::fair_job(const Job& job) {
  core::NaiveJobs::ModelJob made;
  made.id = job.id;
  made.queue = job.queue.view();
  made.state = job.state;
  made.priority = job.priority;
  made.ord = job.ord;
  made.fair_key = fair_key_of(job.extras).view();
  return made;
}

// Jobs that could be offered count as ready, the others do not.
std::vector<core::NaiveJobs::ModelJob> Model::fair_jobs() const {
  std::vector<core::NaiveJobs::ModelJob> jobs;
  for (const auto& [ord, job] : live_) {
    if (job->state != State::kReady && job->state != State::kRunning) continue;
    const ModelQueue* const at = queue(job->queue.view());
    if (!at->settings.fair) continue;
    jobs.push_back(fair_job(*job));
    if (job->state == State::kReady && !gates_.is_its_turn(*job)) {
      jobs.back().state = State::kScheduled;
    }
  }
  return jobs;
}

void Model::settle_fair() {
  const auto shares = [](const auto& entry) { return entry.second.settings.fair.has_value(); };
  if (std::ranges::none_of(queues_, shares)) return;
  const auto jobs = fair_jobs();
  // If no job is ready or running, all keys begin anew.
  std::erase_if(fair_bounds_, [&](const auto& bound) {
    return std::ranges::none_of(jobs, [&](const auto& job) {
      return job.queue == bound.first.first && job.priority == bound.first.second &&
             (job.state == State::kReady || job.state == State::kRunning);
    });
  });
  fair_.settle(jobs,
               [](const core::NaiveJobs::ModelJob& job) { return job.state == State::kReady; });
}

// --- Claims.

// The queue's ready jobs in the order in which claims meet them; fair shares are left out, since
// they change with each start.
std::vector<Job*> Model::in_claim_order(std::string_view name,
                                        const std::vector<SharedBytes>& types) const {
  const auto& ageing = queue(name)->settings.ageing;
  std::vector<Job*> ready;
  for (const auto& [ord, job] : live_) {
    if (job->state != State::kReady || job->queue.view() != name) continue;
    const bool wanted = types.empty() || std::ranges::find(types, job->type) != types.end();
    if (wanted) ready.push_back(job);
  }
  std::ranges::sort(ready, {}, [&](const Job* job) {
    if (!ageing) return std::tuple(job->priority, job->run_at, job->ord);
    const Time since = std::max(job->run_at, job->created_at);
    return std::tuple(std::int16_t{0}, since + job->priority * *ageing, job->ord);
  });
  return ready;
}

void Model::give_from(std::string_view name, const core::Claim& claim, Gates::TakenMap& taken,
                      std::vector<Job*>& given, std::vector<Job*>& expired, std::uint64_t& bytes,
                      bool& full) {
  std::vector<Job*> ready = in_claim_order(name, claim.types);
  std::erase_if(ready, [&](const Job* job) { return !gates_.is_its_turn(*job); });
  const bool fair = queue(name)->settings.fair.has_value();
  core::NaiveFair shares;
  std::vector<core::NaiveJobs::ModelJob> jobs;
  if (fair) {
    shares = fair_;
    jobs = fair_jobs();
  }
  const auto next = [&]() -> std::optional<std::size_t> {
    std::optional<std::size_t> first;
    for (std::size_t i = 0; i < ready.size(); ++i) {
      if (gates_.closed_for(*ready[i], taken)) {
        marks_.hit(Mark::kGateClosed);
        continue;
      }
      if (!fair) return i;
      const auto place = [&](const Job* job) {
        return std::tuple(job->priority, shares.tag(fair_job(*job)));
      };
      if (!first || place(ready[i]) < place(ready[*first])) first = i;
    }
    return first;
  };
  while (!(full = given.size() >= claim.limit)) {
    const auto found = next();
    if (!found) return;
    Job* const job = ready[*found];
    ready.erase(ready.begin() + static_cast<std::ptrdiff_t>(*found));
    if (is_past_expiry(*job, now_)) {
      expired.push_back(job);
      continue;
    }
    bytes += job->payload.size();
    if (!given.empty() && bytes > max_claim_bytes_) {
      marks_.hit(Mark::kClaimCut);
      full = true;
      return;
    }
    given.push_back(job);
    gates_.take(*job, taken);
    if (!fair) continue;
    shares.start(fair_job(*job), now_);
    std::ranges::find(jobs, job->id, &core::NaiveJobs::ModelJob::id)->state = State::kRunning;
    shares.settle(
        jobs, [](const core::NaiveJobs::ModelJob& each) { return each.state == State::kReady; });
  }
}

// F5 for shares by starts, checked before the claim is followed. For any two keys of a queue's
// priority, over any stretch in which every start could have been of either key, the weighted
// numbers of starts differ by at most one start of each.
void Model::check_shares(const core::Claim& claim, const std::vector<Job*>& given) {
  Gates::TakenMap taken;
  std::set<const Job*> started;
  for (const Job* const job : given) {
    const std::string name(job->queue.view());
    const auto& settings = queue(name)->settings.fair;
    if (settings && settings->by == core::FairBy::kStarts) {
      std::map<std::string, std::uint64_t> keys;
      for (const Job* const other : in_claim_order(name, claim.types)) {
        if (other->priority != job->priority || started.contains(other)) continue;
        if (is_past_expiry(*other, now_) || !gates_.is_its_turn(*other)) continue;
        if (gates_.closed_for(*other, taken)) continue;
        const std::string key(fair_key_of(other->extras).view());
        keys[key] = fair_.weight(name, key);
      }
      core::FairBound& bound = fair_bounds_[{name, job->priority}];
      bound.started(std::string(fair_key_of(job->extras).view()), keys);
      demand(!bound.broken(), "F5", "fair key {} of queue {} has more than its share",
             fair_key_of(job->extras).view(), name);
      marks_.hit_if(keys.size() > 1, Mark::kKeysShare);
    }
    gates_.take(*job, taken);
    started.insert(job);
  }
}

bool Model::has_gates(const Job& job) const {
  const bool ordered = job.extras != nullptr && !job.extras->order_key.empty();
  return ordered || !gates_.gates_of(job).empty();
}

void Model::check_gates(const std::vector<JobId>& given) const {
  Gates::TakenMap taken;
  for (const JobId& id : given) {
    const Job* const job = find(id);
    if (job == nullptr || job->state != State::kReady) return;
    demand(gates_.is_its_turn(*job), "F6", "{} starts, and it is not its turn in its order key",
           to_string(id));
    if (const auto closed = gates_.closed_for(*job, taken)) {
      violated(invariant_of(closed->code), "{} starts, and the gate {} {} is closed to it: {}",
               to_string(id), closed->gate.name, closed->gate.key, static_cast<int>(closed->code));
    }
    gates_.take(*job, taken);
  }
}

std::uint64_t Model::held_back(std::string_view name) const {
  const bool paused = queue(name)->paused;
  std::uint64_t held = 0;
  for (const auto& [ord, job] : live_) {
    if (job->state != State::kReady || job->queue.view() != name) continue;
    if (paused || !gates_.is_its_turn(*job) || gates_.closed_for(*job, {})) ++held;
  }
  return held;
}

}  // namespace millrace::sim
