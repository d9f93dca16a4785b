// The program that the conformance suite controls. It reads commands from standard input, and
// writes answers and events to standard output, one JSON object per line.
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

// Writes an error's members as a JSON object.
void write_error(sdk::JsonWriter& json, const sdk::Error& error);

// Members of a command that may be missing.
std::string text_of(sdk::JsonView value);
sdk::Milliseconds ms_of(sdk::JsonView value, std::int64_t otherwise);
std::vector<std::string> texts_of(sdk::JsonView value);

// Makes a call of the client and returns the answer as JSON. `name` is the command's "do".
sdk::Result<std::string> call(sdk::Client& client, std::string_view name, sdk::JsonView command);

// The calls on workflows; none: `call` is not one of them.
std::optional<sdk::Result<std::string>> call_on_workflows(sdk::Client& client,
                                                          std::string_view call,
                                                          sdk::JsonView command);

// The scripted handler.
sdk::Outcome play(sdk::Client& client, sdk::Context& context, const std::string& worker);

}  // namespace millrace::conformance
