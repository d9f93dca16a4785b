// The members of the replies, as nodes send them to each other: see describe.h.
#pragma once

#include <tuple>

#include "core/describe.h"
#include "core/jobs/job_fields.h"
#include "core/queues/queue_fields.h"
#include "core/rejection.h"
#include "core/reply.h"

namespace millrace::core {

constexpr auto last_of(Of<Rejection>) { return kLastRejection; }
constexpr auto last_of(Of<RefusalDetail>) { return terms::kLastRefusalDetail; }
constexpr auto last_of(Of<Fate>) { return Fate::kRefused; }

constexpr auto describe(Of<Fullness>) {
  return std::tuple(Field(1, &Fullness::depth), Field(2, &Fullness::oldest),
                    Field(3, &Fullness::room_in));
}

constexpr auto describe(Of<Refusal>) {
  return std::tuple(Field(1, &Refusal::why), Field(2, &Refusal::other), Field(3, &Refusal::detail),
                    Field(4, &Refusal::full));
}

constexpr auto describe(Of<JobView::LogTrim>) {
  return std::tuple(Field(1, &JobView::LogTrim::n), Field(2, &JobView::LogTrim::below));
}

constexpr auto describe(Of<JobView>) {
  return std::tuple(Field(1, &JobView::job), Field(2, &JobView::attempts), Field(3, &JobView::logs),
                    Field(4, &JobView::marks), Field(5, &JobView::log_trims));
}

constexpr auto describe(Of<EnqueueReply::Item>) {
  return std::tuple(Field(1, &EnqueueReply::Item::fate), Field(2, &EnqueueReply::Item::refusal),
                    Field(3, &EnqueueReply::Item::id), Field(4, &EnqueueReply::Item::state),
                    Field(5, &EnqueueReply::Item::job), Field(6, &EnqueueReply::Item::deleted),
                    Field(7, &EnqueueReply::Item::by_key));
}

constexpr auto describe(Of<EnqueueReply>) {
  return std::tuple(Field(1, &EnqueueReply::items), Field(2, &EnqueueReply::refused_as_one));
}

constexpr auto describe(Of<ClaimReply::Item>) {
  return std::tuple(Field(1, &ClaimReply::Item::job));
}

constexpr auto describe(Of<ClaimReply>) { return std::tuple(Field(1, &ClaimReply::jobs)); }

constexpr auto describe(Of<ItemReply>) {
  return std::tuple(Field(1, &ItemReply::refusal), Field(2, &ItemReply::id),
                    Field(3, &ItemReply::state), Field(4, &ItemReply::lease_expires_at),
                    Field(5, &ItemReply::cancel_requested), Field(6, &ItemReply::version),
                    Field(7, &ItemReply::job), Field(8, &ItemReply::deleted),
                    Field(0, &ItemReply::fence, Form::kUnsent));
}

constexpr auto describe(Of<ItemsReply>) { return std::tuple(Field(1, &ItemsReply::items)); }

constexpr auto describe(Of<JobReply>) {
  return std::tuple(Field(1, &JobReply::job), Field(2, &JobReply::deleted));
}

constexpr auto describe(Of<LimitHolder>) {
  return std::tuple(Field(1, &LimitHolder::job), Field(2, &LimitHolder::key),
                    Field(3, &LimitHolder::worker), Field(4, &LimitHolder::since));
}

constexpr auto describe(Of<LimitReply>) {
  return std::tuple(Field(1, &LimitReply::refusal), Field(2, &LimitReply::created),
                    Field(3, &LimitReply::changed), Field(4, &LimitReply::limits),
                    Field(5, &LimitReply::keys), Field(6, &LimitReply::holders),
                    Field(7, &LimitReply::next), Field(8, &LimitReply::named));
}

constexpr auto describe(Of<WhyReply>) {
  return std::tuple(Field(1, &WhyReply::known), Field(2, &WhyReply::state), Field(3, &WhyReply::at),
                    Field(4, &WhyReply::blocking));
}

constexpr auto describe(Of<QueueReply>) {
  return std::tuple(Field(1, &QueueReply::refusal), Field(2, &QueueReply::created),
                    Field(3, &QueueReply::queues), Field(4, &QueueReply::next),
                    Field(5, &QueueReply::blocked_by), Field(6, &QueueReply::held_back));
}

}  // namespace millrace::core
