// The blobs of the tables: encodes values as messages, and decodes them. Errors don't name the row;
// the caller adds it.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "base/result.h"
#include "core/audit/audit_fields.h"
#include "core/catalog/catalog_fields.h"
#include "core/changes_fields.h"
#include "core/flow/limit_fields.h"
#include "core/flow/share_fields.h"
#include "core/queues/queue_fields.h"
#include "core/schedules/schedule_fields.h"
#include "core/workflows/workflow_fields.h"
#include "store/record_wire.h"
#include "store/shared_parts.h"
#include "store/wire_reader.h"
#include "store/wire_writer.h"

namespace millrace::store {

// The ended leases of one flush.
struct EndedLeases {
  std::vector<core::EndedLease> items;
};
constexpr auto describe(core::Of<EndedLeases>) {
  return std::tuple(core::Field(1, &EndedLeases::items));
}

template <typename Value>
void encode_value(const Value& value, Time base, std::string& out) {
  WireWriter wire(out, base);
  describe(wire, value);
  wire.finish();
}

template <typename Value>
Status decode_value(std::string_view blob, Time base, Value&& value) {
  WireReader wire(blob, base);
  describe(wire, value);
  wire.expect_end();
  if (!wire.ok()) return failure(fmt::format("damaged: {}", wire.problem()));
  return {};
}

// The same for a value that refers to names: WorkflowRow and MemberChunkRow of events.proto.
template <typename Value>
void encode_with_names(const Value& value, Time base, std::string& out) {
  SharedPartsWriter shared;
  WireWriter wire(out, base, &shared);
  wire.message(1, value);
  wire.bytes(2, shared.names());
  wire.finish();
}

template <typename Value>
Status decode_with_names(std::string_view blob, Time base, Value& value) {
  WireReader row(blob, base);
  std::string_view body;
  const bool found = row.take_raw(1, body);
  SharedPartsReader shared;
  row.bytes(2, shared.names);
  row.expect_end();
  if (!row.ok()) return failure(fmt::format("damaged: {}", row.problem()));
  if (!found) return failure("damaged: missing field 1");
  WireReader wire(body, base, &shared);
  describe(wire, value);
  wire.expect_end();
  if (!wire.ok()) return failure(fmt::format("damaged: {}", wire.problem()));
  return {};
}

}  // namespace millrace::store
