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
constexpr int kFormatField = 1;
constexpr int kJobField = 2;
constexpr int kNamesField = 3;
constexpr int kPoliciesField = 4;

std::unexpected<UnreadableSubmission> damaged(std::string problem) {
  return std::unexpected(UnreadableSubmission{false, "damaged submission: " + problem});
}

}  // namespace

EventFormat format_of(const core::JobSpec& spec) {
  if (is_of_tomorrow(spec.type.view())) return kFormatOfTomorrow;
  const bool member = spec.extras != nullptr && spec.extras->member != nullptr;
  return member ? EventFormat::kWorkflows : EventFormat::kFirst;
}

void encode_submission(const core::JobSpec& spec, std::string& out) {
  MILLRACE_CHECK(spec.key == nullptr);  // an ack's jobs have none
  SharedPartsWriter shared;
  WireWriter wire(out, Time{}, &shared);
  wire.number(kFormatField, format_of(spec));
  wire.message(kJobField, spec);
  wire.bytes(kNamesField, shared.names());
  for (const auto& policy : shared.policies()) wire.message(kPoliciesField, *policy);
  wire.finish();
}

std::expected<core::JobSpec, UnreadableSubmission> decode_submission(std::string_view body) {
  WireReader wire(body, Time{});
  EventFormat format{};
  wire.number(kFormatField, format);
  if (wire.ok() && format > kNewestEventFormat) {
    return std::unexpected(UnreadableSubmission{
        true,
        fmt::format(
            "the submission has format {}, and this version reads up to {}; upgrade this node",
            static_cast<std::uint32_t>(format), static_cast<std::uint32_t>(kNewestEventFormat))});
  }
  std::string_view job_body;
  const bool found = wire.take_raw(kJobField, job_body);
  SharedPartsReader shared;
  wire.bytes(kNamesField, shared.names);
  std::vector<core::RetryPolicy> policies;
  wire.message(kPoliciesField, policies);
  wire.expect_end();
  if (!wire.ok()) return damaged(wire.problem());
  if (!found) return damaged("the job is missing");
  for (core::RetryPolicy& policy : policies) shared.policies.push_back(share(std::move(policy)));

  core::JobSpec spec;
  WireReader reader(job_body, Time{}, &shared);
  describe(reader, spec);
  reader.expect_end();
  if (!reader.ok()) return damaged(reader.problem());
  if (format != format_of(spec)) {
    return damaged("the job does not match the format that the submission names");
  }
  return spec;
}

}  // namespace millrace::store
