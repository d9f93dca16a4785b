// A producer and a worker in one program.
#include <millrace/exceptions.h>
#include <millrace/worker.h>

#include <chrono>
#include <cstdio>
#include <string>
#include <thread>

namespace sdk = millrace::sdk;

struct Person {
  std::string name;
};
MILLRACE_JSON(Person, name);

int main() {
  sdk::Client client({});  // MILLRACE_URL, MILLRACE_TOKEN

  sdk::Handlers handlers;
  handlers.on<Person>("greet", [](sdk::Context& context, const Person& person) {
    context.progress({.percent = 50, .message = "halfway"});
    return "Hello, " + person.name;
  });
  sdk::Worker worker(client, {.queues = {"greetings"}, .concurrency = 4}, handlers);
  // A service would call worker.run_until_signal(). This thread is told to stop when main() ends.
  const std::jthread working([&](const std::stop_token& stop) { (void)worker.run(stop); });

  const auto greeting = value_of(client.submit("greet", Person{"Ada"}, {.queue = "greetings"}));
  const auto ended = value_of(client.wait(greeting.job.id, std::chrono::seconds(30)));
  std::printf("%s\n", ended.result.value_or("").c_str());
}
