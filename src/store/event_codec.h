// Event batches as bytes: what a journal row's body holds. events.proto is the format's truth; a
// body is its canonical form (fields in ascending order, defaults left out), so equal batches give
// equal bytes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/tomorrow.h"
#include "core/event.h"

namespace millrace::store {

// The format level that a body carries. A reader knows all levels up to its own newest one. One of
// which no body is says that a node knows a kind of row of the inbox.
enum class EventFormat : std::uint32_t {
  kFirst = 1,
  kFinished = 2,      // jobs that are finished by a transaction
  kFences = 3,        // of rows of the inbox: InboxKind::kFence
  kQueueDeleted = 4,  // deleted queues
};
inline constexpr EventFormat kNewestFormatOfToday = EventFormat::kQueueDeleted;
inline constexpr EventFormat kFormatOfTomorrow{static_cast<std::uint32_t>(kNewestFormatOfToday) +
                                               1};
inline constexpr EventFormat kNewestEventFormat =
    kOfTomorrow ? kFormatOfTomorrow : kNewestFormatOfToday;

// The oldest level that can say it: a batch is written at that one, so that an older program stops
// at the first batch that it would not understand, and not before.
EventFormat format_of(const core::EventBatch& batch);

// Replaces `out`, whose capacity is kept. Thread-safe.
void encode_events(const core::EventBatch& batch, std::string& out);

// All or nothing: an unknown level, event, field or enum value fails with a message that says
// where, and so does a field that is missing, repeated or out of order. Thread-safe.
Result<core::EventBatch> decode_events(std::string_view body);

}  // namespace millrace::store
