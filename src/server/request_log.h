// The request log: a line for a request, with its id; then on to the metrics. Refused requests and
// what operators do are informations, faults of our own are warnings; all others, thousands a
// second on a busy server, are told at the level debug.
#pragma once

#include "base/log.h"
#include "http/observer.h"

namespace millrace::server {

// Thread-safe.
class RequestLog final : public http::Observer {
 public:
  RequestLog(http::Observer& next, Logger log) : next_(next), log_(std::move(log)) {}

  void answered(const http::RequestRecord& record) override;
  void connection(Connection what) override { next_.connection(what); }

 private:
  http::Observer& next_;
  const Logger log_;
};

}  // namespace millrace::server
