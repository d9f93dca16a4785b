#include "fake_answer.h"

#include <fmt/format.h>

#include <algorithm>

namespace millrace::sdk {

std::string problem_of(const FakeRefusal& refusal) {
  JsonWriter json;
  json.begin_object().key("status").integer(refusal.status).key("code").string(refusal.code);
  json.key("detail").string(refusal.detail);
  if (!refusal.errors.empty()) {
    json.key("errors").begin_array();
    for (const FieldError& fault : refusal.errors) {
      json.begin_object().key("pointer").string(fault.where);
      json.key("detail").string(fault.detail).end_object();
    }
    json.end_array();
  }
  return json.end_object().take();
}

Response refused(const FakeRefusal& refusal) {
  return json_response(refusal.status, problem_of(refusal));
}

FakeRefusal faulty(std::vector<FieldError> faults) {
  return {422, "validation_failed", "the request has faults", std::move(faults)};
}

Response json_response(int status, std::string body) {
  return {.status = status, .body = std::move(body)};
}

std::string url_decode(std::string_view text) {
  const auto digit = [](char c) { return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10; };
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%' || i + 2 >= text.size()) {
      out += text[i];
      continue;
    }
    out += static_cast<char>(digit(text[i + 1]) << 4 | digit(text[i + 2]));
    i += 2;
  }
  return out;
}

std::vector<std::string> split(std::string_view text, char at) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(at), text.size());
    parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

std::string parameter(std::string_view query, std::string_view name) {
  for (const std::string& pair : split(query, '&')) {
    const std::size_t equals = pair.find('=');
    if (equals == name.size() && pair.starts_with(name)) return url_decode(pair.substr(equals + 1));
  }
  return {};
}

bool includes(std::string_view query, std::string_view name, std::string_view value) {
  const auto values = split(parameter(query, name), ',');
  return std::ranges::find(values, value) != values.end();
}

bool matches(std::string_view query, std::string_view name,
             const std::vector<std::string>& values) {
  return parameter(query, name).empty() ||
         std::ranges::any_of(values, [&](const auto& each) { return includes(query, name, each); });
}

std::string header_of(const Request& request, std::string_view name) {
  for (const auto& [known, value] : request.headers) {
    if (known == name) return value;
  }
  return {};
}

void write(JsonWriter& json, std::string_view name, const std::optional<Timestamp>& time) {
  json.key(name);
  time ? json.string(write_time(*time)) : json.null();
}

void write(JsonWriter& json, std::string_view name, const std::optional<Milliseconds>& time) {
  json.key(name);
  time ? json.integer(time->count()) : json.null();
}

void write(JsonWriter& json, std::string_view name, const std::string& text) {
  json.key(name);
  text.empty() ? json.null() : json.string(text);
}

}  // namespace millrace::sdk
