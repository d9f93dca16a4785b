#include "store/submission_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/check.h"
#include "core/command_fields.h"
#include "store/record_wire.h"
#include "store/wire_reader.h"
#include "store/wire_writer.h"

namespace millrace::store {
namespace {

// Of Submission.
constexpr int kRequestField = 1;
constexpr int kNamesField = 2;
constexpr int kPoliciesField = 3;
constexpr int kFormatField = 4;

// The job, and the messages around it. These are from a request of the first nodes, which was
// stored as sent; every program writes the same values into them. `Spec` is const for the writer.
template <typename Spec>
struct NewJob {
  Spec& job;
};
template <typename Spec>
struct Jobs {
  Spec& job;
};
template <typename Spec>
struct Command {
  Spec& job;
};
template <typename Spec>
struct Request {
  Spec& job;
};

template <typename Wire, typename Spec>
void describe(Wire& wire, const NewJob<Spec>& message) {
  describe(wire, message.job);
}

template <typename Wire, typename Spec>
void describe(Wire& wire, const Jobs<Spec>& message) {
  core::Enqueue same;  // in all of them
  NewJob<Spec> job{message.job};
  wire.message(1, job);
  wire.enumeration(2, same.atomicity, core::Atomicity::kAll);
  wire.enumeration(3, same.detail, core::Detail::kJobs);
  wire.duration(5, same.key_window);
}

template <typename Wire, typename Spec>
void describe(Wire& wire, const Command<Spec>& message) {
  Jobs<Spec> jobs{message.job};
  wire.message(1, jobs);
}

template <typename Wire, typename Spec>
void describe(Wire& wire, const Request<Spec>& message) {
  Command<Spec> command{message.job};
  wire.message(1, command);
}

std::unexpected<UnreadableSubmission> damaged(std::string problem) {
  return std::unexpected(UnreadableSubmission{false, "damaged submission: " + problem});
}

}  // namespace

EventFormat format_of(const core::JobSpec& spec) {
  if (is_of_tomorrow(spec.type.view())) return kFormatOfTomorrow;
  if (core::needs_limits(spec.extras)) return EventFormat::kLimits;
  const bool scheduled = spec.extras != nullptr && !spec.extras->schedule.empty();
  return scheduled ? EventFormat::kSchedules : EventFormat::kFirst;
}

void encode_submission(const core::JobSpec& spec, std::string& out) {
  MILLRACE_CHECK(spec.key == nullptr);  // an ack's jobs have none; older programs cannot read it
  SharedPartsWriter shared;
  WireWriter wire(out, Time{}, &shared);
  wire.message(kRequestField, Request<const core::JobSpec>{spec});
  wire.bytes(kNamesField, shared.names());
  for (const auto& policy : shared.policies()) wire.message(kPoliciesField, *policy);
  const EventFormat format = format_of(spec);
  if (format != EventFormat::kFirst) wire.number(kFormatField, format);
  wire.finish();
}

std::expected<core::JobSpec, UnreadableSubmission> decode_submission(std::string_view body) {
  WireReader wire(body, Time{});
  std::string_view request_body;
  const bool found = wire.take_raw(kRequestField, request_body);
  SharedPartsReader shared;
  wire.bytes(kNamesField, shared.names);
  std::vector<core::RetryPolicy> policies;
  wire.message(kPoliciesField, policies);
  EventFormat format{};
  wire.number(kFormatField, format);
  format = std::max(format, EventFormat::kFirst);
  if (wire.ok() && format > kNewestEventFormat) {
    return std::unexpected(UnreadableSubmission{
        true,
        fmt::format(
            "the submission has format {}, and this version reads up to {}; upgrade this node",
            static_cast<std::uint32_t>(format), static_cast<std::uint32_t>(kNewestEventFormat))});
  }
  wire.expect_end();
  if (!wire.ok()) return damaged(wire.problem());
  if (!found) return damaged("the request is missing");
  for (core::RetryPolicy& policy : policies) shared.policies.push_back(share(std::move(policy)));

  core::JobSpec spec;
  WireReader reader(request_body, Time{}, &shared);
  describe(reader, Request<core::JobSpec>{spec});
  reader.expect_end();
  if (!reader.ok()) return damaged(reader.problem());
  if (format != format_of(spec))
    return damaged("the job does not match the format that the submission names");
  return spec;
}

}  // namespace millrace::store
