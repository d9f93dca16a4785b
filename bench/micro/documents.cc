#include "documents.h"

#include <fmt/format.h>

#include "base/check.h"

namespace millrace::bench {
namespace {

constexpr std::string_view kBegin = R"({"records":[)";
constexpr std::string_view kPadding = R"(],"padding":")";
constexpr std::string_view kEnd = R"("})";

std::string record(std::size_t n) {
  return fmt::format(
      R"({{"id":{},"name":"customer {}","note":"says \"naïve\" –\n{}","ratio":{}.25e-3,)"
      R"("tags":["new","billing"],"active":{},"parent":null}})",
      n * 7'919, n, n % 97, n % 13, n % 3 == 0);
}

}  // namespace

std::string json_document(std::size_t bytes) {
  std::string text(kBegin);
  for (std::size_t n = 0;; ++n) {
    const std::string next = (n == 0 ? "" : ",") + record(n);
    if (text.size() + next.size() + kPadding.size() + kEnd.size() > bytes) break;
    text += next;
  }
  text += kPadding;
  MILLRACE_CHECK(text.size() + kEnd.size() <= bytes);
  text.append(bytes - text.size() - kEnd.size(), 'x');
  text += kEnd;
  return text;
}

std::string job_body(std::size_t payload_bytes) {
  return fmt::format(R"({{"type":"email.send","queue":"mail","payload":{}}})",
                     json_document(payload_bytes));
}

std::string batch_body(std::size_t jobs, std::size_t payload_bytes) {
  const std::string job = job_body(payload_bytes);
  std::string text = R"({"jobs":[)" + job;
  for (std::size_t i = 1; i < jobs; ++i) text += ',' + job;
  return text + "]}";
}

std::string poll_body(std::size_t jobs) {
  std::string text = R"({"acks":[)";
  for (std::size_t i = 0; i < jobs; ++i) {
    text += fmt::format(
        R"({}{{"id":"01900000-0000-7000-8000-{:012x}","token":{},"outcome":"succeeded"}})",
        i == 0 ? "" : ",", i, i + 1);
  }
  return text +
         fmt::format(R"(],"claim":{{"queues":["mail"],"limit":{},"worker":{{"id":"w"}}}}}})", jobs);
}

}  // namespace millrace::bench
