// The formats of the contract's lines.
#include <cstdio>

#include "program.h"

namespace millrace::conformance {

void emit(std::string_view line) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

void emit_event(std::string_view name, const std::function<void(sdk::JsonWriter&)>& fill) {
  sdk::JsonWriter json;
  json.begin_object().key("event").string(name);
  fill(json);
  emit(json.end_object().text());
}

void write_error(sdk::JsonWriter& json, const sdk::Error& error) {
  json.begin_object();
  json.key("class").string(name_of(error.problem()));
  json.key("code").string(error.code);
  json.key("status").integer(error.status);
  json.key("message").string(error.message);
  json.key("retry_after_ms");
  if (error.retry_after) {
    json.integer(error.retry_after->count());
  } else {
    json.null();
  }
  json.key("errors").begin_array();
  for (const sdk::FieldError& fault : error.errors) {
    json.begin_object().key("where").string(fault.where);
    json.key("detail").string(fault.detail).end_object();
  }
  json.end_array().key("request_id").string(error.request_id).end_object();
}

std::string text_of(sdk::JsonView value) { return value.string().value_or(""); }

sdk::Milliseconds ms_of(sdk::JsonView value, std::int64_t otherwise) {
  return sdk::Milliseconds{value.integer().value_or(otherwise)};
}

std::vector<std::string> texts_of(sdk::JsonView value) {
  std::vector<std::string> texts;
  if (value.string()) texts.push_back(text_of(value));
  for (const sdk::JsonView element : value.elements()) texts.push_back(text_of(element));
  return texts;
}

}  // namespace millrace::conformance
