// The ways in which `millrace work` can carry out a job besides running a command.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "millrace/handler.h"

namespace millrace::cli {

// Called on as many threads at a time as the worker has slots.
using Executor = std::function<sdk::Outcome(sdk::Context&)>;

// POSTs each job to a service, with the headers and answers of a push call (api/push_call.h). Since
// the worker holds the lease, 202 counts as success.
struct HttpExecutorOptions {
  std::string url;
  sdk::Milliseconds timeout{30'000};
};
Result<Executor> make_http_executor(HttpExecutorOptions options);

// Carries out the steps that each payload lists (simulation.h).
Executor make_simulator(bool allow_http_calls);

// Loads a shared library with the functions of millrace/module.h. It stays loaded until the process
// ends, and is told to stop when the last copy of the executor is destroyed.
struct ModuleOptions {
  std::string path;
  std::string config;
};
Result<Executor> load_module(const ModuleOptions& options);

}  // namespace millrace::cli
