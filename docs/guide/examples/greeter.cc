// A producer and a worker in one program: submits a job, works the queue until it is empty.
#include <cstdio>
#include <string>

#include "millrace/client.h"
#include "millrace/worker.h"

namespace sdk = millrace::sdk;

// One attempt at one job. The payload is raw JSON: read it with the library of your choice.
sdk::Outcome greet(sdk::Context& context) {
  if (context.job().type != "greet") {
    return sdk::Outcome::failed_for_good({.type = "UnknownType", .message = context.job().type});
  }
  context.log("info", "greeting " + context.job().payload);
  context.progress({.percent = 50, .message = "halfway"});
  return sdk::Outcome::succeeded(R"({"greeted":)" + context.job().payload + "}");
}

int main() {
  sdk::Client client({});  // MILLRACE_URL, MILLRACE_TOKEN

  auto submitted = client.submit({.type = "greet", .payload = R"("Ada")", .queue = "greetings"});
  if (!submitted) {
    std::fprintf(stderr, "%s\n", describe(submitted.error()).c_str());
    return 1;
  }

  sdk::WorkerOptions options{.queues = {"greetings"}, .concurrency = 4};
  options.exit_when = sdk::ExitWhen::kNothingToClaim;  // a service would run on
  sdk::Worker worker(client, options, greet);
  if (auto worked = worker.run({}); !worked) {
    std::fprintf(stderr, "%s\n", describe(worked.error()).c_str());
    return 1;
  }

  auto job = client.get(submitted->job.id, {.include = {"result"}});
  if (!job) return 1;
  std::printf("%s %s\n", job->state.c_str(), job->result.value_or("").c_str());
  return 0;
}
