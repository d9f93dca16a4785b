// Translates between the contract and the machine: api structs into core commands, core values into
// api structs. Neither room includes the other.
//
// Results for clients are views of the arguments, which must outlive them.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/job.h"
#include "api/job_calls.h"
#include "api/limit.h"
#include "api/queue.h"
#include "api/submission.h"
#include "api/worker.h"
#include "api/worker_reply.h"
#include "core/command.h"
#include "core/reply.h"
#include "engine/feed/event_feed.h"
#include "engine/reads.h"
#include "engine/request.h"
#include "engine/statistics/statistics.h"
#include "service/caller.h"
#include "service/id_maker.h"

namespace millrace::service {

// --- In.

// Makes job specifications for one request. Successive jobs usually have the same queue and type,
// so it keeps these as shared bytes from one job to the next.
class SpecMaker {
 public:
  SpecMaker(IdMaker& ids, Time now) : ids_(ids), now_(now) {}
  core::JobSpec make(const api::JobSubmission& job);
  // The request's trace headers, for jobs that have none of their own.
  void set_trace(std::string_view traceparent, std::string_view tracestate);

 private:
  static SharedBytes shared(SharedBytes& last, std::string_view text);

  IdMaker& ids_;
  Time now_;
  SharedBytes last_queue_;
  SharedBytes last_type_;
  SharedBytes traceparent_;
  SharedBytes tracestate_;
};

std::optional<std::uint32_t> to_core(const std::optional<std::int64_t>& bound);
std::vector<SharedBytes> to_shared(const std::vector<std::string>& texts);
core::AckItem to_core(const api::Ack& ack, SpecMaker& specs);
core::HeartbeatItem to_core(const api::Heartbeat& heartbeat);
core::LogItem to_core(const api::LogItem& item);
core::Claim to_core(const api::Claim& claim);
engine::WorkerInfo to_engine(const api::WorkerInfo& worker);
core::QueuePatch to_core(const api::QueueSettingsChange& change,
                         const core::Retention& default_retention);

// The filter for the engine, limited to the queues that `access` may see (null: all). A word of `q`
// that cannot be searched for is a fault of the parameter `q`.
api::Decoded<engine::JobFilter> to_engine(const api::JobFilter& filter, const Access* access);
// The states of the jobs that the filter can find.
core::StateSet states_of(const engine::JobFilter& filter);
// The filter of a purge.
engine::JobFilter jobs_of_queue(std::string_view queue, const std::vector<api::JobState>& states);

// --- Out.

api::RetryPolicy to_api(const core::RetryPolicy& policy);

// A view of it.
api::Membership to_api(const core::Membership& member);

// A job's shape for the API, which owns the text that its views refer to.
class JobShape {
 public:
  JobShape(const core::JobView& view, const api::Include& include);
  JobShape(const core::Job& job, const api::Include& include);  // for lists
  JobShape(const JobShape&) = delete;
  JobShape& operator=(const JobShape&) = delete;
  const api::Job& job() const { return job_; }

 private:
  void fill(const core::Job& job, const api::Include& include);
  api::Job job_;
  std::deque<std::string> texts_;
  std::vector<engine::FeedEvent> events_;
};

enum class Shown : std::uint8_t { kWhole, kRedacted };  // as in api::Include
inline Shown shown_to(const Caller& caller) {
  return caller.sees_payloads() ? Shown::kWhole : Shown::kRedacted;
}
// The members that the caller wants, except those it may not see.
inline api::Include shown_to(const Caller& caller, api::Include include) {
  if (caller.sees_payloads()) return include;
  include.redacted = true;
  include.payload = include.result = false;
  return include;
}
// A job's attempts, the latest included, oldest first.
std::vector<api::Attempt> attempts_of(const core::JobView& view, std::deque<std::string>& texts,
                                      Shown shown = Shown::kWhole);
std::vector<api::LogLine> logs_of(const std::vector<core::LogLine>& log,
                                  Shown shown = Shown::kWhole);
// Removes the text of an error, if there is one, from the event's facts.
void redact(engine::FeedEvent& event);
api::JobEvent to_api(const engine::FeedEvent& event);
std::vector<api::JobEvent> to_api(const std::vector<engine::FeedEvent>& events);
// No state: the job is no longer kept, "pruned".
std::string_view state_name(const std::optional<core::State>& state);
api::ClaimedJob claimed(const core::Job& job);
api::WorkerCommand to_api(const engine::WorkerCommand& order);
api::Worker to_api(const engine::WorkerView& worker);
api::Bounds to_api(const core::Bounds& bounds);
api::UniqueKey to_api(const core::UniqueRule& rule);
api::Queue to_api(const core::Queue& queue, const engine::QueueRates& rates, Time now);

// A refusal as shown to the client. `what`: the noun of the requested thing ("job").
api::Problem to_problem(const core::Refusal& refusal, std::string_view what = "job");

}  // namespace millrace::service
