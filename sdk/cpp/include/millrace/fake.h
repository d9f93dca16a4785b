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
  kDrained,  // a job waits for drain()
  kInline,   // a job that is due runs within its submission
};

class FakeJobs;

// Submitting, reading, listing, cancelling and retrying jobs are answered as the server answers
// them. It keeps ids, idempotency keys and unique keys. Retries, snoozes, delays, expiry, dead jobs
// and cancellation behave as on the server, without jitter. Queues and schedules are not there:
// calls on them are kNotFound. Thread-safe; one handler runs at a time.
class Fake {
 public:
  explicit Fake(Handlers handlers = {}, FakeMode mode = FakeMode::kDrained);

  // What the application under test submits with; copies of it work alike.
  Client& client() { return client_; }

  // For handlers that need the client, and so come later than this. Not while one runs.
  void set_handlers(Handlers handlers);

  // Runs every job that is due and has a handler, by priority and age, also those that handlers
  // submit meanwhile. Returns how many attempts ran.
  std::size_t drain();
  std::size_t drain(const Handlers& handlers);

  // The clock starts at 2030-01-01T00:00:00Z and moves only here.
  void advance(Milliseconds time);
  Timestamp now() const;

  // What was submitted, oldest first, with the payload, whatever became of it. Empty: of any type.
  std::vector<Job> enqueued(std::string_view type = {}) const;

 private:
  std::shared_ptr<FakeJobs> jobs_;
  Client client_;
};

}  // namespace millrace::sdk
