#include "api/event_facts.h"

#include <string_view>

namespace millrace::api {
namespace {

// Writes the members of one shape. A member without a value is left out, not null.
class Members {
 public:
  explicit Members(JsonWriter& json) : json_(json) {}

  void operator()(const std::monostate&) {}
  void operator()(const terms::QueueFacts& facts) {
    if_true("created", facts.created);
    if_any("reason", facts.reason);
    if_any("deleted", facts.deleted);
  }
  void operator()(const terms::ScheduleFacts& facts) {
    json_.member("schedule", facts.schedule.view());
    if_any("version", facts.version);
    if_true("created", facts.created);
    if_any("reason", facts.reason);
  }
  void operator()(const terms::SkippedFacts& facts) {
    json_.member("schedule", facts.schedule.view());
    json_.member("outcome", name_of(facts.outcome));
    json_.member("scheduled_at", facts.scheduled_at);
    json_.member("count", facts.count);
  }
  void operator()(const terms::BrokenFacts& facts) {
    json_.member("schedule", facts.schedule.view());
    json_.member("error", facts.problem.view());
  }
  void operator()(const terms::ErrorGroupFacts& facts) {
    json_.member("error_group", facts.error_group.view());
  }
  void operator()(const terms::OperationFacts& facts) {
    json_.member("operation", facts.operation);
    if (facts.kind) json_.member("kind", name_of(*facts.kind));
    if (facts.action != terms::OperationAction::kNone) {
      json_.member("action", name_of(facts.action));
    }
    if_any("rate_per_s", facts.rate_per_s);
    if (facts.state) json_.member("state", name_of(*facts.state));
    if_any("reason", facts.reason);
  }
  void operator()(const terms::LimitFacts& facts) {
    if_any("limit", facts.limit);
    if_any("type", facts.type);
    if_any("version", facts.version);
    if_true("created", facts.created);
    if_any("key", facts.key);
    if_any("reason", facts.reason);
    if_any("until", facts.until);
  }
  void operator()(const terms::SubmittedFacts& facts) {
    json_.member("state", name_of(facts.state));
    json_.member("priority", int{facts.priority});
    json_.member("run_at", facts.run_at);
    if_any("schedule", facts.schedule);
    if_any("scheduled_at", facts.scheduled_at);
  }
  void operator()(const terms::StartedFacts& facts) {
    json_.member("waited_ms", facts.waited);
    json_.member("lease_expires_at", facts.lease_expires_at);
  }
  void operator()(const terms::AttemptFacts& facts) {
    if (facts.state) json_.member("state", name_of(*facts.state));
    json_.member("ran_ms", facts.ran);
    if_any("run_at", facts.run_at);
    if (facts.error) write_error(*facts.error);
    note(facts.kept);
  }
  void operator()(const terms::EndFacts& facts) {
    if_any("reason", facts.reason);
    note(facts.kept);
  }
  void operator()(const terms::DueFacts& facts) {
    json_.member("state", name_of(facts.state));
    json_.member("run_at", facts.run_at);
    if_any("generation", facts.generation);
  }
  void operator()(const terms::FinishedFacts& facts) {
    json_.member("state", name_of(facts.state));
    if (facts.from) json_.member("from", name_of(*facts.from));
    if_any("reason", facts.reason);
    note(facts.kept);
  }
  void operator()(const terms::EditedFacts& facts) {
    if (facts.priority) json_.member("priority", int{*facts.priority});
    if_any("run_at", facts.run_at);
    if (facts.state) json_.member("state", name_of(*facts.state));
    if_any("max_attempts", facts.max_attempts);
    if_true("payload", facts.payload);
    if_true("tags", facts.tags);
  }
  void operator()(const terms::DeletedFacts& facts) {
    json_.member("cause", name_of(facts.cause));
    json_.member("state", name_of(facts.state));
  }
  void operator()(const terms::WorkflowFacts& facts) {
    json_.member("workflow", facts.workflow);
    if_any("name", facts.name);
    if (facts.state) json_.member("state", name_of(*facts.state));
    if (facts.reason != terms::WorkflowReason::kNone) {
      json_.member("reason", name_of(facts.reason));
    }
    if_any("generation", facts.generation);
    if_any("number", facts.number);
    if (!facts.counts) return;
    json_.key("counts");
    json_.begin_object();
    for (std::size_t i = 0; i < facts.counts->size(); ++i) {
      json_.member(name_of(static_cast<terms::MemberState>(i)), (*facts.counts)[i]);
    }
    json_.end_object();
  }

 private:
  void if_true(std::string_view name, bool value) {
    if (value) json_.member(name, true);
  }
  void if_any(std::string_view name, const SharedBytes& text) {
    if (!text.empty()) json_.member(name, text.view());
  }
  void if_any(std::string_view name, const std::optional<Time>& time) {
    if (time) json_.member(name, *time);
  }
  void if_any(std::string_view name, const std::optional<std::uint32_t>& number) {
    if (number) json_.member(name, std::uint64_t{*number});
  }
  void if_any(std::string_view name, const std::optional<std::uint64_t>& number) {
    if (number) json_.member(name, *number);
  }
  // A job that is kept needs no mention.
  void note(bool kept) {
    if (!kept) json_.member("kept", false);
  }
  void write_error(const terms::AttemptError& error) {
    json_.key("error");
    json_.begin_object();
    json_.member("type", error.type.view());
    json_.member("message", error.message.view());
    if (error.redacted) json_.member("redacted", true);
    json_.end_object();
  }

  JsonWriter& json_;
};

}  // namespace

void encode(JsonWriter& json, const terms::EventFacts& facts) {
  json.begin_object();
  std::visit(Members(json), facts);
  json.end_object();
}

}  // namespace millrace::api
