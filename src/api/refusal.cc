#include "api/refusal.h"

#include "terms/names.h"

namespace millrace::api {
namespace {

using terms::RefusalDetail;

constexpr auto kSentences = terms::names_up_to<terms::kLastRefusalDetail>({
    {RefusalDetail::kNone, ""},
    {RefusalDetail::kBehind,
     "the server refuses new jobs until its tables catch up; try again later"},
    {RefusalDetail::kTooManyKeys, "the server holds too many keys; try again later"},
    {RefusalDetail::kQueueAtMaxReady, "the queue holds as many ready jobs as its max_ready allows"},
    {RefusalDetail::kIdOfAnotherQueue, "a job of another queue has this id; use a new id"},
    {RefusalDetail::kUniqueKeyHeld, "a job holds this unique key"},
    {RefusalDetail::kUniqueKeyHeldByRunning,
     "a running job holds this unique key, and a running job can't be replaced; wait until it "
     "ends"},
    {RefusalDetail::kUniqueKeyTaken,
     "another job now holds this job's unique key; wait until that job ends"},
    {RefusalDetail::kKeyOfAnotherBody,
     "an earlier request used this idempotency key with another body; use a new key"},
    {RefusalDetail::kNotEnded, "the job has not ended; only an ended job can be retried"},
    {RefusalDetail::kAttemptsUsedUp, "the job has no attempts left; retry it with reset_attempts"},
    {RefusalDetail::kNotWaiting, "the job is not waiting; only a waiting job can be edited"},
    {RefusalDetail::kMaxAttemptsTooLow,
     "max_attempts must exceed the number of attempts that the job has made"},
    {RefusalDetail::kRunning, "a running job can't be deleted; cancel it first"},
    {RefusalDetail::kShardSilent,
     "the shard did not answer, and may have applied the change; look at the job, then try again"},
    {RefusalDetail::kShardWithoutLeader,
     "no node leads the shard now, and nothing was done; try again later"},
    {RefusalDetail::kShardStopping, "the shard is stopping, and nothing was done; try again later"},
    {RefusalDetail::kShardUnwritable, "the shard can't write its journal now; try again later"},
    {RefusalDetail::kShardDenied,
     "the node that leads the shard refused the token, and nothing was done; configure the same "
     "tokens on all nodes"},
    {RefusalDetail::kNoSuchLease, "no such lease of the job was ever given"},
    {RefusalDetail::kFinishUnderWay, "a transaction is finishing the job; try again later"},
    {RefusalDetail::kOfAnotherState, "the job has left the states that the request names"},
    {RefusalDetail::kLeaseForgotten,
     "the server has forgotten this lease, because too many leases have ended since; look at the "
     "job"},
    {RefusalDetail::kIdOfAnotherBody,
     "the job with this id has another type, payload, priority, tags, meta, unique key or timeout; "
     "use a new id"},
    {RefusalDetail::kNameNeverUsed,
     "no queue has this name; check the spelling, or create the queue with ?create=true"},
    {RefusalDetail::kTooManyQueues,
     "the shard has reached its limit of queues; delete unused queues"},
    {RefusalDetail::kQueueHasJobs, "the queue still has jobs; send ?force=true to delete them too"},
    {RefusalDetail::kTooManySchedules,
     "the shard has reached its limit of schedules; delete unused schedules"},
    {RefusalDetail::kScheduleOfAnotherOwner,
     "another owner manages the schedule of this name; choose another name, or send \"force\": "
     "true to take it over"},
    {RefusalDetail::kTooManyEntries,
     "there are as many of these as the store can hold; delete unused ones"},
    {RefusalDetail::kNoSuchLimit,
     "no limit has this name; check the spelling, or create the limit"},
    {RefusalDetail::kLimitGone,
     "a limit of the job is gone; create it again, or retry with \"drop_limits\": true"},
    {RefusalDetail::kLimitWantsKey, "the limit counts by key; send a key with it"},
    {RefusalDetail::kLimitWithoutKeys, "the limit does not count by key; leave the key out"},
    {RefusalDetail::kCostAboveBurst,
     "the cost is above the burst of the limit's rate, so the job could never start; lower it"},
    {RefusalDetail::kTooManyLimitsOfJob,
     "the job and its queue name more than 8 limits; name fewer"},
    {RefusalDetail::kLimitNamedByJobs,
     "jobs that have not ended name the limit; send ?force=true to let them go free"},
    {RefusalDetail::kLimitNamedByQueue, "a queue's settings name the limit; change them first"},
    {RefusalDetail::kLimitCountsJobs,
     "jobs that have not ended name the limit, so it must go on counting as it does; make a new "
     "limit"},
    {RefusalDetail::kTooManyLimits,
     "there are as many limits as the server allows; delete unused ones"},
    {RefusalDetail::kTooManyPauses,
     "as many keys of the limit are paused as the server allows; resume some"},
    {RefusalDetail::kLimitNamedTwice,
     "a job, or a queue, names a limit twice; name each limit once"},
    {RefusalDetail::kSlowsLimitOfOthers,
     "slow_down names a limit, or a key, that the job does not hold; name one of the job's limits"},
    {RefusalDetail::kDebounceOfAnotherType,
     "a job of another type holds this unique key, and only a job of its type can replace what it "
     "says; use another key"},
    {RefusalDetail::kKeyAtMaxReady,
     "the queue holds as many ready jobs of this fair_key as its max_ready_per_key allows"},
    {RefusalDetail::kKeyBoundWithoutFair,
     "max_ready_per_key bounds fair keys, so the queue needs fair; send {\"fair\": {}} with it"},
    {RefusalDetail::kFairAndAgeing,
     "a queue can't have both fair and ageing_ms; send one of them as null"},
    {RefusalDetail::kTooManyToSort,
     "the queue has more than 1,000,000 jobs that would be sorted again; change its order when it "
     "has fewer"},
    {RefusalDetail::kTooManyOperations,
     "100 operations go on already; wait until one ends, or cancel one"},
    {RefusalDetail::kTooManyOperationsOfToken,
     "the token has as many operations going on as there are free places for others; wait until "
     "one ends, or cancel one"},
    {RefusalDetail::kTooManyLimitKeys,
     "a limit of the job remembers as many keys as it may, so no job with a new key is accepted; a "
     "key is forgotten when its rate allows a whole burst again and its breaker is closed; use a "
     "known key, or try again later"},
    {RefusalDetail::kMemoryFull,
     "the server's memory is full, and it refuses new jobs until work ends; start workers, delete "
     "waiting jobs, or raise --memory"},
    {RefusalDetail::kIdOfAnotherWorkflow,
     "another request made the workflow with this id; use a new id"},
    {RefusalDetail::kWorkflowKeyHeld,
     "another workflow holds the unique key of this one; wait until that one ends"},
    {RefusalDetail::kRefTwice, "another member has this ref; give each member its own"},
    {RefusalDetail::kNeedTwice, "the member needs another one twice; name each need once"},
    {RefusalDetail::kUnknownRef,
     "no member has a ref that is named here; check the spelling, or add the member"},
    {RefusalDetail::kUnknownResultRef,
     "no member has this ref; name one of the members, or leave the workflow open"},
    {RefusalDetail::kCircle,
     "the member needs itself, through what it needs; take one of the needs away"},
    {RefusalDetail::kTooManyMembers,
     "a workflow has at most 1,000,000 members; make several workflows"},
    {RefusalDetail::kTooManyNeeds,
     "the members of a workflow have at most 4,000,000 needs; join some of them in a member "
     "between"},
    {RefusalDetail::kTooManyDependants,
     "at most 100,000 members can need one; let some of them need a member between"},
    {RefusalDetail::kTooManyMemberQueues,
     "the jobs of a workflow's members are in at most 100 queues; use fewer"},
    {RefusalDetail::kWorkflowEnded,
     "the workflow has ended, so this can't be done any more; retry it, or make a new one"},
    {RefusalDetail::kWorkflowNotEnded, "the workflow has not ended; cancel it first"},
    {RefusalDetail::kWorkflowStopping,
     "the workflow is stopping; wait until it has ended, then retry it"},
    {RefusalDetail::kWorkflowClosed,
     "the workflow is closed, and takes members only from an active member of its own; name that "
     "as "
     "\"by\""},
    {RefusalDetail::kMemberNotActive,
     "the member named as \"by\" is not active, so it can't add members"},
    {RefusalDetail::kMemberNotBlocked,
     "the member is not blocked, so it can't be skipped; cancel its job instead"},
    {RefusalDetail::kMemberNotFailed,
     "a member that is named has not failed; retry failed members only"},
    {RefusalDetail::kNothingToRetry,
     "no failure is left uncaught; name the refs of failed members to retry them anyway"},
    {RefusalDetail::kMemberOfWorkflow,
     "the job belongs to a workflow, which runs it as soon as it can; leave `run_at` out"},
    {RefusalDetail::kNoMember,
     "the job is no member of a workflow, so `grow` does not apply to it; leave it out"},
    {RefusalDetail::kNotNeedingIt,
     "`skip` names a member that does not need this one; skip it with "
     "POST /v1/workflows/{id}/members/{ref}/skip"},
});

}  // namespace

std::string_view sentence_of(RefusalDetail detail) {
  return kSentences.at(static_cast<std::size_t>(detail));
}

}  // namespace millrace::api
