// The request log: a line for each request, with its id; then on to the metrics.
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
