// Event batches as bytes: the body of a journal row. events.proto defines the format. A body is in
// canonical form (fields in ascending order, defaults left out), so equal batches give equal bytes.
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
  kFirst = 1,  // everything that 0.1.0 stores
};
inline constexpr EventFormat kNewestFormatOfToday = EventFormat::kFirst;
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
