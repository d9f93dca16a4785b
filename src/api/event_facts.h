// What an event says besides its type: its member `data`.
#pragma once

#include "base/json_writer.h"
#include "terms/event_facts.h"

namespace millrace::api {

// A JSON object.
void encode(JsonWriter& json, const terms::EventFacts& facts);

}  // namespace millrace::api
