#include "server/traces/tracer.h"

#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "base/thread_name.h"
#include "server/process/system_time.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr auto kFirstPause = 500ms;
constexpr auto kLongestPause = 15'000ms;
constexpr auto kComplainEvery = 60s;
constexpr std::size_t kLookUpAtOnce = 500;
constexpr Duration kLongestCommit{10'000};

bool may_try_again(const push::PostEnd& end) {
  return end.status == 0 || end.status == 429 || end.status == 502 || end.status == 503 ||
         end.status == 504;
}

// Whether OTLP's answer reports that a part was refused: "rejectedSpans":"3".
bool has_rejections(std::string_view answer) {
  const std::size_t at = answer.find("rejectedSpans");
  return at != std::string_view::npos &&
         answer.substr(at).find_first_of("123456789") != std::string_view::npos;
}

JobFact fact_of(JobFact::Kind kind, const core::JobRef& job, Time from, Time to) {
  JobFact fact;
  fact.kind = kind;
  fact.job = job.id;
  fact.queue = job.queue;
  fact.type = job.type;
  fact.attempt = job.attempt;
  fact.from = from;
  fact.to = to;
  return fact;
}

core::JobRef ref(const core::Job& job) { return {job.id, job.queue, job.type, job.attempt}; }

// Calls `note(fact, whole job or null, whether it is a span)` for each fact of a batch.
template <typename Note>
struct Noter {
  Time at;
  Time durable_at;  // never earlier than the batch's time
  Note note;

  void operator()(const core::Submitted& e) const {
    note(fact_of(JobFact::Kind::kSubmitted, ref(e.job), at, durable_at), &e.job, true);
  }
  void operator()(const core::Retried& e) const {
    note(fact_of(JobFact::Kind::kSubmitted, ref(e.job), at, at), &e.job, false);
  }
  void operator()(const core::Claimed& e) const {
    for (const core::Claimed::Item& item : e.items) {
      JobFact fact = fact_of(JobFact::Kind::kStarted, item.job, at - item.waited, at);
      fact.token = to_number(item.token);
      fact.worker = e.worker;
      note(std::move(fact), nullptr, true);
    }
  }
  void operator()(const core::AttemptEnded& e) const {
    JobFact fact = fact_of(JobFact::Kind::kEnded, e.job, at - e.ran, at);
    fact.token = to_number(e.token);
    fact.counted = e.counted;
    fact.worker = e.worker;
    fact.outcome = e.outcome;
    fact.last = core::is_terminal(e.state);
    if (e.error != nullptr) {
      fact.error_type = e.error->type;
      fact.error_message = e.error->message;
    }
    note(std::move(fact), nullptr, true);
  }
  void operator()(const core::Finished& e) const {
    if (e.from != core::State::kRunning) return;
    JobFact fact = fact_of(JobFact::Kind::kEnded, ref(e.job), e.job.latest.started_at, at);
    fact.token = to_number(e.token);
    fact.worker = e.job.latest.worker;
    fact.outcome = core::AttemptOutcome::kSucceeded;
    fact.last = true;
    note(std::move(fact), &e.job, true);
  }
  template <typename Other>
  void operator()(const Other&) const {}
};

}  // namespace

void JobTraces::put(const JobId& job, const JobTrace& trace) {
  if (traces_.insert_or_assign(job, trace).second) order_.push_back(job);
  while (traces_.size() > most_ || order_.size() > 2 * most_) {
    traces_.erase(order_.front());
    order_.pop_front();
  }
}

const JobTrace* JobTraces::find(const JobId& job) const {
  const auto at = traces_.find(job);
  return at == traces_.end() ? nullptr : &at->second;
}

Tracer::Tracer(Parts parts) : parts_(std::move(parts)) {}

Tracer::~Tracer() { stop(); }

void Tracer::start(const engine::Reads& reads) {
  reads_ = &reads;
  thread_ = std::thread([this] {
    name_this_thread("traces");
    run();
  });
}

void Tracer::stop() {
  if (!thread_.joinable()) return;
  {
    const MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_all();
  // The thread ends by itself when all is sent; this bounds how long it tries.
  std::atomic<bool> done = false;
  std::thread patience([this, &done] {
    const auto until = Clock::now() + kAtStop;
    while (!done && Clock::now() < until) std::this_thread::sleep_for(10ms);
    give_up_ = true;
    wake_.notify_all();
  });
  thread_.join();
  done = true;
  patience.join();
}

void Tracer::durable(Seq seq, const core::EventBatch& batch) {
  parts_.next.durable(seq, batch);
  std::vector<Noted> noted;
  const auto note = [&](JobFact fact, const core::Job* job, bool is_span) {
    Noted& added = noted.emplace_back();
    added.fact = std::move(fact);
    added.is_span = is_span;
    if (job == nullptr) return;
    added.has_trace = true;
    added.trace = trace_of(*job);
  };
  // Clamped, since a change of the system clock would make an endless span.
  const Time durable_at =
      std::clamp(system_time().wall(), batch.at, add_saturating(batch.at, kLongestCommit));
  const Noter<decltype(note)> noter{batch.at, durable_at, note};
  for (const core::Event& event : batch.events) std::visit(noter, event);
  if (noted.empty()) return;
  bool wake = false;
  {
    const MutexLock lock(mutex_);
    const std::size_t room = kMostQueued - std::min(queue_.size(), kMostQueued);
    if (noted.size() > room) {
      full_ += noted.size() - room;
      noted.resize(room);
    }
    wake = queue_.size() < kMostSpans && queue_.size() + noted.size() >= kMostSpans;
    std::ranges::move(noted, std::back_inserter(queue_));
  }
  if (wake) wake_.notify_all();
}

std::vector<Tracer::Noted> Tracer::take() {
  const MutexLock lock(mutex_);
  const auto until = Clock::now() + kGather;
  while (!stopping_ && queue_.size() < kMostSpans && wake_.wait_until(mutex_, until)) {
  }
  return std::exchange(queue_, {});
}

void Tracer::run() {
  for (;;) {
    std::vector<Noted> noted = take();
    if (noted.empty()) {
      const MutexLock lock(mutex_);
      if (stopping_ && queue_.empty()) return;
      continue;
    }
    const std::vector<Span> spans = spans_of(std::move(noted));
    for (std::size_t at = 0; at < spans.size(); at += kMostSpans) {
      send(std::span(spans).subspan(at, std::min(kMostSpans, spans.size() - at)));
    }
  }
}

std::vector<Span> Tracer::spans_of(std::vector<Noted> noted) {
  for (const Noted& each : noted) {
    if (each.has_trace) traces_.put(each.fact.job, each.trace);
  }
  look_up(noted);
  std::vector<Span> spans;
  for (Noted& each : noted) {
    const JobTrace* const trace = each.has_trace ? &each.trace : traces_.find(each.fact.job);
    if (trace == nullptr) {
      ++unknown_;
      continue;
    }
    if (each.is_span && trace->sampled) spans.push_back({each.fact, *trace});
    if (each.fact.last) traces_.erase(each.fact.job);
  }
  return spans;
}

// Looks up jobs submitted before this process began, or so long ago that they were forgotten.
void Tracer::look_up(const std::vector<Noted>& noted) {
  absl::flat_hash_set<JobId> missing;
  for (const Noted& each : noted) {
    if (traces_.find(each.fact.job) == nullptr) missing.insert(each.fact.job);
  }
  std::vector<JobId> ids(missing.begin(), missing.end());
  for (std::size_t at = 0; at < ids.size(); at += kLookUpAtOnce) {
    const auto first = ids.begin() + static_cast<std::ptrdiff_t>(at);
    const auto last = first + static_cast<std::ptrdiff_t>(std::min(kLookUpAtOnce, ids.size() - at));
    const auto jobs = reads_->fetch({first, last});
    if (!jobs) return;
    for (const core::Job& job : *jobs) traces_.put(job.id, trace_of(job));
  }
}

bool Tracer::pause(std::chrono::milliseconds length) {
  const auto until = Clock::now() + length;
  const MutexLock lock(mutex_);
  while (!give_up_ && wake_.wait_until(mutex_, until)) {
  }
  return !give_up_;
}

void Tracer::send(std::span<const Span> spans) {
  const std::string body = encode_spans(spans, parts_.resource);
  const auto give_up_at = Clock::now() + kGiveUp;
  std::chrono::milliseconds next_pause = kFirstPause;
  while (!give_up_) {
    ++requests_;
    const push::PostEnd end = parts_.post->post(body, give_up_);
    if (end.status >= 200 && end.status < 300) {
      exported_ += spans.size();
      if (has_rejections(end.answer)) note_refusal(end, spans.size());
      return;
    }
    ++failures_;
    note_refusal(end, spans.size());
    if (!may_try_again(end)) {
      refused_ += spans.size();
      return;
    }
    const auto length =
        std::max<std::chrono::milliseconds>(next_pause, end.retry_after.value_or(0s));
    next_pause = std::min<std::chrono::milliseconds>(next_pause * 2, kLongestPause);
    if (Clock::now() + length > give_up_at || !pause(length)) break;
  }
  late_ += spans.size();
}

void Tracer::note_refusal(const push::PostEnd& end, std::size_t spans) {
  if (Clock::now() < next_complaint_) return;
  next_complaint_ = Clock::now() + kComplainEvery;
  parts_.log.warn("the collector of traces does not take all spans",
                  {{"status", end.status},
                   {"reason", end.error.empty() ? end.answer : end.error},
                   {"spans", spans}});
}

TraceCounts Tracer::counts() const {
  TraceCounts counts{.exported = exported_,
                     .dropped_full = full_,
                     .dropped_refused = refused_,
                     .dropped_late = late_,
                     .dropped_unknown = unknown_,
                     .requests = requests_,
                     .failures = failures_};
  const MutexLock lock(mutex_);
  counts.queued = queue_.size();
  return counts;
}

}  // namespace millrace::server
