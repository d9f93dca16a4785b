// A transport for tests: answers from a script and records the requests.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "millrace/transport.h"

namespace millrace::sdk {

class FakeTransport : public Transport {
 public:
  using Respond = std::function<Result<Response>(const Request& request)>;

  // Scripted answers, used in order; the last one repeats.
  void answer(int status, std::string body, Headers headers = {}) {
    answers_.push_back(Response{status, std::move(body), std::move(headers)});
  }
  void lose_answer() { answers_.push_back(unreachable()); }
  // Replaces the script. Called on any thread, one call at a time.
  void respond_by(Respond respond) { respond_ = std::move(respond); }

  Result<Response> send(const Request& request) override {
    const std::lock_guard lock(mutex_);
    requests.push_back(request);
    if (respond_) return respond_(request);
    auto answer = answers_.front();
    if (answers_.size() > 1) answers_.pop_front();
    return answer;
  }

  static Result<Response> unreachable() {
    Error error;
    error.kind = ErrorKind::kUnreachable;
    error.message = "cannot reach the server";
    return std::unexpected(error);
  }

  std::vector<Request> requests;

 private:
  std::mutex mutex_;
  std::deque<Result<Response>> answers_;
  Respond respond_;
};

}  // namespace millrace::sdk
