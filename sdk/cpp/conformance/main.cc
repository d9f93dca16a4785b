// Reads commands, runs each on a thread of its own, and ends when the input or a signal says so.
#include <csignal>
#include <iostream>

#include "program.h"

namespace millrace::conformance {
namespace {

using sdk::JsonView;
using sdk::JsonWriter;

struct RunningWorker {
  std::stop_source stop;
  std::unique_ptr<sdk::Worker> worker;
  std::jthread thread;
};

class Program {
 public:
  void configure(JsonView command) {
    const std::lock_guard lock(mutex_);
    client_ = std::make_shared<sdk::Client>(
        sdk::ClientOptions{.url = text_of(command["url"]),
                           .token = text_of(command["token"]),
                           .timeout = ms_of(command["timeout_ms"], 30'000)});
  }

  std::shared_ptr<sdk::Client> client() {
    const std::lock_guard lock(mutex_);
    if (!client_) client_ = std::make_shared<sdk::Client>(sdk::ClientOptions{});
    return client_;
  }

  std::string start_worker(JsonView command) {
    const std::string name = text_of(command["name"]);
    sdk::WorkerOptions options{.concurrency = 10};
    if (command["queues"]) options.queues = texts_of(command["queues"]);
    options.types = texts_of(command["types"]);
    if (const auto slots = command["concurrency"].integer()) {
      options.concurrency = static_cast<int>(*slots);
    }
    if (const auto lease = command["lease_ms"].integer()) options.lease = sdk::Milliseconds{*lease};
    options.poll_wait = ms_of(command["poll_wait_ms"], 10'000);
    options.notice = [](std::string_view message) {
      emit_event("log", [&](JsonWriter& json) {
        json.key("level").string("warn").key("message").string(message);
      });
    };
    auto running = std::make_unique<RunningWorker>();
    running->worker = std::make_unique<sdk::Worker>(
        *client(), options, [this, name, kept = client()](sdk::Context& context) {
          return play(*kept, context, name);
        });
    running->thread = std::jthread([name, raw = running.get()] {
      const auto ended = raw->worker->run(raw->stop.get_token());
      emit_event("worker_ended", [&](JsonWriter& json) {
        json.key("worker").string(name).key("error");
        if (ended) {
          json.null();
        } else {
          write_error(json, ended.error());
        }
      });
    });
    JsonWriter json;
    json.begin_object().key("worker_id").string(running->worker->id()).end_object();
    const std::lock_guard lock(mutex_);
    workers_[name] = std::move(running);
    return json.take();
  }

  void stop_worker(const std::string& name) {
    std::unique_ptr<RunningWorker> ending;
    {
      const std::lock_guard lock(mutex_);
      const auto found = workers_.find(name);
      if (found == workers_.end()) return;
      ending = std::move(found->second);
      workers_.erase(found);
    }
    ending->stop.request_stop();
    ending->thread.join();
  }

  void stop_all() {
    std::map<std::string, std::unique_ptr<RunningWorker>> ending;
    {
      const std::lock_guard lock(mutex_);
      ending.swap(workers_);
    }
    for (auto& [name, worker] : ending) worker->stop.request_stop();
    for (auto& [name, worker] : ending) worker->thread.join();
  }

  sdk::Result<std::string> run(JsonView command) {
    const std::string name = text_of(command["do"]);
    if (name == "hello") return R"({"sdk":"cpp","version":"0.1.0"})";
    if (name == "configure") return configure(command), "{}";
    if (name == "worker") return start_worker(command);
    if (name == "stop") return stop_worker(text_of(command["name"])), "{}";
    return call(*client(), name, command);
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<sdk::Client> client_;
  std::map<std::string, std::unique_ptr<RunningWorker>> workers_;
};

void answer(Program& program, const std::string& line) {
  const JsonView command(line);
  const auto done = program.run(command);
  JsonWriter json;
  json.begin_object().key("id").raw(command["id"] ? command["id"].text() : "null");
  if (done) {
    json.key("ok").raw(*done);
  } else {
    write_error(json.key("error"), done.error());
  }
  emit(json.end_object().text());
}

}  // namespace
}  // namespace millrace::conformance

int main() {
  using namespace millrace::conformance;
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  static Program program;
  std::thread([signals] {
    int signal = 0;
    sigwait(&signals, &signal);
    program.stop_all();
    std::quick_exit(0);
  }).detach();
  for (std::string line; std::getline(std::cin, line);) {
    // Order matters only for the configuration and for workers, which follow at once.
    const millrace::sdk::JsonView command(line);
    const std::string name = text_of(command["do"]);
    if (name == "configure" || name == "worker" || name == "hello") {
      answer(program, line);
    } else {
      std::thread([line] { answer(program, line); }).detach();
    }
  }
  program.stop_all();
  std::quick_exit(0);
}
