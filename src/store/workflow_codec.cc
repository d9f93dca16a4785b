#include "store/workflow_codec.h"

#include <fmt/format.h>

#include <cstdint>
#include <utility>

#include "base/check.h"
#include "core/command_fields.h"
#include "store/record_wire.h"
#include "store/wire_reader.h"
#include "store/wire_writer.h"

namespace millrace::store {
namespace {

// Of WorkflowBox.
constexpr int kFormatField = 1;
constexpr int kWorkflowField = 2;
constexpr int kNamesField = 3;

std::unexpected<UnreadableSubmission> damaged(std::string problem) {
  return std::unexpected(UnreadableSubmission{false, "damaged workflow: " + problem});
}

}  // namespace

void encode_workflow(const core::CreateWorkflow& workflow, std::string& out) {
  MILLRACE_CHECK(workflow.key == nullptr && workflow.by == nullptr);
  SharedPartsWriter shared;
  WireWriter wire(out, Time{}, &shared);
  wire.number(kFormatField, EventFormat::kWorkflows);
  wire.message(kWorkflowField, workflow);
  wire.bytes(kNamesField, shared.names());
  wire.finish();
}

std::expected<core::CreateWorkflow, UnreadableSubmission> decode_workflow(std::string_view body) {
  WireReader wire(body, Time{});
  EventFormat format{};
  wire.number(kFormatField, format);
  if (wire.ok() && format > kNewestEventFormat) {
    return std::unexpected(UnreadableSubmission{
        true,
        fmt::format(
            "the workflow has format {}, and this version reads up to {}; upgrade this node",
            static_cast<std::uint32_t>(format), static_cast<std::uint32_t>(kNewestEventFormat))});
  }
  std::string_view workflow_body;
  const bool found = wire.take_raw(kWorkflowField, workflow_body);
  SharedPartsReader shared;
  wire.bytes(kNamesField, shared.names);
  wire.expect_end();
  if (!wire.ok()) return damaged(wire.problem());
  if (!found) return damaged("it is empty");

  core::CreateWorkflow workflow;
  WireReader reader(workflow_body, Time{}, &shared);
  describe(reader, workflow);
  reader.expect_end();
  if (!reader.ok()) return damaged(reader.problem());
  if (workflow.key != nullptr || workflow.by != nullptr) {
    return damaged("it has an idempotency key or an origin");
  }
  if (format != EventFormat::kWorkflows) return damaged("it is not of the format that it names");
  return workflow;
}

}  // namespace millrace::store
