#include "api/push_call.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "base/ascii.h"
#include "base/json_check.h"
#include "base/utf8.h"

namespace millrace::api {
namespace {

constexpr std::size_t kResultDepth = 64;

// Escaped as CloudEvents requires in headers: quotes, "%", and all but visible ASCII.
std::string header_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c > ' ' && c <= '~' && c != '"' && c != '%') {
      out += c;
    } else {
      out += '%';
      const auto byte = static_cast<unsigned char>(c);
      for (const int digit : {byte >> 4, byte & 15}) {
        out += "0123456789ABCDEF"[digit];
      }
    }
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_json_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_json_space(text.back())) text.remove_suffix(1);
  return text;
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// "Sun, 06 Nov 1994 08:49:37 GMT", the only form that RFC 9110 lets senders generate.
std::optional<Time> http_date(std::string_view text) {
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (text.size() != 29 || text.substr(3, 2) != ", " || text[7] != ' ' || text[11] != ' ' ||
      text[16] != ' ' || text.substr(25) != " GMT") {
    return std::nullopt;
  }
  const std::size_t month = kMonths.find(text.substr(8, 3));
  if (month == std::string_view::npos || month % 3 != 0) return std::nullopt;
  std::string rfc3339(text.substr(12, 4));
  rfc3339 += month / 3 < 9 ? "-0" : "-";
  rfc3339 += std::to_string(month / 3 + 1);
  rfc3339 += '-';
  rfc3339 += text.substr(5, 2);
  rfc3339 += 'T';
  rfc3339 += text.substr(17, 8);
  rfc3339 += 'Z';
  return parse_rfc3339(rfc3339);
}

std::optional<Duration> retry_after(std::string_view header, Time now) {
  const std::string_view text = trimmed(header);
  if (text.empty()) return std::nullopt;
  std::optional<std::int64_t> ms;
  if (std::ranges::all_of(text, is_digit)) {
    const auto seconds = number_of(text.substr(0, 9));
    ms = text.size() > 9 ? kMaxRetryAfterMs : *seconds * 1'000;
  } else if (const auto at = http_date(text)) {
    ms = (*at - now).count();
  }
  if (!ms) return std::nullopt;
  return Duration{std::clamp(*ms, kMinSnoozeMs, kMaxRetryAfterMs)};
}

// The start of the body as readable text, whatever bytes it contains.
std::string excerpt(const PushAnswer& answer) {
  std::string clean(trimmed(answer.body).substr(0, kPushErrorBytes));
  for (char& c : clean) {
    if ((static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f) c = ' ';
  }
  std::string out;
  append_as_utf8(out, clean);
  return out;
}

PushVerdict with_error(PushEnd end, const PushAnswer& answer) {
  PushVerdict verdict{.end = end};
  verdict.error_type = "http_" + std::to_string(answer.status);
  verdict.error_message = "the receiver answered " + std::to_string(answer.status);
  const bool is_redirect = answer.status >= 300 && answer.status <= 399;
  if (is_redirect) verdict.error_message += ", and redirects are not followed";
  const std::string text = excerpt(answer);
  if (!text.empty()) verdict.error_message += ": " + text;
  return verdict;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> push_headers(const PushedJob& job) {
  std::vector<std::pair<std::string, std::string>> headers = {
      {"content-type", "application/json"},
      {"ce-specversion", "1.0"},
      {"ce-id", header_value(job.id)},
      {"ce-source", header_value("/v1/queues/" + std::string(job.queue))},
      {"ce-type", header_value(job.type)},
      {"ce-millracequeue", header_value(job.queue)},
      {"ce-millraceattempt", std::to_string(job.attempt)},
      {"millrace-job-id", header_value(job.id)},
      {"millrace-token", std::to_string(job.token)},
      {"millrace-attempt", std::to_string(job.attempt)},
      {"millrace-timeout-ms", std::to_string(job.timeout.count())},
  };
  if (job.created_at) headers.emplace_back("ce-time", format_rfc3339(*job.created_at));
  if (!job.schedule.empty()) {
    headers.emplace_back("ce-millraceschedule", header_value(job.schedule));
  }
  if (!job.traceparent.empty()) {
    headers.emplace_back("traceparent", header_value(job.traceparent));
    headers.emplace_back("ce-traceparent", header_value(job.traceparent));
    if (!job.tracestate.empty()) headers.emplace_back("tracestate", header_value(job.tracestate));
  }
  return headers;
}

std::string_view name_of(PushEnd end) {
  constexpr std::array<std::string_view, 6> kNames = {"succeeded", "accepted", "dead",
                                                      "dead",      "snoozed",  "failed"};
  return kNames.at(static_cast<std::size_t>(end));
}

PushVerdict judge_push_answer(const PushAnswer& answer, Time now, std::size_t max_result_bytes) {
  switch (answer.status) {
    case 202:
      return {.end = PushEnd::kAccepted};
    case 409:
    case 422:
      return with_error(PushEnd::kDead, answer);
    case 410:
      return with_error(PushEnd::kDeadAndDisabled, answer);
    case 429:
    case 503:
      if (const auto delay = retry_after(answer.retry_after, now)) {
        return {.end = PushEnd::kSnoozed, .delay = *delay};
      }
      return with_error(PushEnd::kFailed, answer);
    default:
      break;
  }
  if (answer.status < 200 || answer.status > 299) return with_error(PushEnd::kFailed, answer);
  PushVerdict verdict{.end = PushEnd::kSucceeded};
  const std::string_view json = trimmed(answer.body);
  if (!answer.is_cut && !json.empty() && json.size() <= max_result_bytes &&
      !check_json(json, kResultDepth, LoneSurrogates::kRefused)) {
    verdict.result = json;
  }
  return verdict;
}

}  // namespace millrace::api
