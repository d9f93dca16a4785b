// A client without a server, for the unit tests of an application:
//
//   millrace::sdk::Fake fake(handlers);
//   sign_up(fake.client(), "ada@example.org");  // the application's own code
//   assert(fake.enqueued("mail.send").size() == 1);
//   assert(fake.drain() == 1);                  // runs the handler
#pragma once

#include <cstddef>
#include <memory>
#include <string_view>
#include <vector>

#include "millrace/client.h"
#include "millrace/handler.h"

namespace millrace::sdk {

enum class FakeMode {
  kDrained,  // jobs wait for drain()
  kInline,   // a due job runs inside its submission
};

class FakeJobs;

// Answers submissions, reads, lists, cancellations and retries of jobs as the server does. Ids,
// idempotency keys and unique keys are enforced. Retries, snoozes, delays, expiry, dead jobs and
// cancellation behave as on the server, but without jitter. Queues, limits and schedules are kept:
// settings of queues set what jobs leave out and how many may be ready; limits hold nothing back;
// schedules fire when they are triggered. Other calls fail with kNotFound. Thread-safe; one handler
// runs at a time.
class Fake {
 public:
  explicit Fake(Handlers handlers = {}, FakeMode mode = FakeMode::kDrained);

  // The client for the application under test; copies of it share the same jobs.
  Client& client() { return client_; }

  // For handlers that need the client, so are made after this object. Must not be called while a
  // handler runs.
  void set_handlers(Handlers handlers);

  // Runs every due job that has a handler, by priority and age, including jobs that handlers submit
  // meanwhile. Returns the number of attempts that ran.
  std::size_t drain();
  std::size_t drain(const Handlers& handlers);

  // The clock starts at 2030-01-01T00:00:00Z and moves only here.
  void advance(Milliseconds time);
  Timestamp now() const;

  // All submitted jobs, oldest first, with their payloads, whatever their state. Empty: of any
  // type.
  std::vector<Job> enqueued(std::string_view type = {}) const;

 private:
  std::shared_ptr<FakeJobs> jobs_;
  Client client_;
};

}  // namespace millrace::sdk
