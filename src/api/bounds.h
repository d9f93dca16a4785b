// Every bound of the HTTP contract, with its unit in its name. core/bounds.h has the machine's own
// copies; http/ asserts that both agree, since neither room may include the other.
#pragma once

#include <cstddef>
#include <cstdint>

namespace millrace::api {

// Names: queue, type, tag. The characters are A-Z a-z 0-9 . _ : / -
constexpr std::size_t kMaxNameBytes = 128;

// Jobs.
constexpr std::int64_t kMinPriority = -32'768;
constexpr std::int64_t kMaxPriority = 32'767;
constexpr std::int64_t kMaxDelayMs = 10LL * 365 * 86'400'000;  // 10 years
constexpr std::int64_t kMaxAttempts = 1'000;
constexpr std::int64_t kMaxCrashes = 1'000;
constexpr std::int64_t kMinLeaseMs = 1'000;
constexpr std::int64_t kMaxLeaseMs = 86'400'000;
constexpr std::size_t kMaxUniqueKeyBytes = 255;
constexpr std::size_t kMaxIdempotencyKeyBytes = 255;
constexpr std::size_t kMaxTags = 32;
constexpr std::size_t kMaxMetaBytes = 8 * 1024;
constexpr std::size_t kMaxRetryDelays = 100;
constexpr std::size_t kMaxTracestateBytes = 512;
constexpr std::size_t kMaxReasonBytes = 1'024;

// The defaults of a retry policy's absent members.
constexpr std::int64_t kDefaultRetryBaseMs = 5'000;
constexpr std::int64_t kDefaultRetryMaxMs = 300'000;
constexpr double kDefaultRetryJitter = 0.2;
constexpr double kPartsPerMillion = 1e6;  // the server keeps shares as these

// Workers. Texts that a worker reports are cut, never refused: a long stack must not make an
// acknowledgement fail.
constexpr std::size_t kMaxWorkerTextBytes = 128;  // id, host, sdk, version
constexpr std::size_t kMaxWorkerLabelsBytes = 8 * 1024;
constexpr std::size_t kMaxClaimQueues = 100;
constexpr std::size_t kMaxClaimTypes = 100;
constexpr std::int64_t kMaxClaimLimit = 1'000;
constexpr std::int64_t kMaxWaitMs = 60'000;
constexpr std::int64_t kMinTargetWaitMs = 100;
constexpr std::int64_t kMaxTargetWaitMs = 86'400'000;
constexpr std::int64_t kMaxSlots = 10'000;  // of one worker, as a parameter of a queue's scale
constexpr std::size_t kMaxProgressBytes = 64 * 1024;
constexpr std::size_t kMaxProgressMessageBytes = 1'024;
constexpr std::size_t kErrorTypeBytes = 128;          // cut
constexpr std::size_t kErrorMessageBytes = 4 * 1024;  // cut
constexpr std::size_t kErrorStackBytes = 32 * 1024;   // cut
constexpr std::size_t kLogLineBytes = 8 * 1024;       // cut
constexpr std::size_t kMaxLogLinesPerAck = 1'000;

// Calls.
constexpr std::size_t kMaxBatchItems = 1'000;
constexpr std::int64_t kMaxListLimit = 1'000;
constexpr std::int64_t kDefaultListLimit = 50;
constexpr std::size_t kMaxCursorBytes = 4'096;
constexpr std::size_t kMaxListedNames = 100;  // values of one list parameter
constexpr std::size_t kMaxPathBytes = 4'096;
constexpr std::size_t kMaxFieldErrors = 20;
constexpr std::size_t kMaxQueryBytes = 1'024;
constexpr std::size_t kMaxQueryTerms = 20;
constexpr std::size_t kMaxQueryValues = 20;  // alternatives of one term

// Schedules.
constexpr std::size_t kMaxCronBytes = 512;
constexpr std::size_t kMaxTimezoneBytes = 64;
constexpr std::int64_t kMinEveryMs = 1'000;
constexpr std::int64_t kMaxEveryMs = kMaxDelayMs;
constexpr std::int64_t kMaxJitterMs = 86'400'000;
constexpr std::int64_t kMinMissedAfterMs = 1'000;
constexpr std::int64_t kMaxMissedAfterMs = 86'400'000;
constexpr std::int64_t kMaxMissedLimit = 1'000;
constexpr std::size_t kMaxSchedulePayloadBytes = 64 * 1024;
constexpr std::size_t kMaxScheduleWorkflowBytes = 64 * 1024;
constexpr std::size_t kMaxScheduleJobsBytes = 128 * 1024;  // of its jobs, defaults included
constexpr std::size_t kMaxSchedulesInSet = 10'000;
constexpr int kMaxBackfill = 1'000;
constexpr int kMaxPreview = 1'000;

// Workflows.
constexpr std::size_t kMaxMembersPerCall = 10'000;
constexpr std::size_t kMaxGrownMembers = 1'000;  // by an ack; the same for the refs that it skips
constexpr std::size_t kMaxMemberBytesPerCall = 16 * 1024 * 1024;  // of jobs, defaults included
constexpr std::size_t kMaxEnqueuedWorkflowBytes = 1024 * 1024;    // the same, in an ack
constexpr std::size_t kMaxNeedsOfMember = 1'000;
constexpr std::int64_t kMaxMaxActive = 1'000'000;
constexpr std::int64_t kMinWorkflowTimeoutMs = 1'000;
constexpr std::int64_t kMaxWorkflowTimeoutMs = kMaxDelayMs;
constexpr std::int64_t kMembersPerGraphPage = 10'000;

// Queues.
constexpr std::int64_t kMaxMaxReady = 1'000'000'000'000;

// Limits.
constexpr std::int64_t kMaxConcurrency = 1'000'000;
constexpr std::int64_t kMaxRateLimit = 1'000'000'000;
constexpr std::int64_t kMaxRatePerMs = 86'400'000;
constexpr std::size_t kMaxOrderKeyBytes = 128;
constexpr std::int64_t kMaxBreakerAttempts = 100'000;
constexpr std::int64_t kMinBreakerWindowMs = 1'000;
constexpr std::int64_t kMaxBreakerWindowMs = 3'600'000;
constexpr std::int64_t kMinBreakerOpenMs = 100;
constexpr std::int64_t kMaxBreakerOpenMs = 86'400'000;
constexpr std::int64_t kMaxBreakerProbes = 1'000;
constexpr std::int64_t kMinSlowDownMs = 100;
constexpr std::int64_t kMaxSlowDownMs = 3'600'000;
constexpr std::size_t kMaxFairKeyBytes = 128;
constexpr std::int64_t kMaxFairWeight = 1'000;
constexpr std::size_t kMaxFairWeights = 1'000;  // keys of a queue with their own weight
constexpr std::int64_t kMinAgeingMs = 1'000;
constexpr std::int64_t kMaxAgeingMs = 86'400'000;
constexpr std::int64_t kMaxLimitCost = 1'000'000;
constexpr std::size_t kMaxLimitKeyBytes = 255;
constexpr std::size_t kMaxJobLimits = 8;    // of a job, those of its queue included
constexpr std::size_t kMaxKeyBounds = 100;  // keys of a limit with their own bounds

// Statistics.
constexpr std::int64_t kMinStatsStepMs = 1'000;
constexpr std::int64_t kMaxStatsWindowMs = 90LL * 86'400'000;
constexpr std::int64_t kMaxStatsSteps = 1'000;
constexpr std::int64_t kDefaultStatsWindowMs = 3'600'000;
constexpr std::int64_t kDefaultStatsStepMs = 60'000;

// Findings.
constexpr std::int64_t kMaxFindingsOfACode = 100;
constexpr std::int64_t kMinFindingsWindowMs = 60'000;
constexpr std::int64_t kMaxFindingsWindowMs = 3'600'000;

// The bounds that an operator can configure.
struct DecodeLimits {
  std::size_t body_bytes = 16 * 1024 * 1024;
  std::size_t payload_bytes = 1024 * 1024;  // payload and result, as sent
  std::size_t json_depth = 64;              // of the whole body; at most kMaxJsonDepth
};

static_assert(kDefaultStatsWindowMs / kDefaultStatsStepMs <= kMaxStatsSteps);
static_assert(kDefaultListLimit <= kMaxListLimit);

}  // namespace millrace::api
