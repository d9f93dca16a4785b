// Reads commands, runs each on its own thread, and ends at the end of the input or on a signal.
#include <csignal>
#include <iostream>
#include <stdexcept>

#include "millrace/fake.h"
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
  sdk::Result<std::string> configured(JsonView command) {
    try {
      configure(command);
      return "{}";
    } catch (const std::invalid_argument& refused) {
      sdk::Error error;
      error.kind = sdk::ErrorKind::kBadArgument;
      error.code = "program";
      error.message = refused.what();
      return std::unexpected(std::move(error));
    }
  }

  void configure(JsonView command) {
    const std::string fake = text_of(command["fake"]);
    if (!fake.empty()) return configure_fake(fake, command);
    const std::lock_guard lock(mutex_);
    fake_.reset();
    client_ = std::make_shared<sdk::Client>(
        sdk::ClientOptions{.url = text_of(command["url"]),
                           .token = text_of(command["token"]),
                           .timeout = ms_of(command["timeout_ms"], 30'000),
                           .queue_full_timeout = ms_of(command["queue_full_timeout_ms"], 2'000),
                           .ca_file = text_of(command["ca_file"])});
  }

  void configure_fake(std::string_view mode, JsonView command) {
    auto made = std::make_unique<sdk::Fake>(
        sdk::Handlers(), mode == "inline" ? sdk::FakeMode::kInline : sdk::FakeMode::kDrained);
    const auto own = std::make_shared<sdk::Client>(made->client());
    made->set_handlers(handlers(command, own, "fake"));
    const std::lock_guard lock(mutex_);
    client_ = own;
    fake_ = std::move(made);
  }

  std::shared_ptr<sdk::Client> client() {
    const std::lock_guard lock(mutex_);
    if (!client_) client_ = std::make_shared<sdk::Client>(sdk::ClientOptions{});
    return client_;
  }

  sdk::Handlers handlers(JsonView command, const std::shared_ptr<sdk::Client>& client,
                         const std::string& worker) {
    sdk::Handlers handlers;
    for (const std::string& type : texts_of(command["types"])) {
      handlers.on(
          type, [client, worker](sdk::Context& context) { return play(*client, context, worker); });
    }
    if (command["middleware"].boolean().value_or(false)) {
      handlers.use([](sdk::Context& context, const sdk::Handler& next) {
        const auto emit_phase = [&context](std::string_view phase) {
          emit_event("middleware", [&](JsonWriter& json) {
            json.key("job").string(context.job().id).key("phase").string(phase);
          });
        };
        struct After {
          const decltype(emit_phase)& emit;
          ~After() { emit("after"); }  // also if the handler throws
        };
        emit_phase("before");
        const After after{emit_phase};
        return next(context);
      });
    }
    return handlers;
  }

  std::string start_worker(JsonView command) {
    const std::string name = text_of(command["name"]);
    sdk::WorkerOptions options;
    if (command["queues"]) options.queues = texts_of(command["queues"]);
    if (const auto slots = command["concurrency"].integer()) {
      options.concurrency = static_cast<int>(*slots);
    }
    if (const auto lease = command["lease_ms"].integer()) options.lease = sdk::Milliseconds{*lease};
    options.poll_wait = ms_of(command["poll_wait_ms"], options.poll_wait.count());
    options.grace = ms_of(command["grace_ms"], options.grace->count());
    options.version = text_of(command["version"]);
    options.notice = [](std::string_view level, std::string_view message) {
      emit_event("log", [&](JsonWriter& json) {
        json.key("level").string(level).key("message").string(message);
      });
    };
    auto running = std::make_shared<RunningWorker>();
    const auto own = client();
    running->worker = std::make_unique<sdk::Worker>(*own, options, handlers(command, own, name));
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
    std::shared_ptr<RunningWorker> ending;
    {
      const std::lock_guard lock(mutex_);
      const auto found = workers_.find(name);
      if (found == workers_.end()) return;
      ending = found->second;
      workers_.erase(found);
    }
    ending->stop.request_stop();
    ending->thread.join();
  }

  // Called at the end of the input and on a signal. A second caller waits for the first.
  void end() {
    std::call_once(ended_, [this] { stop_all(); });
  }

  void stop_all() {
    const auto ending = workers();
    for (const auto& worker : ending) worker->stop.request_stop();
    for (const auto& worker : ending) {
      if (worker->thread.joinable()) worker->thread.join();
    }
  }

  void abort_all() {
    for (const auto& worker : workers()) worker->worker->abort();
  }

  sdk::Result<std::string> run(JsonView command) {
    const std::string name = text_of(command["do"]);
    if (name == "hello") {
      JsonWriter json;
      json.begin_object().key("sdk").string("cpp").key("version").string(sdk::kVersion);
      return json.end_object().take();
    }
    if (name == "configure") return configured(command);
    if (name == "worker") return start_worker(command);
    if (name == "stop") return stop_worker(text_of(command["name"])), "{}";
    if (name == "drain") {
      const auto with = handlers(command, client(), "fake");
      JsonWriter json;
      json.begin_object().key("ran").integer(static_cast<std::int64_t>(fake_->drain(with)));
      return json.end_object().take();
    }
    if (name == "advance") return fake_->advance(ms_of(command["ms"], 0)), "{}";
    if (name == "enqueued") {
      JsonWriter json;
      json.begin_object().key("jobs").begin_array();
      for (const auto& job : fake_->enqueued(text_of(command["type"]))) json.raw(job.json);
      return json.end_array().end_object().take();
    }
    return call(*client(), name, command);
  }

 private:
  std::vector<std::shared_ptr<RunningWorker>> workers() {
    const std::lock_guard lock(mutex_);
    std::vector<std::shared_ptr<RunningWorker>> all;
    for (const auto& [name, worker] : workers_) all.push_back(worker);
    return all;
  }

  std::once_flag ended_;
  std::mutex mutex_;
  std::shared_ptr<sdk::Client> client_;
  std::unique_ptr<sdk::Fake> fake_;
  std::map<std::string, std::shared_ptr<RunningWorker>> workers_;
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
    std::thread([] {
      program.end();
      std::quick_exit(0);
    }).detach();
    for (;;) {
      sigwait(&signals, &signal);
      program.abort_all();
    }
  }).detach();
  for (std::string line; std::getline(std::cin, line);) {
    // Order matters only for the configuration and for workers, so these run immediately.
    const millrace::sdk::JsonView command(line);
    const std::string name = text_of(command["do"]);
    if (name == "configure" || name == "worker" || name == "hello") {
      answer(program, line);
    } else {
      std::thread([line] { answer(program, line); }).detach();
    }
  }
  program.end();
  std::quick_exit(0);
}
