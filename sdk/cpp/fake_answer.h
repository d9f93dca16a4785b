// Requests to a Fake, and its answers.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/job.h"
#include "millrace/json.h"
#include "millrace/transport.h"

namespace millrace::sdk {

// Why the fake refuses a request.
struct FakeRefusal {
  int status = 404;
  std::string code = "not_found";
  std::string detail = "there is no such job";
  std::vector<FieldError> errors{};
};

inline constexpr std::string_view kNoSuchCall = "the fake has no such call; use a server for it";

// The problem as JSON.
std::string problem_of(const FakeRefusal& refusal);
Response refused(const FakeRefusal& refusal);
// 422 with the faults.
FakeRefusal faulty(std::vector<FieldError> faults);
Response json_response(int status, std::string body);

std::string url_decode(std::string_view text);
// The parts of `text` between the characters `at`; none if it is empty.
std::vector<std::string> split(std::string_view text, char at);
// The parameter `name` of a query; empty if there is none.
std::string parameter(std::string_view query, std::string_view name);
// Whether the parameter `name`, a list, has `value`.
bool includes(std::string_view query, std::string_view name, std::string_view value);
// Whether the parameter `name`, a list, is empty or has one of `values`.
bool matches(std::string_view query, std::string_view name, const std::vector<std::string>& values);
// Empty: no such header.
std::string header_of(const Request& request, std::string_view name);

void write(JsonWriter& json, std::string_view name, const std::optional<Timestamp>& time);
void write(JsonWriter& json, std::string_view name, const std::optional<Milliseconds>& time);
// An empty text is null.
void write(JsonWriter& json, std::string_view name, const std::string& text);

}  // namespace millrace::sdk
