#include "server/metrics/metrics.h"

#include <fmt/format.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <map>

#include "base/mutex.h"
#include "server/metrics/metric_families.h"
#include "server/metrics/metric_snapshot.h"
#include "server/metrics/push_metrics.h"

namespace millrace::server {
namespace {

constexpr std::array kCommitSeconds = {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01,
                                       0.025,  0.05,    0.1,    0.25,  0.5,    1.0,   5.0};
constexpr std::array kFlushSeconds = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                      0.25,  0.5,    1.0,   2.5,  5.0,   15.0};
constexpr std::array kRequestSeconds = {0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                        0.1,    0.25,  0.5,    1.0,   5.0,  15.0,  60.0};
constexpr std::array kWorkflowSeconds = {0.1,   1.0,    5.0,    15.0,    60.0,
                                         300.0, 1800.0, 3600.0, 21600.0, 86400.0};
constexpr std::array kCounts = {1.0,   2.0,   5.0,    10.0,   20.0,   50.0,    100.0,
                                200.0, 500.0, 1000.0, 2000.0, 5000.0, 20000.0, 100000.0};
constexpr std::array kBytes = {256.0,    1024.0,    4096.0,    16384.0,    65536.0,
                               262144.0, 1048576.0, 4194304.0, 16777216.0, 33554432.0};

constexpr std::size_t kStatusClasses = 5;  // 1xx to 5xx
// One row per route, and a last one for requests without a route.
const std::size_t kRouteRows = http::all_routes().size() + 1;

double to_seconds(std::chrono::nanoseconds took) {
  return std::chrono::duration<double>(took).count();
}

Labels route_labels(std::size_t row) {
  if (row + 1 == kRouteRows) return {{"method", ""}, {"route", "(none)"}};
  const http::Route& route = http::all_routes()[row];
  return {{"method", std::string(api::name_of(route.method))},
          {"route", std::string(route.pattern)}};
}

std::string_view name_of(store::AppendOutcome outcome) {
  switch (outcome) {
    case store::AppendOutcome::kDurable:
      return "durable";
    case store::AppendOutcome::kFenced:
      return "fenced";
    case store::AppendOutcome::kUnknown:
      return "unknown";
    case store::AppendOutcome::kFailed:
      return "failed";
    case store::AppendOutcome::kBroken:
      return "broken";
  }
  return "";
}
constexpr std::size_t kAppendOutcomes = 5;

using Count = std::atomic<std::uint64_t>;
using Streamed = http::Observer::Streamed;
void increment(Count& count, std::uint64_t by = 1) {
  count.fetch_add(by, std::memory_order_relaxed);
}
double read(const Count& count) {
  return static_cast<double>(count.load(std::memory_order_relaxed));
}

}  // namespace

struct Metrics::Impl {
  BucketCounter commit_seconds{kCommitSeconds};
  RecentTimes recent_commits;
  BucketCounter commit_bytes{kBytes};
  BucketCounter commit_requests{kCounts};
  BucketCounter commit_events{kCounts};
  std::array<Count, kAppendOutcomes> append_failures{};
  BucketCounter flush_seconds{kFlushSeconds};
  BucketCounter flush_jobs{kCounts};
  Count flush_failures{0};

  // By terms::WorkflowState.
  std::array<Count, terms::kWorkflowStates> workflows_ended{};
  BucketCounter workflow_seconds{kWorkflowSeconds};

  struct RouteRow {
    std::array<Count, kStatusClasses> statuses{};
    BucketCounter seconds{kRequestSeconds};
  };
  std::vector<RouteRow> routes = std::vector<RouteRow>(kRouteRows);
  Count received_bytes{0};
  Count sent_bytes{0};
  Count connections_opened{0};
  Count connections_closed{0};
  Count connections_refused{0};
  std::array<Count, 3> streams{};  // by http::Observer::Streamed

  mutable Mutex mutex;
  using Problems = std::map<std::string, std::uint64_t, std::less<>>;
  Problems problems MILLRACE_GUARDED_BY(mutex);  // by code; there are only a few codes

  void note_end(const core::Workflow& workflow);
  void add_storage(FamilyList& out) const;
  void add_workflow_ends(FamilyList& out) const;
  void add_http(FamilyList& out) const;
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

void Metrics::durable(Seq, const core::EventBatch& batch) {
  impl_->commit_events.observe(static_cast<double>(batch.events.size()));
  for (const core::Event& event : batch.events) {
    const auto* const set = std::get_if<core::WorkflowSet>(&event);
    if (set != nullptr && set->change == core::WorkflowChange::kEnded) {
      impl_->note_end(set->workflow);
    }
  }
}

void Metrics::Impl::note_end(const core::Workflow& workflow) {
  increment(workflows_ended[static_cast<std::size_t>(workflow.state)]);
  const Duration took = *workflow.ended_at - workflow.created_at;
  workflow_seconds.observe(std::chrono::duration<double>(took).count());
}

void Metrics::committed(std::chrono::nanoseconds took, std::size_t body_bytes,
                        std::size_t requests) {
  impl_->commit_seconds.observe(to_seconds(took));
  impl_->recent_commits.add(took);
  impl_->commit_bytes.observe(static_cast<double>(body_bytes));
  impl_->commit_requests.observe(static_cast<double>(requests));
}

void Metrics::append_failed(store::AppendOutcome outcome) {
  increment(impl_->append_failures[static_cast<std::size_t>(outcome)]);
}

void Metrics::flushed(std::chrono::nanoseconds took, std::size_t jobs, bool ok) {
  impl_->flush_seconds.observe(to_seconds(took));
  if (ok) {
    impl_->flush_jobs.observe(static_cast<double>(jobs));
  } else {
    increment(impl_->flush_failures);
  }
}

void Metrics::answered(const http::RequestRecord& record) {
  const std::size_t row = record.route != nullptr ? row_of(*record.route) : kRouteRows - 1;
  const int status_class = record.status / 100;
  if (status_class >= 1 && status_class <= static_cast<int>(kStatusClasses)) {
    increment(impl_->routes[row].statuses[static_cast<std::size_t>(status_class - 1)]);
  }
  impl_->routes[row].seconds.observe(to_seconds(record.duration));
  increment(impl_->received_bytes, record.received_bytes);
  increment(impl_->sent_bytes, record.sent_bytes);
  if (!record.problem.empty()) {
    const MutexLock lock(impl_->mutex);
    auto at = impl_->problems.find(record.problem);
    if (at == impl_->problems.end()) at = impl_->problems.emplace(record.problem, 0).first;
    ++at->second;
  }
}

void Metrics::connection(Connection what) {
  switch (what) {
    case Connection::kOpened:
      increment(impl_->connections_opened);
      return;
    case Connection::kRefused:
      increment(impl_->connections_refused);
      return;
    case Connection::kClosed:
      increment(impl_->connections_closed);
      return;
  }
}

void Metrics::streamed(Streamed what) { increment(impl_->streams[static_cast<std::size_t>(what)]); }

void Metrics::Impl::add_storage(FamilyList& out) const {
  out.histogram("commit_seconds", "Time of one append to the journal, including its sync.");
  commit_seconds.add_to(out);
  out.histogram("commit_bytes", "Size of one journal row.");
  commit_bytes.add_to(out);
  out.histogram("commit_requests", "Requests committed by one journal row.");
  commit_requests.add_to(out);
  out.histogram("commit_events", "Events in one journal row.");
  commit_events.add_to(out);
  out.counter("append_failures_total", "Failed appends to the journal, by outcome.");
  for (std::size_t i = 0; i < kAppendOutcomes; ++i) {
    const auto outcome = static_cast<store::AppendOutcome>(i);
    if (outcome == store::AppendOutcome::kDurable) continue;
    out.value(read(append_failures[i]), {{"outcome", std::string(name_of(outcome))}});
  }
  out.histogram("flush_seconds", "Time of one flush of changed jobs to the tables.");
  flush_seconds.add_to(out);
  out.histogram("flush_jobs", "Jobs written by one flush.");
  flush_jobs.add_to(out);
  out.counter("flush_failures_total", "Flushes that failed; the server retries each.");
  out.value(read(flush_failures));
}

void Metrics::Impl::add_workflow_ends(FamilyList& out) const {
  out.counter("workflows_ended_total", "Ends of workflows, by state.");
  for (std::size_t i = 0; i < workflows_ended.size(); ++i) {
    const auto state = static_cast<terms::WorkflowState>(i);
    if (!terms::has_ended(state)) continue;
    out.value(read(workflows_ended[i]), {{"state", std::string(terms::name_of(state))}});
  }
  out.histogram("workflow_seconds", "Time from the creation of a workflow to its end.");
  workflow_seconds.add_to(out);
}

void Metrics::Impl::add_http(FamilyList& out) const {
  out.counter("http_requests_total", "Answered requests, by route and class of status.");
  for (std::size_t row = 0; row < kRouteRows; ++row) {
    for (std::size_t i = 0; i < kStatusClasses; ++i) {
      const double count = read(routes[row].statuses[i]);
      if (count == 0) continue;
      Labels labels = route_labels(row);
      labels.emplace_back("status", fmt::format("{}xx", i + 1));
      out.value(count, std::move(labels));
    }
  }
  out.histogram("http_request_seconds",
                "Time from the complete request head to the written answer.");
  for (std::size_t row = 0; row < kRouteRows; ++row) {
    if (!routes[row].seconds.empty()) routes[row].seconds.add_to(out, route_labels(row));
  }
  out.counter("http_problems_total", "Answers with a problem, by code.");
  {
    const MutexLock lock(mutex);
    for (const auto& [code, count] : problems) {
      out.value(static_cast<double>(count), {{"code", code}});
    }
  }
  out.counter("http_received_bytes_total", "Bytes of request bodies.");
  out.value(read(received_bytes));
  out.counter("http_sent_bytes_total", "Bytes of answers' bodies.");
  out.value(read(sent_bytes));
  out.gauge("http_connections", "Open connections.");
  out.value(read(connections_opened) - read(connections_closed));
  const auto count_of = [this](Streamed what) {
    return read(streams[static_cast<std::size_t>(what)]);
  };
  const double ended = count_of(Streamed::kEnded), cut_off = count_of(Streamed::kCutOff);
  out.gauge("event_streams", "Open streams of events.");
  out.value(std::max(0.0, count_of(Streamed::kOpened) - ended - cut_off));
  out.counter("event_streams_ended_total", "Streams of events that have ended, by how.");
  out.value(ended, {{"how", "closed"}});
  out.value(cut_off, {{"how", "cut_off"}});
  out.counter("http_connections_refused_total",
              "Connections that the server closed because there were too many.");
  out.value(read(connections_refused));
}

std::optional<RecentTimes::Summary> Metrics::recent_commits() const {
  return impl_->recent_commits.summary();
}

std::string Metrics::text(const Sources& sources, const QueueSample& sample) const {
  FamilyList out;
  add_snapshot(out, sources, sample);
  impl_->add_workflow_ends(out);
  impl_->add_storage(out);
  impl_->add_http(out);
  add_push(out, sources.push);
  if (sources.traces) add_traces(out, *sources.traces);
  return prometheus::TextSerializer().Serialize(out.families());
}

}  // namespace millrace::server
