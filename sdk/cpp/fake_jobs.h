// The jobs of a Fake, and the rules by which they change. It is a transport that answers a client's
// requests immediately.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fake_answer.h"
#include "fake_setup.h"
#include "fake_workflows.h"
#include "millrace/fake.h"
#include "millrace/json.h"
#include "millrace/transport.h"

namespace millrace::sdk {

struct FakeJob {
  NewJob spec;  // as submitted, with the server's defaults
  std::string state;
  int attempt = 0;
  int generation = 1;
  std::int64_t version = 1;
  std::uint64_t number = 0;  // in order of submission
  Timestamp created_at;
  Timestamp run_at;
  std::optional<Timestamp> expires_at;
  std::optional<Timestamp> started_at;
  std::optional<Timestamp> finished_at;
  bool cancel_requested = false;
  std::optional<Progress> progress;
  std::string checkpoint;
  std::optional<JobError> last_error;
  std::optional<std::string> result;
  std::vector<LogLine> logs;
  std::optional<JobSchedule> schedule;  // that was triggered for it
  std::optional<JobWorkflow> workflow;  // that it belongs to
  std::stop_source stop;                // for the running attempt

  bool has_ended() const { return finished_at.has_value(); }
};

class FakeJobs : public Transport {
 public:
  FakeJobs(Handlers handlers, FakeMode mode) : handlers_(std::move(handlers)), mode_(mode) {}

  Result<Response> send(const Request& request) override;

  void set_handlers(Handlers handlers);
  std::size_t drain();
  std::size_t drain(const Handlers& handlers);
  void advance(Milliseconds time);
  Timestamp now() const;
  std::vector<Job> enqueued(std::string_view type) const;

 private:
  friend class FakeWorkflows;
  using Refusal = FakeRefusal;
  template <typename T>
  using Answer = std::expected<T, Refusal>;

  // --- The API (fake_api.cc).
  Response answer(const Request& request);
  Response answer_job(const std::string& id, std::string_view action, const Request& request);
  Response answer_others(const Request& request, std::string_view path, std::string_view query);
  Response trigger(const std::string& schedule);
  std::string counts_of(const std::string& queue) const;
  Response submit_one(const Request& request);
  Response submit_batch(const Request& request);
  Response list(std::string_view query);

  // --- The rules (fake_jobs.cc). `text` is the submission as sent, to compare repeated keys.
  Answer<std::pair<FakeJob*, bool>> submit(NewJob spec, std::string_view text);
  static std::vector<FieldError> faults_of(const NewJob& spec, std::string_view at);
  Answer<std::pair<FakeJob*, bool>> known(const NewJob& spec, std::string_view text);
  bool names_no_limit(const NewJob& spec) const;
  bool is_full(const std::string& queue) const;
  FakeJob& store(NewJob spec);
  // Submits the job of a workflow; inline, run_released() runs it.
  FakeJob& release(NewJob spec);
  void run_released();
  FakeJob* holder_of(const NewJob& spec);
  Answer<FakeJob*> cancel(const std::string& id, std::string_view reason);
  Answer<FakeJob*> retry(const std::string& id, JsonView options);
  FakeJob* find(const std::string& id);
  FakeJob* next_due(const Handlers& handlers);
  void run(FakeJob& job, const Handlers& handlers);
  void settle(FakeJob& job, Outcome outcome);
  void end(FakeJob& job, std::string_view state);

  mutable std::recursive_mutex mutex_;  // recursive: handlers submit jobs while they run
  Handlers handlers_;
  FakeMode mode_;
  FakeSetup setup_;
  FakeWorkflows workflows_{*this};
  Timestamp now_ = std::chrono::sys_days{std::chrono::year{2030} / 1 / 1};
  std::uint64_t last_token_ = 0;
  std::uint64_t last_number_ = 0;
  std::map<std::string, FakeJob> jobs_;
  std::vector<std::string> order_;    // ids
  std::deque<std::string> released_;  // ids; inline only
  struct Key {
    std::string text;
    std::string id;
  };
  std::map<std::pair<std::string, std::string>, Key> keys_;  // by queue and idempotency key
};

// The job in the API's shape. `include`: "payload", "result".
std::string encode_fake(const FakeJob& job, const std::vector<std::string>& include);

}  // namespace millrace::sdk
