// The request log: one line per request, with its id. Passes each event on to the metrics. Refused
// requests and operators' actions are logged at level info, the server's own faults at warning, and
// all others at debug, since a busy server has thousands a second.
#pragma once

#include "base/log.h"
#include "http/observer.h"
#include "server/process/stderr_sink.h"

namespace millrace::server {

// Thread-safe.
class RequestLog final : public http::Observer {
 public:
  // `filter`: lines that it would drop are not even built; null: nothing is dropped.
  RequestLog(http::Observer& next, Logger log, const LevelFilter* filter = nullptr)
      : next_(next), log_(std::move(log)), filter_(filter) {}

  void answered(const http::RequestRecord& record) override;
  void connection(Connection what) override { next_.connection(what); }
  void streamed(Streamed what) override { next_.streamed(what); }

 private:
  http::Observer& next_;
  const Logger log_;
  const LevelFilter* const filter_;
};

}  // namespace millrace::server
