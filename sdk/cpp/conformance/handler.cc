// The scripted handler: it carries out the steps in its payload.
#include <unistd.h>

#include <cmath>
#include <stdexcept>

#include "program.h"

namespace millrace::conformance {
namespace {

// A result that fails when it is written.
struct Unwritable {};

}  // namespace
}  // namespace millrace::conformance

template <>
struct millrace::sdk::Codec<millrace::conformance::Unwritable> {
  static std::string encode(const millrace::conformance::Unwritable&) { throw 42; }
};

namespace millrace::conformance {
namespace {

using sdk::JsonView;
using sdk::JsonWriter;
using sdk::Outcome;

// An error that says nothing.
struct Indescribable : std::exception {
  const char* what() const noexcept override { return nullptr; }
};

// A text of the script; `<half>` in it is a byte that is not UTF-8.
std::string message_of(JsonView value) {
  constexpr std::string_view kHalf = "<half>";
  std::string text = text_of(value);
  if (const std::size_t at = text.find(kHalf); at != std::string::npos) {
    text.replace(at, kHalf.size(), "\xff");
  }
  return text;
}

// Carries out one step. An outcome ends the script.
std::optional<Outcome> step(sdk::Client& client, sdk::Context& context, JsonView step);

std::optional<Outcome> steps(sdk::Client& client, sdk::Context& context, JsonView script) {
  for (const JsonView one : script.elements()) {
    if (auto outcome = step(client, context, one)) return outcome;
  }
  return std::nullopt;
}

void submit(sdk::Client& client, sdk::Context& context, JsonView job) {
  const auto submitted = client.submit(sdk::read_new_job(job));
  if (!submitted) throw std::runtime_error(describe(submitted.error()));
  emit_event("submitted", [&](JsonWriter& json) {
    json.key("job").string(context.job().id).key("id").string(submitted->job.id);
  });
}

void grow(sdk::Context& context, JsonView growth) {
  for (const sdk::NewMember& member : sdk::read_new_workflow(growth).members) {
    const auto needed = member.needs_any.value_or(false) ? sdk::Needed::kAny : sdk::Needed::kAll;
    context.add(member.ref, member.job, member.needs, needed);
  }
  for (const std::string& ref : texts_of(growth["skip"])) context.skip(ref);
}

std::optional<Outcome> step(sdk::Client& client, sdk::Context& context, JsonView step) {
  const auto parts = step.elements();
  const auto part = [&parts](std::size_t index) {
    return index < parts.size() ? parts[index] : JsonView();
  };
  const std::string what = text_of(part(0));
  if (what == "sleep") {
    context.sleep_for(ms_of(part(1), 0));
  } else if (what == "stubborn" || what == "block") {
    std::this_thread::sleep_for(ms_of(part(1), 0));
  } else if (what == "progress") {
    context.progress({.percent = part(1).number(), .message = message_of(part(2))},
                     std::string(part(3).text()));
  } else if (what == "log") {
    context.log(text_of(part(1)), message_of(part(2)));
  } else if (what == "submit") {
    submit(client, context, part(1));
  } else if (what == "enqueue") {
    context.enqueue(sdk::read_new_job(part(1)));
  } else if (what == "parent") {
    return Outcome::succeeded(context.parent<sdk::RawJson>(text_of(part(1))).text);
  } else if (what == "grow") {
    grow(context, part(1));
  } else if (what == "on_attempt") {
    if (part(1).integer() == context.job().attempt) return steps(client, context, part(2));
  } else if (what == "return") {
    return Outcome::succeeded(std::string(part(1).text()));
  } else if (what == "fail" || what == "panic") {
    throw std::runtime_error(message_of(part(1)));
  } else if (what == "fail_indescribably") {
    throw Indescribable();
  } else if (what == "non_retryable") {
    throw sdk::NonRetryable(message_of(part(1)));
  } else if (what == "snooze") {
    return sdk::Snooze(ms_of(part(1), 0));
  } else if (what == "retry_after") {
    throw sdk::RetryAfter(ms_of(part(1), 0), text_of(part(2)));
  } else if (what == "cancel") {
    throw sdk::Cancel(text_of(part(1)));
  } else if (what == "bad_result") {
    return sdk::done(std::nan(""));
  } else if (what == "broken_result") {
    return sdk::done(Unwritable());
  } else if (what == "bad_progress") {
    context.progress({.percent = std::nan("")});
    context.progress({}, "{no JSON");
  } else if (what == "exit") {
    _exit(9);
  }
  return std::nullopt;
}

void write_text(JsonWriter& json, std::string_view name, const std::string& text) {
  json.key(name);
  text.empty() ? json.null() : json.string(text);
}

void write_schedule(JsonWriter& json, const sdk::JobSchedule& schedule) {
  json.begin_object().key("name").string(schedule.name).key("scheduled_at");
  schedule.scheduled_at ? json.string(sdk::write_time(*schedule.scheduled_at)) : json.null();
  json.end_object();
}

void write_workflow(JsonWriter& json, const sdk::ClaimedWorkflow& workflow) {
  json.begin_object().key("id").string(workflow.id);
  write_text(json, "name", workflow.name);
  write_text(json, "ref", workflow.ref);
  json.key("number");
  workflow.number ? json.integer(*workflow.number) : json.null();
  json.key("role").string(workflow.role).key("generation").integer(workflow.generation);
  json.key("state").string(workflow.state);
  if (workflow.counts) {
    json.key("counts").begin_object();
    json.key("blocked").integer(workflow.counts->blocked);
    json.key("active").integer(workflow.counts->active);
    json.key("succeeded").integer(workflow.counts->succeeded);
    json.key("failed").integer(workflow.counts->failed);
    json.key("skipped").integer(workflow.counts->skipped).end_object();
    json.key("failed").begin_array();
    for (const std::string& ref : workflow.failed) json.string(ref);
    json.end_array();
  }
  json.end_object();
}

void write_parent(JsonWriter& json, const sdk::Parent& parent) {
  json.begin_object();
  write_text(json, "id", parent.id);
  json.key("state").string(parent.state);
  write_text(json, "reason", parent.reason);
  if (!parent.result.empty()) json.key("result").raw(parent.result);
  if (!parent.omitted.empty()) json.key("omitted").string(parent.omitted);
  json.end_object();
}

void emit_start(const sdk::ClaimedJob& job, const std::string& worker) {
  emit_event("start", [&](JsonWriter& json) {
    json.key("worker").string(worker).key("job").string(job.id);
    json.key("type").string(job.type).key("queue").string(job.queue);
    json.key("attempt").integer(job.attempt);
    json.key("token").integer(static_cast<std::int64_t>(job.token));
    json.key("meta").begin_object();
    for (const auto& [name, value] : job.meta) json.key(name).string(value);
    json.end_object();
    json.key("checkpoint").raw(job.checkpoint.empty() ? "null" : job.checkpoint);
    json.key("traceparent");
    job.traceparent.empty() ? json.null() : json.string(job.traceparent);
    json.key("schedule");
    job.schedule ? write_schedule(json, *job.schedule) : void(json.null());
    json.key("workflow");
    job.workflow ? write_workflow(json, *job.workflow) : void(json.null());
    json.key("parents").begin_object();
    for (const auto& [ref, parent] : job.parents) write_parent(json.key(ref), parent);
    json.end_object();
  });
}

}  // namespace

Outcome play(sdk::Client& client, sdk::Context& context, const std::string& worker) {
  emit_start(context.job(), worker);
  const auto of_attempt = [&context](JsonWriter& json) {
    json.key("job").string(context.job().id);
    json.key("token").integer(static_cast<std::int64_t>(context.job().token));
  };
  const std::stop_callback told(context.stop_token(), [&] {
    emit_event("told", [&](JsonWriter& json) {
      of_attempt(json);
      json.key("reason").string(name_of(context.stop_reason()));
    });
  });
  struct End {
    const decltype(of_attempt)& write;
    ~End() { emit_event("end", write); }
  };
  const End end{of_attempt};
  const JsonView payload(context.job().payload);
  return steps(client, context, payload["script"]).value_or(Outcome::succeeded("null"));
}

}  // namespace millrace::conformance
