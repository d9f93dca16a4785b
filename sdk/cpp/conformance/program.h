// The program that the conformance suite plays with: commands come in on standard input, answers
// and events go out on standard output, one JSON object a line.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "millrace/client.h"
#include "millrace/json.h"
#include "millrace/worker.h"

namespace millrace::conformance {

// Writes one line at a time. Thread-safe.
void emit(std::string_view line);

// {"event": NAME, ...} with what `fill` adds.
void emit_event(std::string_view name, const std::function<void(sdk::JsonWriter&)>& fill);

// Writes "error": {...} or its value alone.
void write_error(sdk::JsonWriter& json, const sdk::Error& error);

// Text members of a command that may be missing.
std::string text_of(sdk::JsonView value);
sdk::Milliseconds ms_of(sdk::JsonView value, std::int64_t otherwise);
std::vector<std::string> texts_of(sdk::JsonView value);

// A call of the client: the answer as JSON. `name` is the command's "do".
sdk::Result<std::string> call(sdk::Client& client, std::string_view name, sdk::JsonView command);

// The scripted handler.
sdk::Outcome play(sdk::Client& client, sdk::Context& context, const std::string& worker);

}  // namespace millrace::conformance
