// Any bytes as the body of each call; the first byte selects the call. An accepted body must keep
// its promises: bounds, views within the body, faults that can be shown.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/job_calls.h"
#include "api/meta.h"
#include "api/queue.h"
#include "api/submission.h"
#include "api/worker.h"
#include "base/check.h"
#include "base/json_check.h"
#include "base/json_writer.h"

namespace {

using namespace millrace;
using namespace millrace::api;
using millrace::JobId;

DecodeLimits small_limits() {
  DecodeLimits limits;
  limits.body_bytes = 64 * 1024;
  limits.payload_bytes = 1024;
  limits.json_depth = 16;
  return limits;
}

void check_problem(const Problem& problem) {
  MILLRACE_CHECK(problem.status() >= 400 && problem.status() < 500);
  MILLRACE_CHECK(problem.errors.size() <= kMaxFieldErrors);
  MILLRACE_CHECK((problem.code == ProblemCode::kValidationFailed) == !problem.errors.empty());
  std::string text;
  JsonWriter json(text);
  encode(json, problem, "r");
  MILLRACE_CHECK(!check_json(text, 4, LoneSurrogates::kRefused));
}

void check_raw(std::string_view body, std::string_view raw, std::size_t max_bytes) {
  if (raw.empty() || raw == "null") return;
  MILLRACE_CHECK(raw.size() <= max_bytes);
  MILLRACE_CHECK(raw.data() >= body.data() && raw.data() + raw.size() <= body.data() + body.size());
  MILLRACE_CHECK(!check_json(raw, 16, LoneSurrogates::kKept));
}

void check_job(std::string_view body, const JobSubmission& job) {
  MILLRACE_CHECK(!job.type.empty() && job.type.size() <= kMaxNameBytes);
  MILLRACE_CHECK(!job.queue.empty() && job.queue.size() <= kMaxNameBytes);
  MILLRACE_CHECK(job.tags.size() <= kMaxTags);
  MILLRACE_CHECK(!(job.run_at && job.delay) && !(job.expires_at && job.expires_in));
  MILLRACE_CHECK(!job.unique ||
                 (!job.unique->key.empty() && job.unique->key.size() <= kMaxUniqueKeyBytes));
  check_raw(body, job.payload, small_limits().payload_bytes);
}

void check_ack(std::string_view body, const Ack& ack) {
  MILLRACE_CHECK(ack.outcome != AckOutcome::kSnoozed || ack.delay);
  MILLRACE_CHECK(!ack.error || ack.error->message.size() <= kErrorMessageBytes);
  check_raw(body, ack.result, small_limits().payload_bytes);
  for (const JobSubmission& job : ack.enqueue) check_job(body, job);
}

template <typename T, typename Check>
void check(const Decoded<T>& decoded, Check&& check_value) {
  if (decoded) {
    check_value(*decoded);
  } else {
    check_problem(decoded.error());
  }
}

template <typename T, typename Check>
void check_items(const std::vector<Item<T>>& items, Check&& check_value) {
  MILLRACE_CHECK(items.size() <= kMaxBatchItems);
  for (const Item<T>& item : items) {
    if (item.fault) {
      check_problem(*item.fault);
    } else {
      check_value(item.value);
    }
  }
}

constexpr std::uint8_t kBodies = 20;

void decode(std::uint8_t which, std::string_view body) {
  const DecodeLimits limits = small_limits();
  const auto nothing = [](const auto&) {};
  const auto job = [&](const JobSubmission& value) { check_job(body, value); };
  const auto ack = [&](const Ack& value) { check_ack(body, value); };
  const JobId id;
  switch (which % kBodies) {
    case 0:
      return check(decode_job(body, limits), job);
    case 1:
      return check(decode_batch(body, limits),
                   [&](const BatchSubmission& batch) { check_items(batch.jobs, job); });
    case 2:
      return check(decode_claim(body, limits),
                   [](const Claim& claim) { MILLRACE_CHECK(!claim.queues.empty()); });
    case 3:
      return check(decode_heartbeats(body, limits),
                   [&](const auto& items) { check_items(items, nothing); });
    case 4:
      return check(decode_acks(body, limits), [&](const auto& items) { check_items(items, ack); });
    case 5:
      return check(decode_poll(body, "w", limits), [&](const Poll& poll) {
        check_items(poll.acks, ack);
        check_items(poll.heartbeats, nothing);
        check_items(poll.logs, nothing);
      });
    case 6:
      return check(decode_complete(body, id, limits), ack);
    case 7:
      return check(decode_fail(body, id, limits), ack);
    case 8:
      return check(decode_snooze(body, id, limits), ack);
    case 9:
      return check(decode_heartbeat(body, id, limits), nothing);
    case 10:
      return check(decode_bulk(body, limits),
                   [](const Bulk& bulk) { MILLRACE_CHECK(bulk.filter || !bulk.ids.empty()); });
    case 11:
      return check(decode_job_patch(body, limits), nothing);
    case 12:
      return check(decode_queue_settings(body, limits), nothing);
    case 13:
      return check(decode_purge(body, limits),
                   [](const Purge& purge) { MILLRACE_CHECK(!purge.states.empty()); });
    case 14:
      return check(decode_retry(body, limits), nothing);
    case 15:
      return check(decode_backup(body, limits), nothing);
    case 16:
      return check(decode_release(body, id, limits), ack);
    case 17:
      return check(decode_cancel(body, limits), nothing);
    case 18:
      return check(decode_pause(body, limits), nothing);
    default:
      return check(decode_nothing(body, limits), nothing);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::vector<char> memory(
      data + 1,
      data + size);  // exactly the given bytes, so that the sanitizer detects a read beyond them
  decode(data[0], {memory.data(), memory.size()});
  return 0;
}
