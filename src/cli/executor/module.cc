// millrace work --module: carries out jobs with a shared library.
#include "millrace/module.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <mutex>

#include "base/file.h"
#include "cli/executor/executor.h"
#include "cli/job/outcome.h"
#include "millrace/json.h"

// The type of the C interface that the module gets a pointer to.
struct millrace_run {  // NOLINT: its name is the interface's
  explicit millrace_run(millrace::sdk::Context& its_context) : context(its_context) {}

  millrace::sdk::Context& context;
  std::mutex mutex;  // guards the rest
  std::string result;
  millrace::sdk::JobError error{.type = "module", .message = "the module gives no reason"};
  std::optional<millrace::sdk::Milliseconds> delay;
};

namespace millrace::cli {
namespace {

std::string_view text_of(const char* text) { return text == nullptr ? "" : text; }

constexpr millrace_host kHost = {
    .size = sizeof(millrace_host),
    .log = [](millrace_run* run, const char* level,
              const char* text) { run->context.log(text_of(level), text_of(text)); },
    .result =
        [](millrace_run* run, const char* json, size_t size) {
          const std::lock_guard lock(run->mutex);
          run->result.assign(json == nullptr ? "" : json, json == nullptr ? 0 : size);
        },
    .error =
        [](millrace_run* run, const char* type, const char* message) {
          const std::lock_guard lock(run->mutex);
          run->error.type = text_of(type);
          run->error.message = text_of(message);
        },
    .delay =
        [](millrace_run* run, int64_t ms) {
          const std::lock_guard lock(run->mutex);
          run->delay = sdk::Milliseconds(std::max<int64_t>(ms, 0));
        },
    .progress =
        [](millrace_run* run, double percent, const char* message) {
          run->context.progress({.percent = percent, .message = std::string(text_of(message))});
        },
    .should_end = [](millrace_run* run) -> int {
      return run->context.stop_token().stop_requested() ? 1 : 0;
    },
};

class Module {
 public:
  // The error names the missing function.
  static Result<std::shared_ptr<Module>> load(const ModuleOptions& options) {
    auto made = std::make_shared<Module>();
    // Loaded only by its path, never from the linker's folders.
    const std::string path =
        options.path.find('/') == std::string::npos ? "./" + options.path : options.path;
    if (const Status checked = check_file(path); !checked) {
      return failure("--module: " + checked.error().message);
    }
    void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) return failure(fmt::format("--module: {}", ::dlerror()));
    if (Status found = made->find(library, options.path); !found) {
      return std::unexpected(found.error());
    }
    const std::uint32_t abi = made->abi_();
    if (abi != MILLRACE_MODULE_ABI) {
      return failure(fmt::format(
          "--module: {} has the interface {}, and this worker has {}; compile it with this "
          "version's millrace/module.h",
          options.path, abi, MILLRACE_MODULE_ABI));
    }
    const int status = made->start_(&kHost, options.config.c_str(), &made->state_);
    if (status != 0) {
      return failure(fmt::format("--module: {} did not start: {}", options.path, status));
    }
    made->is_started_ = true;
    return made;
  }
  Module() = default;
  ~Module() {
    if (is_started_) stop_(state_);
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  sdk::Outcome run(sdk::Context& context) {
    const sdk::ClaimedJob& job = context.job();
    const millrace_job given = {.size = sizeof(millrace_job),
                                .id = job.id.c_str(),
                                .queue = job.queue.c_str(),
                                .type = job.type.c_str(),
                                .payload = job.payload.c_str(),
                                .payload_size = job.payload.size(),
                                .attempt = static_cast<std::uint32_t>(job.attempt),
                                .token = job.token};
    millrace_run run(context);
    int end = 0;
    {
      const std::stop_callback cancel(context.stop_token(), [&] { cancel_(state_, &run); });
      end = run_(state_, &given, &run);
    }
    const std::lock_guard lock(run.mutex);
    return outcome_of(end, run);
  }

 private:
  template <typename Function>
  Status find(void* library, const std::string& path, const char* name, Function*& out) {
    out = reinterpret_cast<Function*>(::dlsym(library, name));
    if (out != nullptr) return {};
    return failure(fmt::format("--module: {} lacks the function {}", path, name));
  }
  Status find(void* library, const std::string& path) {
    Status found = find(library, path, "millrace_module_abi", abi_);
    if (found) found = find(library, path, "millrace_module_start", start_);
    if (found) found = find(library, path, "millrace_module_run", run_);
    if (found) found = find(library, path, "millrace_module_cancel", cancel_);
    if (found) found = find(library, path, "millrace_module_stop", stop_);
    return found;
  }

  static sdk::Outcome outcome_of(int end, millrace_run& run) {
    switch (end) {
      case MILLRACE_SUCCEEDED:
        if (run.result.size() > kMaxResultBytes ||
            (!run.result.empty() && !sdk::is_json(run.result))) {
          return sdk::Outcome::failed(
              {.type = "module", .message = "the result is no JSON, or too large"});
        }
        return sdk::Outcome::succeeded(std::move(run.result));
      case MILLRACE_FAILED:
        return sdk::Outcome::failed(std::move(run.error), run.delay);
      case MILLRACE_FAILED_FOR_GOOD:
        return sdk::Outcome::failed_for_good(std::move(run.error));
      case MILLRACE_SNOOZED:
        return sdk::Outcome::snoozed(run.delay.value_or(sdk::Milliseconds{1'000}));
      case MILLRACE_RELEASED:
        return run.context.stop_reason() == sdk::StopReason::kCancelled ? sdk::Outcome::cancelled()
                                                                        : sdk::Outcome::released();
      default:
        return sdk::Outcome::failed(
            {.type = "module", .message = fmt::format("the module ended with {}", end)});
    }
  }

  decltype(millrace_module_abi)* abi_ = nullptr;
  decltype(millrace_module_start)* start_ = nullptr;
  decltype(millrace_module_run)* run_ = nullptr;
  decltype(millrace_module_cancel)* cancel_ = nullptr;
  decltype(millrace_module_stop)* stop_ = nullptr;
  void* state_ = nullptr;
  bool is_started_ = false;
};

}  // namespace

Result<Executor> load_module(const ModuleOptions& options) {
  auto module = Module::load(options);
  if (!module) return std::unexpected(module.error());
  return [module = std::move(*module)](sdk::Context& context) { return module->run(context); };
}

}  // namespace millrace::cli
