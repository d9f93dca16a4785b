// Makes spans from durable events and sends them to a collector, on its own thread. The shards'
// threads only add facts to a bounded queue: if the collector is slow, facts are dropped and
// counted, and no job waits.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/mutex.h"
#include "engine/observer.h"
#include "engine/reads.h"
#include "push/span_post.h"
#include "server/metrics/trace_metrics.h"
#include "server/traces/span.h"

namespace millrace::server {

// The traces of the newest unfinished jobs; the tracer looks up older ones.
class JobTraces {
 public:
  explicit JobTraces(std::size_t most) : most_(most) {}
  void put(const JobId& job, const JobTrace& trace);
  const JobTrace* find(const JobId& job) const;
  void erase(const JobId& job) { traces_.erase(job); }
  std::size_t size() const { return traces_.size(); }

 private:
  const std::size_t most_;
  absl::flat_hash_map<JobId, JobTrace> traces_;
  std::deque<JobId> order_;  // oldest first; includes erased ones
};

class Tracer final : public engine::DurableObserver {
 public:
  static constexpr std::size_t kMostQueued = 65'536;  // facts
  static constexpr std::size_t kMostSpans = 512;      // per request
  static constexpr std::size_t kMostTraces = 200'000;
  static constexpr auto kGather = std::chrono::milliseconds(1'000);
  // A batch that the collector has not accepted within this time is dropped.
  static constexpr auto kGiveUp = std::chrono::seconds(120);
  static constexpr auto kAtStop = std::chrono::seconds(2);

  struct Parts {
    engine::DurableObserver& next;  // also gets each batch
    std::unique_ptr<push::SpanPost> post;
    SpanResource resource;
    Logger log;
  };
  explicit Tracer(Parts parts);
  ~Tracer() override;

  // `reads`: the tables, used to look up jobs that were submitted before the start or elsewhere.
  // Must be called before the first batch; `reads` must outlive stop().
  void start(const engine::Reads& reads);
  // Sends the remaining spans, for at most kAtStop. No batch may come any more.
  void stop();

  void durable(Seq seq, const core::EventBatch& batch) override;

  TraceCounts counts() const;

 private:
  // A fact; it also has the job's trace if its event contains the whole job.
  struct Noted {
    JobFact fact;
    bool has_trace = false;
    bool is_span = true;  // false: only supplies the trace
    JobTrace trace{};
  };
  using Clock = std::chrono::steady_clock;

  void run();
  std::vector<Noted> take();
  std::vector<Span> spans_of(std::vector<Noted> noted);
  void look_up(const std::vector<Noted>& noted);
  void send(std::span<const Span> spans);
  // False: time to end.
  bool pause(std::chrono::milliseconds length);
  void note_refusal(const push::PostEnd& end, std::size_t spans);

  Parts parts_;
  const engine::Reads* reads_ = nullptr;

  mutable Mutex mutex_;
  WaitCondition wake_;
  std::vector<Noted> queue_ MILLRACE_GUARDED_BY(mutex_);
  bool stopping_ MILLRACE_GUARDED_BY(mutex_) = false;

  std::atomic<bool> give_up_ = false;  // the time allowed for stop() is over
  std::atomic<std::uint64_t> exported_{0}, full_{0}, refused_{0}, late_{0}, unknown_{0},
      requests_{0}, failures_{0};

  // Only for the thread.
  JobTraces traces_{kMostTraces};
  Clock::time_point next_complaint_{};
  std::thread thread_;
};

}  // namespace millrace::server
