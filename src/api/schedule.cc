#include "api/schedule.h"

#include <algorithm>
#include <array>

#include "api/job_decode.h"
#include "api/named_decode.h"
#include "api/parameters.h"
#include "api/schedule_workflow.h"
#include "api/text.h"
#include "api/workflow_decode.h"
#include "base/json_writer.h"

namespace millrace::api {
namespace {

constexpr std::array<std::string_view, 2> kDstGap = {"run", "skip"};
constexpr std::array<std::string_view, 2> kDstOverlap = {"once", "twice"};

template <std::size_t Size>
void read_choice(Decode& decode, const Path& path, const std::array<std::string_view, Size>& words,
                 std::size_t& out) {
  std::size_t index = 0;
  if (read_word(decode, path, words, index)) out = index;
}

void read_int(Decode& decode, const Path& path, std::int64_t min, std::int64_t max, int& out) {
  std::int64_t value = 0;
  if (read_integer(decode, path, min, max, value)) out = static_cast<int>(value);
}

// The members of a timing, for each object that has one.
template <typename Owner>
void read_cron(Decode& d, const Path& p, Owner& out) {
  read_text(d, p, 1, kMaxCronBytes, out.timing.cron);
}
template <typename Owner>
void read_every(Decode& d, const Path& p, Owner& out) {
  read_into(out.timing.every, read_duration, d, p, kMinEveryMs, kMaxEveryMs);
}
template <typename Owner>
void read_timezone(Decode& d, const Path& p, Owner& out) {
  read_text(d, p, 1, kMaxTimezoneBytes, out.timing.timezone);
}
template <typename Owner>
void read_dst_gap(Decode& d, const Path& p, Owner& out) {
  std::size_t choice = 0;
  read_choice(d, p, kDstGap, choice);
  out.timing.skip_dst_gap = choice == 1;
}
template <typename Owner>
void read_dst_overlap(Decode& d, const Path& p, Owner& out) {
  std::size_t choice = 0;
  read_choice(d, p, kDstOverlap, choice);
  out.timing.twice_in_dst_overlap = choice == 1;
}

void check_timing(Decode& decode, const Path& path, bool has_cron, bool has_every) {
  if (!has_cron && !has_every) {
    decode.fault(Path{&path, "cron", 0}, "is required, unless every_ms is given");
  } else if (has_cron && has_every) {
    decode.fault(Path{&path, "every_ms", 0}, "must not be given together with cron");
  }
}

void read_schedule_job(Decode& decode, const Path& path, ScheduleSpec& spec) {
  read_job(decode, path, spec.job);
  const auto no_place = [&](std::string_view name, bool given, std::string_view why) {
    if (given) decode.fault(Path{&path, name, 0}, std::string(why));
  };
  no_place("id", spec.job.id.has_value(),
           "must be absent; the server chooses an id for each job of a schedule");
  no_place("run_at", spec.job.run_at.has_value(),
           "must be absent; the schedule decides when a job is due");
  no_place("delay_ms", spec.job.delay.has_value(),
           "must be absent; the schedule decides when a job is due");
  if (spec.job.payload.size() > kMaxSchedulePayloadBytes) {
    decode.fault(Path{&path, "payload", 0}, "must have at most 65536 bytes in a schedule");
  }
}

// Takes away what makes no sense, or could not be the same each time.
void refuse_unfit(Decode& decode, const Path& path, const NewWorkflow& workflow) {
  const auto absent = [&](const Path& at, std::string_view name, bool given, std::string_view why) {
    if (!given) return;
    decode.fault(Path{&at, name, 0}, "must be absent in a schedule; " + std::string(why));
  };
  absent(path, "id", workflow.id.has_value(), "the server makes an id for each instant");
  absent(path, "unique", workflow.unique.has_value(),
         "overlap of the schedule says what happens while a workflow runs");
  absent(path, "open", workflow.open, "nobody would close its workflows");
  constexpr std::string_view kWhyNoTime = "set delay_ms, which counts from the job's release";
  const Path members{&path, "members", 0};
  for (std::size_t i = 0; i < workflow.members.size(); ++i) {
    const Path member{&members, {}, i};
    absent(Path{&member, "job", 0}, "run_at", workflow.members[i].job.run_at.has_value(),
           kWhyNoTime);
  }
  for (const NewCallback& callback : workflow.callbacks) {
    absent(Path{&path, name_of(callback.role), 0}, "run_at", callback.job.run_at.has_value(),
           kWhyNoTime);
  }
}

void read_schedule_workflow(Decode& decode, const Path& path, ScheduleSpec& spec) {
  if (JsonCursor(decode.cursor).skip().size() > kMaxScheduleWorkflowBytes) {
    refuse_value(decode, path, "must have at most 65536 bytes in a schedule");
    return;
  }
  read_workflow(decode, path, spec.workflow.emplace());
  refuse_unfit(decode, path, *spec.workflow);
}

using Spec = ScheduleSpec;
constexpr Member<Spec> kSpecMembers[] = {
    {"cron", read_cron<Spec>},
    {"every_ms", read_every<Spec>},
    {"timezone", read_timezone<Spec>},
    {"job", read_schedule_job},
    {"workflow", read_schedule_workflow},
    {"start_at", [](Decode& d, const Path& p, Spec& s) { read_into(s.start_at, read_time, d, p); }},
    {"end_at", [](Decode& d, const Path& p, Spec& s) { read_into(s.end_at, read_time, d, p); }},
    {"jitter_ms",
     [](Decode& d, const Path& p, Spec& s) { read_duration(d, p, 0, kMaxJitterMs, s.jitter); }},
    {"missed_after_ms",
     [](Decode& d, const Path& p, Spec& s) {
       read_duration(d, p, kMinMissedAfterMs, kMaxMissedAfterMs, s.missed_after);
     }},
    {"missed", [](Decode& d, const Path& p, Spec& s) { read_named(d, p, s.missed); }},
    {"missed_limit",
     [](Decode& d, const Path& p, Spec& s) { read_int(d, p, 1, kMaxMissedLimit, s.missed_limit); }},
    {"overlap", [](Decode& d, const Path& p, Spec& s) { read_named(d, p, s.overlap); }},
    {"dst_gap", read_dst_gap<Spec>},
    {"dst_overlap", read_dst_overlap<Spec>},
    {"paused", [](Decode& d, const Path& p, Spec& s) { read_into(s.paused, read_boolean, d, p); }},
    {"managed_by", [](Decode& d, const Path& p, Spec& s) { read_name(d, p, s.managed_by); }},
};

void read_spec(Decode& decode, const Path& path, Spec& spec) {
  const std::optional<Seen> seen = read_object(decode, path, kSpecMembers, spec);
  if (!seen) return;
  const bool job = seen->has(bit_of(kSpecMembers, "job"));
  const bool workflow = seen->has(bit_of(kSpecMembers, "workflow"));
  if (!job && !workflow) {
    decode.fault(Path{&path, "job", 0}, "is required, unless workflow is given");
  } else if (job && workflow) {
    decode.fault(Path{&path, "workflow", 0}, "must not be given together with job");
  }
  check_timing(decode, path, seen->has(bit_of(kSpecMembers, "cron")),
               seen->has(bit_of(kSpecMembers, "every_ms")));
  if (spec.start_at && spec.end_at && *spec.end_at < *spec.start_at) {
    decode.fault(Path{&path, "end_at", 0}, "must not be before start_at");
  }
}

constexpr Member<ScheduleSet> kSetMembers[] = {
    {"managed_by", [](Decode& d, const Path& p, ScheduleSet& s) { read_name(d, p, s.managed_by); }},
    {"schedules",
     [](Decode& d, const Path& p, ScheduleSet& s) {
       read_map(d, p, kMaxSchedulesInSet, [&](std::string name, const Path& path) {
         if (!is_name(name)) {
           refuse_value(d, path, "is not a name: it " + std::string(kNameRule));
           return;
         }
         auto& added = s.schedules.emplace_back(std::move(name), ScheduleSpec{});
         read_spec(d, path, added.second);
       });
     }},
    {"prune", [](Decode& d, const Path& p, ScheduleSet& s) { read_boolean(d, p, s.prune); }},
    {"dry_run", [](Decode& d, const Path& p, ScheduleSet& s) { read_boolean(d, p, s.dry_run); }},
    {"force", [](Decode& d, const Path& p, ScheduleSet& s) { read_boolean(d, p, s.force); }},
};

void read_set(Decode& decode, const Path& path, ScheduleSet& set) {
  const std::optional<Seen> seen = read_object(decode, path, kSetMembers, set);
  if (!seen) return;
  require(decode, path, "managed_by", seen->has(bit_of(kSetMembers, "managed_by")));
  require(decode, path, "schedules", seen->has(bit_of(kSetMembers, "schedules")));
  const Path all{&path, "schedules", 0};
  for (auto& [name, spec] : set.schedules) {
    if (!spec.managed_by.empty() && spec.managed_by != set.managed_by) {
      const Path schedule{&all, name, 0};
      decode.fault(Path{&schedule, "managed_by", 0},
                   "must equal the managed_by of the set, or be absent");
    }
    spec.managed_by = set.managed_by;
  }
}

constexpr Member<SchedulePreview> kPreviewMembers[] = {
    {"cron", read_cron<SchedulePreview>},
    {"every_ms", read_every<SchedulePreview>},
    {"timezone", read_timezone<SchedulePreview>},
    {"dst_gap", read_dst_gap<SchedulePreview>},
    {"dst_overlap", read_dst_overlap<SchedulePreview>},
    {"from",
     [](Decode& d, const Path& p, SchedulePreview& out) { read_into(out.from, read_time, d, p); }},
    {"count", [](Decode& d, const Path& p,
                 SchedulePreview& out) { read_int(d, p, 1, kMaxPreview, out.count); }},
};

constexpr Member<Trigger> kTriggerMembers[] = {
    {"scheduled_at",
     [](Decode& d, const Path& p, Trigger& out) { read_into(out.scheduled_at, read_time, d, p); }},
};

constexpr Member<Backfill> kBackfillMembers[] = {
    {"from", [](Decode& d, const Path& p, Backfill& out) { read_time(d, p, out.from); }},
    {"to", [](Decode& d, const Path& p, Backfill& out) { read_time(d, p, out.to); }},
    {"limit",
     [](Decode& d, const Path& p, Backfill& out) { read_int(d, p, 1, kMaxBackfill, out.limit); }},
    {"dry_run", [](Decode& d, const Path& p, Backfill& out) { read_boolean(d, p, out.dry_run); }},
    {"rerun", [](Decode& d, const Path& p, Backfill& out) { read_boolean(d, p, out.rerun); }},
};

void encode_names(JsonWriter& json, std::string_view member,
                  const std::vector<std::string>& names) {
  json.key(member);
  json.begin_array();
  for (const std::string& name : names) json.string(name);
  json.end_array();
}

void encode_times(JsonWriter& json, std::string_view member, const std::vector<Time>& times) {
  json.key(member);
  json.begin_array();
  for (const Time time : times) json.time(time);
  json.end_array();
}

void encode_warnings(JsonWriter& json, const std::vector<std::string>& warnings) {
  if (!warnings.empty()) encode_names(json, "warnings", warnings);
}

template <typename T>
void encode_if(JsonWriter& json, std::string_view name, const std::optional<T>& value) {
  if (value) json.member(name, *value);
}

void encode_job(JsonWriter& json, const ScheduleJob& job) {
  json.begin_object();
  json.member("type", job.type);
  json.member("queue", job.queue);
  if (job.redacted) {
    json.member("redacted", true);
  } else {
    json.raw_member("payload", job.payload);
  }
  if (job.priority != 0) json.member("priority", job.priority);
  encode_if(json, "run_at", job.run_at);
  encode_if(json, "delay_ms", job.delay);
  encode_if(json, "expires_at", job.expires_at);
  encode_if(json, "expires_in_ms", job.expires_in);
  encode_if(json, "max_attempts", job.max_attempts);
  if (job.retry) json.key("retry"), encode(json, *job.retry);
  encode_if(json, "lease_ms", job.lease);
  encode_if(json, "timeout_ms", job.timeout);
  if (job.unique) {
    json.key("unique");
    json.begin_object();
    json.member("key", job.unique->key);
    encode_if(json, "for_ms", job.unique->hold);
    json.member("on_conflict", name_of(job.unique->on_conflict));
    if (job.unique->max_wait) json.member("max_wait_ms", *job.unique->max_wait);
    json.end_object();
  }
  if (!job.tags.empty()) {
    json.key("tags");
    json.begin_array();
    for (const std::string_view tag : job.tags) json.string(tag);
    json.end_array();
  }
  if (!job.meta.empty()) json.key("meta"), encode(json, job.meta);
  if (!job.traceparent.empty()) json.member("traceparent", job.traceparent);
  if (!job.tracestate.empty()) json.member("tracestate", job.tracestate);
  if (!job.limits.empty()) json.key("limits"), encode(json, job.limits);
  if (!job.order_key.empty()) {
    json.member("order_key", job.order_key);
    json.member("order_on_failure", name_of(job.order_on_failure));
  }
  if (!job.fair_key.empty()) json.member("fair_key", job.fair_key);
  json.end_object();
}

}  // namespace

Decoded<ScheduleSpec> decode_schedule(std::string_view body, const DecodeLimits& limits) {
  return decode_body<ScheduleSpec>(body, limits, EmptyBody::kRefused, read_spec);
}

Decoded<ScheduleSet> decode_schedule_set(std::string_view body, const DecodeLimits& limits) {
  return decode_body<ScheduleSet>(body, limits, EmptyBody::kRefused, read_set);
}

Decoded<SchedulePreview> decode_preview(std::string_view body, const DecodeLimits& limits) {
  return decode_body<SchedulePreview>(
      body, limits, EmptyBody::kRefused,
      [](Decode& decode, const Path& path, SchedulePreview& preview) {
        const std::optional<Seen> seen = read_object(decode, path, kPreviewMembers, preview);
        if (!seen) return;
        check_timing(decode, path, seen->has(bit_of(kPreviewMembers, "cron")),
                     seen->has(bit_of(kPreviewMembers, "every_ms")));
      });
}

Decoded<Trigger> decode_trigger(std::string_view body, const DecodeLimits& limits) {
  return decode_members<Trigger>(body, limits, EmptyBody::kEmptyObject, kTriggerMembers);
}

Decoded<Backfill> decode_backfill(std::string_view body, const DecodeLimits& limits) {
  return decode_body<Backfill>(
      body, limits, EmptyBody::kRefused, [](Decode& decode, const Path& path, Backfill& backfill) {
        const std::optional<Seen> seen = read_object(decode, path, kBackfillMembers, backfill);
        if (!seen) return;
        const bool from = seen->has(bit_of(kBackfillMembers, "from"));
        const bool to = seen->has(bit_of(kBackfillMembers, "to"));
        require(decode, path, "from", from);
        require(decode, path, "to", to);
        if (from && to && backfill.from >= backfill.to) {
          decode.fault(Path{&path, "from", 0}, "must be before to");
        }
      });
}

Decoded<ScheduleListQuery> decode_schedule_list_query(std::string_view query_string) {
  static constexpr Parameter<ScheduleListQuery> kParameters[] = {
      {"limit", [](const Argument& a,
                   ScheduleListQuery& out) { take_integer(a, 1, kMaxListLimit, out.limit); }},
      {"cursor", [](const Argument& a, ScheduleListQuery& out) { take_cursor(a, out.cursor); }},
      {"managed_by",
       [](const Argument& a, ScheduleListQuery& out) {
         out.managed_by.emplace();
         if (!a.value.empty()) take_name(a, *out.managed_by);
       }},
      {"queue", [](const Argument& a, ScheduleListQuery& out) { take_name(a, out.queue); }},
  };
  return decode_parameters<ScheduleListQuery>(query_string, kParameters);
}

void encode(JsonWriter& json, const SetOutcome& outcome) {
  json.begin_object();
  encode_names(json, "created", outcome.created);
  encode_names(json, "updated", outcome.updated);
  encode_names(json, "unchanged", outcome.unchanged);
  encode_names(json, "deleted", outcome.deleted);
  json.end_object();
}

void encode(JsonWriter& json, const BackfillOutcome& outcome) {
  json.begin_object();
  json.member("submitted", outcome.submitted);
  json.member("existing", outcome.existing);
  json.member("more", outcome.more);
  json.end_object();
}

void encode(JsonWriter& json, const ScheduleJob& job) { encode_job(json, job); }

void encode(JsonWriter& json, const Schedule& schedule) {
  json.begin_object();
  json.member("name", schedule.name);
  json.text_or_null("cron", schedule.cron);
  json.member("every_ms", schedule.every);
  json.member("timezone", schedule.timezone);
  if (schedule.workflow != nullptr) {
    json.key("workflow");
    encode(json, *schedule.workflow);
  } else {
    json.key("job");
    encode_job(json, schedule.job);
  }
  json.member("start_at", schedule.start_at);
  json.member("end_at", schedule.end_at);
  json.member("jitter_ms", schedule.jitter);
  json.member("missed_after_ms", schedule.missed_after);
  json.member("missed", name_of(schedule.missed));
  json.member("missed_limit", schedule.missed_limit);
  json.member("overlap", name_of(schedule.overlap));
  json.member("dst_gap", kDstGap[schedule.skip_dst_gap ? 1 : 0]);
  json.member("dst_overlap", kDstOverlap[schedule.twice_in_dst_overlap ? 1 : 0]);
  json.member("paused", schedule.paused);
  json.text_or_null("managed_by", schedule.managed_by);
  json.member("version", schedule.version);
  json.member("state", schedule.state);
  json.text_or_null("reason", schedule.reason);
  json.text_or_null("error", schedule.error);
  json.member("created_at", schedule.created_at);
  json.member("updated_at", schedule.updated_at);
  json.member("last_scheduled_at", schedule.last_scheduled_at);
  json.member("last_job_id", schedule.last_job_id);
  encode_if(json, "last_workflow_id", schedule.last_workflow_id);
  encode_times(json, "next", schedule.next);
  json.member("description", schedule.description);
  encode_warnings(json, schedule.warnings);
  json.end_object();
}

void encode(JsonWriter& json, const PreviewAnswer& preview) {
  json.begin_object();
  json.member("description", preview.description);
  encode_times(json, "next", preview.next);
  encode_warnings(json, preview.warnings);
  json.end_object();
}

void encode_runs(JsonWriter& json, const std::vector<ScheduleRun>& runs) {
  json.begin_object();
  json.key("items");
  json.begin_array();
  for (const ScheduleRun& run : runs) {
    json.begin_object();
    json.member("scheduled_at", run.scheduled_at);
    json.member("at", run.at);
    json.member("job_id", run.job);
    encode_if(json, "workflow_id", run.workflow);
    json.member("outcome", run.outcome);
    if (run.count > 1) json.member("count", run.count);
    if (!run.error.empty()) json.member("error", run.error);
    json.end_object();
  }
  json.end_array();
  json.end_object();
}

}  // namespace millrace::api
