#include "server/process/request_log.h"

#include <chrono>
#include <vector>

namespace millrace::server {
namespace {

bool is_by_operator(const http::RequestRecord& record) {
  return record.route != nullptr && record.route->scope >= api::Scope::kOperate;
}

LogLevel level_of(const http::RequestRecord& record) {
  // The server's own faults. A stopping server that refuses new work is not one.
  if (record.status >= 500 && record.problem != "draining") return LogLevel::kWarn;
  if (record.status >= 400 || is_by_operator(record)) return LogLevel::kInfo;
  return LogLevel::kDebug;
}

}  // namespace

void RequestLog::answered(const http::RequestRecord& record) {
  next_.answered(record);
  const LogLevel level = level_of(record);
  if (!log_.enabled(level) || (filter_ != nullptr && !filter_->passes(level))) return;
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
