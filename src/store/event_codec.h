// Event batches as bytes: the body of a journal row. events.proto defines the format. A body is in
// canonical form (fields in ascending order, defaults left out), so equal batches give equal bytes.
//
//   body   := format at event* name* policy*  the fields 1 to 5 of EventBatch
//   event  := key length record               number: 1 + the place of its kind in core::Event
//   record := field*                          in ascending order of the numbers
//   field  := key value
//   key    := varint                          number << 3 | wire type
//   value  := varint                          wire type 0: numbers, enumerations, times, references
//           | 8 bytes                         wire type 1: fixed64 and double, little-endian
//           | length bytes                    wire type 2: bytes, records
//   length := varint
//   varint := 7 bits a byte, the lowest first; the high bit says that another byte follows
//
// For example: at 1,000 ms a user deleted the schedule "s", whose jobs went to the queue "q".
//
//   08 01           format = 1
//   10 e8 07        at = 1,000
//   1a 08           an event of 8 bytes
//     ba 01 05        its field 23, schedule_deleted, has 5 bytes
//       0a 01 73        name = "s"
//       10 01           queue = names[1 - 1]
//   22 01 71        names[0] = "q"
//
// decode_events() makes a core::ScheduleDeleted of it, and core::Applier (core/applier.h) takes the
// schedule out of ShardState. event_codec_test.cc holds these bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/tomorrow.h"
#include "core/event.h"

namespace millrace::store {

// The format level of a body. A reader knows all levels up to its own newest one. A later level is
// called by the feature that brings it.
enum class EventFormat : std::uint32_t {
  kFirst = 1,      // everything that 0.1.0 stores
  kWorkflows = 2,  // workflows, and the jobs of their members
};
inline constexpr EventFormat kNewestFormatOfToday = EventFormat::kWorkflows;
inline constexpr EventFormat kFormatOfTomorrow{static_cast<std::uint32_t>(kNewestFormatOfToday) +
                                               1};
inline constexpr EventFormat kNewestEventFormat =
    kOfTomorrow ? kFormatOfTomorrow : kNewestFormatOfToday;

// The oldest level that can express the batch. The batch is written at this level, so that an older
// program stops only at the first batch that it would not understand.
EventFormat format_of(const core::EventBatch& batch);

// Replaces the content of `out` and keeps its capacity. Thread-safe.
void encode_events(const core::EventBatch& batch, std::string& out);

// All or nothing: an unknown level, event, field or enum value fails, as does a field that is
// missing, repeated or out of order. The error message names the place. Thread-safe.
Result<core::EventBatch> decode_events(std::string_view body);

}  // namespace millrace::store
