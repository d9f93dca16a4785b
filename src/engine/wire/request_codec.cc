#include "engine/wire/request_codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/kinds.h"
#include "engine/wire/request_fields.h"
#include "engine/wire/wire_forms.h"
#include "store/shared_parts.h"
#include "store/wire_reader.h"
#include "store/wire_writer.h"

namespace millrace::engine {
namespace {

// A message with the value, followed by the shared parts that it refers to by number, as in a batch
// of events.
constexpr int kValueField = 1;
constexpr int kNamesField = 2;
constexpr int kPoliciesField = 3;

template <typename Value>
void encode(const Value& value, std::string& out, PeerLevel level) {
  store::SharedPartsWriter shared;
  store::WireWriter wire(out, Time{}, &shared, static_cast<std::uint32_t>(level));
  wire.message(kValueField, value);
  wire.bytes(kNamesField, shared.names());
  for (const auto& policy : shared.policies()) wire.message(kPoliciesField, *policy);
  wire.finish();
}

template <typename Value>
Result<Value> decode(std::string_view body, std::string_view what) {
  store::WireReader wire(body, Time{});
  std::string_view value_body;
  const bool found = wire.take_raw(kValueField, value_body);
  store::SharedPartsReader shared;
  wire.bytes(kNamesField, shared.names);
  std::vector<core::RetryPolicy> policies;
  wire.message(kPoliciesField, policies);
  wire.expect_end();
  if (!wire.ok()) return failure(fmt::format("damaged {}: {}", what, wire.problem()));
  if (!found) return failure(fmt::format("damaged {}: the value is missing", what));
  for (core::RetryPolicy& policy : policies) {
    shared.policies.push_back(store::share(std::move(policy)));
  }
  Value value;
  store::WireReader reader(value_body, Time{}, &shared);
  describe(reader, value);
  reader.expect_end();
  if (!reader.ok()) return failure(fmt::format("damaged {}: {}", what, reader.problem()));
  return value;
}

PeerLevel level_of(const std::vector<core::JobSpec>& jobs) {
  const bool of_tomorrow = std::ranges::any_of(
      jobs, [](const core::JobSpec& spec) { return is_of_tomorrow(spec.type.view()); });
  return of_tomorrow ? kPeerLevelOfTomorrow : PeerLevel::kFirst;
}
PeerLevel level_of(const core::Ack& ack) {
  PeerLevel level = PeerLevel::kFirst;
  for (const core::AckItem& item : ack.items) {
    level = std::max(level, level_of(item.enqueue));
    const bool of_workflows = item.grow != nullptr || !item.workflows.empty();
    if (of_workflows) level = std::max(level, PeerLevel::kWorkflows);
  }
  return level;
}
bool brings_workflow(const core::Command& command) {
  if (const auto* set = std::get_if<core::SetSchedule>(&command)) {
    return !set->spec.workflow.empty();
  }
  const auto* note = std::get_if<core::NoteScheduleRun>(&command);
  return note != nullptr && note->workflow;
}

}  // namespace

PeerLevel level_of(const Request& request) {
  const PeerLevel level = facts_of(request).level;
  if (const auto* poll = std::get_if<Poll>(&request)) return std::max(level, level_of(poll->acks));
  const auto* command = std::get_if<core::Command>(&request);
  if (command == nullptr) return level;
  if (const auto* ack = std::get_if<core::Ack>(command)) return std::max(level, level_of(*ack));
  if (brings_workflow(*command)) return std::max(level, PeerLevel::kWorkflows);
  const auto* enqueue = std::get_if<core::Enqueue>(command);
  return enqueue == nullptr ? level : std::max(level, level_of(enqueue->jobs));
}

void encode_request(const Request& request, std::string& out, PeerLevel level) {
  encode(request, out, level);
}
void encode_answer(const Answer& answer, std::string& out, PeerLevel level) {
  encode(answer, out, level);
}

Result<Request> decode_request(std::string_view body) { return decode<Request>(body, "request"); }
Result<Answer> decode_answer(std::string_view body) { return decode<Answer>(body, "answer"); }

}  // namespace millrace::engine
