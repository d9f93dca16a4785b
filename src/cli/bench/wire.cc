#include "cli/bench/wire.h"

#include <fmt/format.h>

#include <charconv>
#include <cstring>
#include <iterator>
#include <numeric>

#include "base/check.h"

namespace millrace::cli {
namespace {

constexpr std::size_t kStampDigits = 16;  // a time in microseconds
constexpr std::size_t kFairKeyDigits = 6;

// Writes the last `digits` digits of the number.
void write_digits(char* begin, std::size_t digits, std::uint64_t number) {
  for (char* at = begin + digits; at != begin; number /= 10) {
    *--at = static_cast<char>('0' + number % 10);
  }
}

template <typename Number>
std::optional<Number> read_number(std::string_view text) {
  Number number{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  return fault == std::errc{} ? std::optional(number) : std::nullopt;
}

}  // namespace

JobsBody::JobsBody(const JobShape& shape, int jobs) {
  MILLRACE_CHECK(shape.payload_bytes >= kLeastPayload && jobs > 0);
  const std::string padding(shape.payload_bytes - kLeastPayload, 'x');
  const std::string priority =
      shape.priority == 0 ? "" : fmt::format(R"("priority":{},)", shape.priority);
  if (jobs > 1) text_ = R"({"jobs":[)";
  for (int i = 0; i < jobs; ++i) {
    text_ += fmt::format(R"({}{{"type":"{}","queue":"{}",{})", i == 0 ? "" : ",", shape.type,
                         shape.queue, priority);
    if (shape.has_run_at) {
      text_ += R"("run_at":")";
      run_ats_.push_back(text_.size());
      text_ += std::string(kRfc3339Size, '0') + R"(",)";
    }
    if (shape.has_fair_key) {
      text_ += R"("fair_key":")";
      fair_keys_.push_back(text_.size());
      text_ += std::string(kFairKeyDigits, '0') + R"(",)";
    }
    text_ += R"("payload":")";
    stamps_.push_back(text_.size());
    text_ += std::string(kStampDigits, '0') + padding + R"("})";
  }
  if (jobs > 1) text_ += "]}";
}

void JobsBody::stamp(std::size_t i, std::uint64_t time_us) {
  write_digits(text_.data() + stamps_[i], kStampDigits, time_us);
}

void JobsBody::stamp_all(std::uint64_t time_us) {
  stamp(0, time_us);
  const char* const first = text_.data() + stamps_.front();
  for (std::size_t i = 1; i < stamps_.size(); ++i) {
    std::memcpy(text_.data() + stamps_[i], first, kStampDigits);
  }
}

void JobsBody::set_run_at(std::size_t i, Time time) {
  format_rfc3339_to(time, text_.data() + run_ats_[i]);
}

void JobsBody::set_fair_key(std::size_t i, std::uint64_t key) {
  write_digits(text_.data() + fair_keys_[i], kFairKeyDigits, key);
}

bool all_submitted(const BenchConnection::Answer& answer, int jobs) {
  if (jobs == 1) return answer.status == 201;
  return answer.status == 200 &&
         count(answer.body, R"("status":201)") == static_cast<std::size_t>(jobs);
}

std::optional<std::vector<std::size_t>> refused_for_now(const BenchConnection::Answer& answer,
                                                        int jobs) {
  std::vector<std::size_t> refused;
  if (all_submitted(answer, jobs)) return refused;
  const auto all = static_cast<std::size_t>(jobs);
  if (is_refusal_for_now(answer.status)) {
    refused.resize(all);
    std::iota(refused.begin(), refused.end(), std::size_t{0});
    return refused;
  }
  // Once per job; an error's own status is not its first member.
  constexpr std::string_view kResult = R"({"status":)";
  std::size_t place = 0;
  for (std::size_t at = 0; (at = find(answer.body, kResult, at)) != std::string_view::npos;
       ++place) {
    at += kResult.size();
    const int status = read_number<int>(answer.body.substr(at)).value_or(0);
    if (status == 201) continue;
    if (!is_refusal_for_now(status)) return std::nullopt;
    refused.push_back(place);
  }
  if (answer.status != 200 || place != all) return std::nullopt;
  return refused;
}

std::size_t find(std::string_view text, std::string_view wanted, std::size_t from) {
  const void* at = memmem(text.data() + from, text.size() - from, wanted.data(), wanted.size());
  if (at == nullptr) return std::string_view::npos;
  return static_cast<std::size_t>(static_cast<const char*>(at) - text.data());
}

std::size_t count(std::string_view text, std::string_view wanted) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = find(text, wanted, at)) != std::string_view::npos; ++found) {
    at += wanted.size();
  }
  return found;
}

std::optional<std::uint64_t> number_after(std::string_view text, std::string_view mark) {
  const std::size_t at = find(text, mark);
  if (at == std::string_view::npos) return std::nullopt;
  return read_number<std::uint64_t>(text.substr(at + mark.size()));
}

void add_ack(std::string& acks, const HandedOut& job) {
  if (!acks.empty()) acks += ',';
  fmt::format_to(std::back_inserter(acks), R"({{"id":"{}","token":{},"outcome":"succeeded"}})",
                 job.id, job.token);
}

Error unexpected_answer(std::string_view to, const BenchConnection::Answer& answer) {
  return {fmt::format("the server answered {} with {}: {}", to, answer.status,
                      answer.body.substr(0, 300))};
}

std::optional<double> metric_value(std::string_view metrics, std::string_view name) {
  while (!metrics.empty()) {
    const std::size_t end = std::min(metrics.find('\n'), metrics.size());
    std::string_view line = metrics.substr(0, end);
    metrics.remove_prefix(std::min(end + 1, metrics.size()));
    if (!line.starts_with(name)) continue;
    line.remove_prefix(name.size());
    if (line.starts_with(' ')) return read_number<double>(line.substr(1));
  }
  return std::nullopt;
}

}  // namespace millrace::cli
