#include "server/metrics/trace_metrics.h"

namespace millrace::server {

void add_traces(FamilyList& out, const TraceCounts& counts) {
  const auto number = [](std::uint64_t n) { return static_cast<double>(n); };
  out.counter("trace_spans_total", "Spans of jobs, by what became of them.");
  out.value(number(counts.exported), {{"outcome", "exported"}});
  out.value(number(counts.dropped_full), {{"outcome", "dropped_full"}});
  out.value(number(counts.dropped_refused), {{"outcome", "dropped_refused"}});
  out.value(number(counts.dropped_late), {{"outcome", "dropped_late"}});
  out.value(number(counts.dropped_unknown), {{"outcome", "dropped_unknown"}});
  out.gauge("trace_spans_queued", "Facts of jobs that wait to be made spans.")
      .value(number(counts.queued));
  out.counter("trace_requests_total", "Requests to the collector of traces.");
  out.value(number(counts.requests));
  out.counter("trace_request_failures_total", "Those that it did not answer with success.");
  out.value(number(counts.failures));
}

}  // namespace millrace::server
