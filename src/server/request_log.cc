#include "server/request_log.h"

#include <chrono>
#include <vector>

namespace millrace::server {
namespace {

// What goes wrong on our side is worth a warning; that a server which stops takes nothing new is
// not.
LogLevel level_of(const http::RequestRecord& record) {
  return record.status >= 500 && record.problem != "draining" ? LogLevel::kWarn : LogLevel::kInfo;
}

}  // namespace

void RequestLog::answered(const http::RequestRecord& record) {
  next_.answered(record);
  const LogLevel level = level_of(record);
  if (!log_.enabled(level)) return;
  const double ms = std::chrono::duration<double, std::milli>(record.duration).count();
  std::vector<LogField> fields = {{"request_id", record.request_id},
                                  {"method", record.method},
                                  {"path", record.path},
                                  {"status", record.status},
                                  {"ms", ms},
                                  {"in", record.received_bytes},
                                  {"out", record.sent_bytes},
                                  {"peer", record.peer}};
  if (!record.token_name.empty()) fields.emplace_back("token", record.token_name);
  if (!record.problem.empty()) fields.emplace_back("code", record.problem);
  if (!record.note.empty()) fields.emplace_back("why", record.note);
  log_.log(level, "request", fields);
}

}  // namespace millrace::server
