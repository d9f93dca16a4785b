// A fake server for tests of workers: hands out jobs, records outcomes, heartbeats and log lines.
#pragma once

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "fake_transport.h"

namespace millrace::sdk {

class FakeServer : public Transport {
 public:
  // One request as received.
  struct Poll {
    std::vector<std::string> acks;  // ids
    std::optional<int> limit;       // of its claim
    int wait_ms = 0;
    int heartbeats = 0;
    bool has_lines = false;  // log lines outside of its acks
    std::chrono::milliseconds timeout{0};
  };

  void put(std::string id, std::uint64_t token, std::string payload = "null") {
    const std::lock_guard lock(mutex_);
    add(id, token, payload);
  }
  void put_many(int count) {
    const std::lock_guard lock(mutex_);
    for (int i = 0; i < count; ++i) {
      add(fmt::format("job{}", i), static_cast<std::uint64_t>(i + 1), "null");
    }
  }

  // For jobs added from now on. Heartbeats come every third of it; the rest allows for stalls.
  std::atomic<int> lease_ms = 30'000;

  // The outcome of the next requests.
  std::atomic<int> failures = 0;                // the number of requests to lose
  std::atomic<int> lost_answers = 0;            // requests with acks to carry out without an answer
  std::atomic<bool> refuse_large_acks = false;  // refuses the whole request, as for a large result
  std::atomic<bool> refuse_odd_results = false;  // refuses only these items
  std::atomic<bool> lets_claims_wait = true;
  std::atomic<bool> cancel_at_heartbeat = false;
  std::atomic<bool> lease_is_lost = false;
  // Called first for each request; its result, if any, is the answer.
  std::function<std::optional<Result<Response>>(const Request& request)> answer_instead;
  // Called with each heartbeat as sent; returns an error for it, or "" to accept it.
  std::function<std::string(const std::string& beat)> refuse_beat;
  std::atomic<bool> cuts_answers = false;  // answers no acks, but carries them out
  // Called when a claim has found jobs. The answer follows after answer_takes.
  std::function<void()> on_hand_out;
  std::chrono::milliseconds answer_takes{0};
  std::chrono::milliseconds lines_take{0};  // the time to process log lines outside of outcomes
  // Called with each claim; `asked`: the slots requested by all pending claims.
  std::function<void(int asked)> on_claim;

  template <typename Condition>  // on the members below, which it reads unlocked
  bool await(Condition condition) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds{60}, condition);
  }
  bool await_waiting_claim() {
    return await([this] { return waiting > 0; });
  }
  bool await_outcomes(std::size_t count) {
    return await([this, count] { return outcomes.size() >= count; });
  }

  // To be read after the worker has ended, or in await().
  std::deque<Poll> polls;
  std::map<std::string, std::vector<std::string>> outcomes;  // by id, as sent
  std::vector<std::string> logs;
  int heartbeats = 0;
  std::string checkpoint;  // the last one
  int waiting = 0;         // claims waiting now
  int broken_off = 0;      // claims cancelled while they waited
  int under_way = 0;       // pending requests
  int most_at_once = 0;    // the most pending requests

  Result<Response> send(const Request& request) override {
    std::unique_lock lock(mutex_);
    most_at_once = std::max(most_at_once, ++under_way);
    auto response = respond(request, lock);
    --under_way;
    changed_.notify_all();
    return response;
  }

 private:
  using Lock = std::unique_lock<std::mutex>;

  void add(std::string_view id, std::uint64_t token, std::string_view payload) {
    jobs_.push_back(fmt::format(
        R"({{"id":"{}","queue":"q","type":"t","payload":{},"attempt":1,"max_attempts":5,)"
        R"("lease":{{"token":{},"expires_at":"2026-03-01T09:30:00.000Z","lease_ms":{}}},)"
        R"("meta":{{}}}})",
        id, payload, token, lease_ms.load()));
    changed_.notify_all();
  }

  Result<Response> respond(const Request& request, Lock& lock) {
    if (failures > 0) {
      --failures;
      return FakeTransport::unreachable();
    }
    if (answer_instead) {
      if (auto answer = answer_instead(request)) return *answer;
    }
    simdjson::dom::parser parser;
    const simdjson::dom::element body = parser.parse(request.body);
    if (refuse_large_acks && request.body.find("TOO LARGE") != std::string::npos) {
      return Response{422, R"({"status":422,"code":"validation_failed","detail":"too large"})", {}};
    }
    Poll& poll = polls.emplace_back();
    poll.has_lines = body["logs"].error() == simdjson::SUCCESS;
    changed_.notify_all();
    if (poll.has_lines) changed_.wait_for(lock, lines_take, [] { return false; });
    const std::string acks = take_acks(body, poll);
    const bool is_lost = !acks.empty() && lost_answers > 0 && lost_answers-- > 0;
    poll.timeout = request.timeout;
    const int beats_before = heartbeats;
    const std::string beats = take_heartbeats(body);
    poll.heartbeats = heartbeats - beats_before;
    changed_.notify_all();
    const auto jobs = claim(body, poll, request.stop, lock);
    if (!jobs) return std::unexpected(jobs.error());
    if (is_lost) return FakeTransport::unreachable();
    if (cuts_answers && !acks.empty()) {
      cuts_answers = false;
      return Response{200, R"({"acks":[]})", {}};
    }
    return Response{
        200,
        fmt::format(R"({{"acks":[{}],"heartbeats":[{}],"logs":[],"jobs":[{}],"commands":[]}})",
                    acks, beats, *jobs),
        {}};
  }

  std::string take_acks(simdjson::dom::element body, Poll& poll) {
    std::string results;
    simdjson::dom::array acks;
    if (body["acks"].get(acks) != simdjson::SUCCESS) return results;
    for (const simdjson::dom::element ack : acks) {
      const std::string id{std::string_view(ack["id"])};
      poll.acks.push_back(id);
      if (!results.empty()) results += ",";
      const std::string text = simdjson::minify(ack);
      if (refuse_odd_results && text.find("ODD") != std::string::npos) {
        results += fmt::format(
            R"({{"status":422,"id":"{}","error":{{"status":422,"code":"validation_failed"}}}})",
            id);
        continue;
      }
      outcomes[id].push_back(text);
      simdjson::dom::array lines;
      if (ack["logs"].get(lines) == simdjson::SUCCESS) keep_lines(lines);
      results += fmt::format(R"({{"status":200,"id":"{}","state":"succeeded"}})", id);
    }
    return results;
  }

  std::string take_heartbeats(simdjson::dom::element body) {
    std::string results;
    simdjson::dom::array lines;
    if (body["logs"].get(lines) == simdjson::SUCCESS) keep_lines(lines);
    simdjson::dom::array beats;
    if (body["heartbeats"].get(beats) != simdjson::SUCCESS) return results;
    for (const simdjson::dom::element beat : beats) {
      ++heartbeats;
      const std::string fault = refuse_beat ? refuse_beat(simdjson::minify(beat)) : "";
      if (!fault.empty()) {
        results += (results.empty() ? "" : ",") + fault;
        continue;
      }
      simdjson::dom::element kept;
      if (beat["progress"]["checkpoint"].get(kept) == simdjson::SUCCESS) {
        checkpoint = simdjson::minify(kept);
      }
      const std::string id{std::string_view(beat["id"])};
      const std::string comma = results.empty() ? "" : ",";
      results +=
          lease_is_lost
              ? fmt::format(R"({}{{"status":409,"id":"{}","error":{{"code":"lease_lost"}}}})",
                            comma, id)
              : fmt::format(R"({}{{"status":200,"id":"{}","cancel_requested":{}}})", comma, id,
                            cancel_at_heartbeat.load());
    }
    return results;
  }

  // The jobs, or an error if the caller cancelled the claim. Releases the lock while it waits.
  Result<std::string> claim(simdjson::dom::element body, Poll& poll, const std::stop_token& stop,
                            Lock& lock) {
    simdjson::dom::object wanted;
    if (body["claim"].get(wanted) != simdjson::SUCCESS) return {};
    const auto limit = static_cast<int>(std::int64_t(wanted["limit"]));
    std::int64_t wait_ms = 0;
    if (wanted["wait_ms"].get(wait_ms) != simdjson::SUCCESS) wait_ms = 0;
    poll.limit = limit;
    poll.wait_ms = static_cast<int>(wait_ms);
    asked_ += limit;
    if (on_claim) on_claim(asked_);
    ++waiting;
    changed_.notify_all();
    changed_.wait_for(lock, stop, std::chrono::milliseconds{lets_claims_wait ? wait_ms : 0},
                      [this] { return !jobs_.empty(); });
    --waiting;
    asked_ -= limit;
    std::string claimed;
    for (int i = 0; i < limit && !jobs_.empty(); ++i) {
      claimed += (claimed.empty() ? "" : ",") + jobs_.front();
      jobs_.pop_front();
    }
    if (!claimed.empty() && on_hand_out) on_hand_out();
    changed_.wait_for(lock, stop, answer_takes, [] { return false; });
    if (!stop.stop_requested()) return claimed;
    ++broken_off;  // the claimed jobs are lost
    Error error;
    error.kind = ErrorKind::kInterrupted;
    return std::unexpected(error);
  }

  void keep_lines(simdjson::dom::array lines) {
    for (const simdjson::dom::element line : lines) {
      std::string_view id;
      if (line["id"].get(id) != simdjson::SUCCESS) id = "";
      if (outcomes.contains(std::string(id))) continue;  // refused: the job has ended
      logs.emplace_back(std::string_view(line["message"]));
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::string> jobs_;
  int asked_ = 0;  // by all pending claims
};

}  // namespace millrace::sdk
