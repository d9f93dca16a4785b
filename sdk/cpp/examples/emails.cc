// 2,000 e-mails: some fail at first and are retried, some can never be sent.
#include <atomic>
#include <cstdio>

#include "millrace/exceptions.h"
#include "millrace/worker.h"
namespace sdk = millrace::sdk;

int main() {
  sdk::Client client({});  // MILLRACE_URL, MILLRACE_TOKEN
  std::vector<sdk::NewJob> batch;
  for (int n = 1; n <= 2000; ++n) {
    batch.push_back(sdk::new_job("email.send", n, {.queue = "emails"}));
    batch.back().idempotency_key = "email-" + std::to_string(n);  // submitted once
    if (batch.size() == 500) value_of(client.submit_batch(std::exchange(batch, {})));
  }
  std::atomic<int> sent = 0, failed = 0, dead = 0;
  std::stop_source stop;
  sdk::Worker worker(client, {.queues = {"emails"}});
  worker.on<int>("email.send", [&](sdk::Context& context, int number) {
    const bool is_busy = number % 10 == 1 && context.job().attempt == 1;
    if (is_busy) throw sdk::RetryAfter(std::chrono::milliseconds(++failed), "the provider is busy");
    ++(number % 100 == 0 ? dead : sent);
    if (sent + dead == 2000) stop.request_stop();
    if (number % 100 == 0) throw sdk::NonRetryable("there is no address");
  });
  value_of(worker.run(stop.get_token()));
  std::printf("%d sent, %d tried again, %d dead\n", sent.load(), failed.load(), dead.load());
}
