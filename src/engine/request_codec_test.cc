#include "engine/request_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <tuple>
#include <utility>

#include "store/testing/arbitrary.h"
#include "store/testing/event_equality.h"

// --- Equality. Each type is taken apart by structured bindings, so that a member which is added
// and forgotten here does not compile. In the types' own namespaces, where store::same() looks.

namespace millrace::core {

template <typename... Alternatives>
bool same_value(const std::variant<Alternatives...>& a, const std::variant<Alternatives...>& b) {
  return a.index() == b.index() &&
         std::visit(
             [&](const auto& x) { return store::same(x, std::get<std::decay_t<decltype(x)>>(b)); },
             a);
}

inline auto parts(const StateSet& v) { return std::tie(v.left_out); }
inline auto parts(const JobSpec& v) {
  const auto& [id, origin, queue, type, payload, priority, run_at, delay, expires_at, expires_in,
               max_attempts, retry, lease, timeout, extras, key] = v;
  return std::tie(id, origin, queue, type, payload, priority, run_at, delay, expires_at, expires_in,
                  max_attempts, retry, lease, timeout, extras, key);
}
inline auto parts(const Enqueue& v) {
  const auto& [jobs, atomicity, detail, key, window] = v;
  return std::tie(jobs, atomicity, detail, key, window);
}
inline auto parts(const Claim& v) {
  const auto& [queues, types, limit, lease, worker] = v;
  return std::tie(queues, types, limit, lease, worker);
}
inline auto parts(const HeartbeatItem& v) {
  const auto& [id, token, extend, progress] = v;
  return std::tie(id, token, extend, progress);
}
inline auto parts(const Heartbeat& v) {
  const auto& [items, detail] = v;
  return std::tie(items, detail);
}
inline auto parts(const LogEntry& v) {
  const auto& [at, level, message] = v;
  return std::tie(at, level, message);
}
inline auto parts(const AckItem& v) {
  const auto& [id, token, outcome, result, error, retryable, delay, logs, enqueue] = v;
  return std::make_tuple(id, token, outcome, result, std::shared_ptr<const JobError>(error),
                         retryable, delay, logs, enqueue);
}
inline auto parts(const Ack& v) {
  const auto& [items, detail, right] = v;
  return std::tie(items, detail, right);
}
inline auto parts(const LogItem& v) {
  const auto& [id, token, entry] = v;
  return std::tie(id, token, entry);
}
inline auto parts(const AppendLogs& v) { return std::tie(v.items); }
inline auto parts(const Cancel& v) {
  const auto& [ids, reason, states] = v;
  return std::tie(ids, reason, states);
}
inline auto parts(const Retry& v) {
  const auto& [ids, run_at, reset, states] = v;
  return std::tie(ids, run_at, reset, states);
}
inline auto parts(const Edit& v) {
  const auto& [ids, if_version, priority, run_at, payload, max_attempts, tags, states] = v;
  return std::tie(ids, if_version, priority, run_at, payload, max_attempts, tags, states);
}
inline auto parts(const Delete& v) {
  const auto& [ids, cause, states, if_version] = v;
  return std::tie(ids, cause, states, if_version);
}
inline auto parts(const QueuePatch& v) {
  const auto& [attempts, crashes, retry, lease, max_ready, succeeded, dead, cancelled, expired] = v;
  return std::tie(attempts, crashes, retry, lease, max_ready, succeeded, dead, cancelled, expired);
}
inline auto parts(const SetQueue& v) {
  const auto& [queue, replace, patch, if_version, create] = v;
  return std::tie(queue, replace, patch, if_version, create);
}
inline auto parts(const PauseQueue& v) {
  const auto& [queue, reason, create] = v;
  return std::tie(queue, reason, create);
}
inline auto parts(const ResumeQueue& v) { return std::tie(v.queue); }
inline auto parts(const NotePurge& v) {
  const auto& [queue, deleted] = v;
  return std::tie(queue, deleted);
}
inline auto parts(const GetJob& v) { return std::tie(v.id); }
inline auto parts(const DeleteQueue& v) { return std::tie(v.queue); }
inline auto parts(const GetQueues& v) {
  const auto& [queue, after, limit, counts_only] = v;
  return std::tie(queue, after, limit, counts_only);
}

inline auto parts(const Refusal& v) {
  const auto& [why, other, detail] = v;
  return std::tie(why, other, detail);
}
inline auto parts(const Mark& v) {
  const auto& [kind, at, attempt, reason] = v;
  return std::tie(kind, at, attempt, reason);
}
inline auto parts(const JobView::LogTrim& v) {
  const auto& [n, below] = v;
  return std::tie(n, below);
}
inline auto parts(const JobView& v) {
  const auto& [job, attempts, logs, marks, trims] = v;
  return std::tie(job, attempts, logs, marks, trims);
}
inline auto parts(const EnqueueReply::Item& v) {
  const auto& [fate, refusal, id, state, job, deleted] = v;
  return std::tie(fate, refusal, id, state, job, deleted);
}
inline auto parts(const EnqueueReply& v) {
  const auto& [items, refused_as_one] = v;
  return std::tie(items, refused_as_one);
}
inline auto parts(const ClaimReply::Item& v) { return std::tie(v.job); }
inline auto parts(const ClaimReply& v) { return std::tie(v.jobs); }
inline auto parts(const ItemReply& v) {
  // No other node asks for what is told of fences.
  const auto& [refusal, id, state, lease_expires_at, cancel_requested, version, job, deleted,
               fence] = v;
  return std::tie(refusal, id, state, lease_expires_at, cancel_requested, version, job, deleted);
}
inline auto parts(const ItemsReply& v) { return std::tie(v.items); }
inline auto parts(const JobReply& v) {
  const auto& [job, deleted] = v;
  return std::tie(job, deleted);
}
inline auto parts(const Queue& v) {
  const auto& [name, settings, paused, reason, version, counts, created, pruned, oldest] = v;
  return std::tie(name, settings, paused, reason, version, counts, created, pruned, oldest);
}
inline auto parts(const QueueReply& v) {
  const auto& [refusal, created, queues, next] = v;
  return std::tie(refusal, created, queues, next);
}

}  // namespace millrace::core

namespace millrace::engine {
namespace {

using store::Arbitrary;
using store::same;
using ::testing::HasSubstr;
using namespace std::string_view_literals;

}  // namespace

inline auto parts(const WorkerInfo& v) {
  const auto& [id, host, pid, sdk, version, labels] = v;
  return std::tie(id, host, pid, sdk, version, labels);
}
inline auto parts(const WaitingClaim& v) {
  const auto& [claim, wait, worker] = v;
  return std::tie(claim, wait, worker);
}
inline auto parts(const Poll& v) {
  const auto& [worker, acks, heartbeats, logs, claim, wait, goodbye] = v;
  return std::tie(worker, acks, heartbeats, logs, claim, wait, goodbye);
}
inline auto parts(const WatchJob& v) {
  const auto& [id, wait, queue, lease] = v;
  return std::tie(id, wait, queue, lease);
}
inline auto parts(const FindJob& v) {
  const auto& [id] = v;
  return std::tie(id);
}
inline auto parts(const AwaitProjection&) { return std::tuple<>(); }
inline auto parts(const AwaitEvents& v) {
  const auto& [after, wait] = v;
  return std::tie(after, wait);
}
inline auto parts(const AwaitWork& v) {
  const auto& [queues, types, worker, wait, no_orders] = v;
  return std::tie(queues, types, worker, wait, no_orders);
}
inline auto parts(const ListWorkers&) { return std::tuple<>(); }
inline auto parts(const CommandWorker& v) {
  const auto& [worker, state] = v;
  return std::tie(worker, state);
}
inline auto parts(const WorkerOrder& v) {
  const auto& [kind, job, token] = v;
  return std::tie(kind, job, token);
}
inline auto parts(const PollReply& v) {
  const auto& [acks, heartbeats, logs, claim, orders, news] = v;
  return std::tie(acks, heartbeats, logs, claim, orders, news);
}
inline auto parts(const WorkerView& v) {
  const auto& [info, state, queues, types, first_seen_at, last_seen_at, running] = v;
  return std::tie(info, state, queues, types, first_seen_at, last_seen_at, running);
}
inline auto parts(const WorkersReply& v) {
  const auto& [found, workers] = v;
  return std::tie(found, workers);
}

namespace {

// --- Arbitrary values.

class Maker {
 public:
  explicit Maker(std::uint64_t seed) : make_(seed) {}

  template <std::size_t Index>
  core::Command command() {
    using Made = std::variant_alternative_t<Index, core::Command>;
    return one(std::type_identity<Made>());
  }
  template <std::size_t Index>
  core::Reply reply() {
    using Made = std::variant_alternative_t<Index, core::Reply>;
    return one(std::type_identity<Made>());
  }
  template <std::size_t Index>
  Request request() {
    using Made = std::variant_alternative_t<Index, Request>;
    return one(std::type_identity<Made>());
  }
  template <std::size_t Index>
  Answer answer() {
    using Made = std::variant_alternative_t<Index, Answer>;
    return one(std::type_identity<Made>());
  }

  Request any_request() { return one(std::type_identity<Request>()); }
  Answer any_answer() { return one(std::type_identity<Answer>()); }

 private:
  template <typename T>
  using Of = std::type_identity<T>;

  template <typename Made, typename Alternative>
  static Made made(Maker& maker) {
    return maker.one(Of<Alternative>());
  }
  template <typename... Alternatives>
  std::variant<Alternatives...> one(Of<std::variant<Alternatives...>>) {
    using Made = std::variant<Alternatives...>;
    using Make = Made (*)(Maker&);
    static constexpr Make kMakers[] = {&made<Made, Alternatives>...};
    return kMakers[make_.below(sizeof...(Alternatives))](*this);
  }
  template <typename T>
  std::vector<T> some(std::uint64_t most = 3) {
    return make_.several(most, [&] { return one(Of<T>()); });
  }
  std::vector<SharedBytes> names() {
    return make_.several(3, [&] { return make_.bytes(9); });
  }
  std::vector<JobId> ids() {
    return make_.several(3, [&] { return make_.id(); });
  }
  template <typename T>
  std::optional<T> number() {
    return make_.maybe([&] { return make_.number<T>(); });
  }
  std::optional<Time> time() {
    return make_.maybe([&] { return make_.time(); });
  }
  std::optional<Duration> duration() {
    return make_.maybe([&] { return make_.duration(); });
  }
  core::Detail detail() { return make_.enumerator(core::Detail::kJobs); }
  std::optional<core::State> state() {
    return make_.maybe([&] { return make_.enumerator(store::kLastState); });
  }
  core::StateSet states() { return {make_.number<std::uint16_t>()}; }
  std::shared_ptr<const core::RetryPolicy> policy() {
    return make_.coin() ? nullptr : make_.shared_policy();
  }
  std::string text() { return std::string(make_.bytes().view()); }
  std::shared_ptr<const core::JobView> view() {
    if (make_.coin()) return nullptr;
    return std::make_shared<core::JobView>(one(Of<core::JobView>()));
  }
  core::Refusal refusal() {
    if (make_.coin()) return {};
    const auto why = static_cast<core::Rejection>(
        1 + make_.below(static_cast<std::uint64_t>(core::kLastRejection)));
    return {why, make_.id(), make_.enumerator(core::kLastRefusalDetail)};
  }

  std::monostate one(Of<std::monostate>) { return {}; }
  core::JobSpec one(Of<core::JobSpec>) {
    return {make_.id(),
            make_.enumerator(core::IdOrigin::kClient),
            make_.name(),
            make_.name(),
            make_.bytes(),
            make_.number<std::int16_t>(),
            time(),
            make_.duration(),
            time(),
            duration(),
            number<std::uint32_t>(),
            policy(),
            duration(),
            duration(),
            make_.extras(),
            submission_key()};
  }
  std::shared_ptr<const core::SubmissionKey> submission_key() {
    if (make_.coin()) return nullptr;
    return std::make_shared<const core::SubmissionKey>(
        core::SubmissionKey{make_.fingerprint(), make_.fingerprint(), make_.duration()});
  }
  core::Enqueue one(Of<core::Enqueue>) {
    const auto key = [&] {
      return core::IdempotencyKey{make_.fingerprint(), make_.fingerprint(), make_.time()};
    };
    return {some<core::JobSpec>(), make_.enumerator(core::Atomicity::kAll), detail(),
            make_.maybe(key), make_.duration()};
  }
  core::Claim one(Of<core::Claim>) {
    return {names(), names(), make_.number<std::uint32_t>(), duration(), make_.bytes()};
  }
  core::HeartbeatItem one(Of<core::HeartbeatItem>) {
    return {make_.id(), make_.token(), duration(), make_.progress()};
  }
  core::Heartbeat one(Of<core::Heartbeat>) { return {some<core::HeartbeatItem>(), detail()}; }
  core::LogEntry one(Of<core::LogEntry>) {
    return {time(), make_.number<std::uint8_t>(), make_.bytes()};
  }
  core::AckItem one(Of<core::AckItem>) {
    core::AckItem item;
    item.id = make_.id();
    item.token = make_.token();
    item.outcome = make_.enumerator(core::AckOutcome::kDead);
    item.result = make_.bytes();
    if (const auto error = make_.error()) item.error = std::make_shared<core::JobError>(*error);
    item.retryable = make_.coin();
    item.delay = duration();
    item.logs = some<core::LogEntry>();
    item.enqueue = some<core::JobSpec>(2);
    return item;
  }
  core::Ack one(Of<core::Ack>) { return {some<core::AckItem>(), detail()}; }
  core::LogItem one(Of<core::LogItem>) {
    return {make_.id(), make_.token(), one(Of<core::LogEntry>())};
  }
  core::AppendLogs one(Of<core::AppendLogs>) { return {some<core::LogItem>()}; }
  core::Cancel one(Of<core::Cancel>) { return {ids(), make_.bytes(), states()}; }
  core::Retry one(Of<core::Retry>) { return {ids(), time(), make_.coin(), states()}; }
  core::Edit one(Of<core::Edit>) {
    return {ids(),
            number<std::uint64_t>(),
            number<std::int16_t>(),
            time(),
            make_.bytes(),
            number<std::uint32_t>(),
            make_.maybe([&] { return names(); }),
            states()};
  }
  core::Delete one(Of<core::Delete>) {
    return {ids(), make_.enumerator(core::DeleteCause::kPurge), states(),
            make_.maybe([&] { return make_.number<std::uint64_t>(); })};
  }
  core::SetQueue one(Of<core::SetQueue>) {
    const auto length = [&] { return duration(); };
    const core::QueuePatch patch{number<std::uint32_t>(),
                                 make_.maybe([&] { return number<std::uint32_t>(); }),
                                 policy(),
                                 duration(),
                                 make_.maybe([&] { return number<std::uint64_t>(); }),
                                 make_.maybe(length),
                                 make_.maybe(length),
                                 make_.maybe(length),
                                 make_.maybe(length)};
    return {make_.bytes(), make_.coin(), patch, number<std::uint64_t>(), make_.coin()};
  }
  core::PauseQueue one(Of<core::PauseQueue>) {
    return {make_.bytes(), make_.bytes(), make_.coin()};
  }
  core::ResumeQueue one(Of<core::ResumeQueue>) { return {make_.bytes()}; }
  core::NotePurge one(Of<core::NotePurge>) {
    return {make_.bytes(), make_.number<std::uint64_t>()};
  }
  core::GetJob one(Of<core::GetJob>) { return {make_.id()}; }
  core::GetQueues one(Of<core::GetQueues>) {
    return {make_.bytes(), make_.bytes(), make_.number<std::uint32_t>(), make_.coin()};
  }
  core::DeleteQueue one(Of<core::DeleteQueue>) { return {make_.bytes()}; }

  WorkerInfo one(Of<WorkerInfo>) {
    return {make_.bytes(), text(), number<std::int64_t>(),
            text(),        text(), make_.several(3, [&] { return std::pair(text(), text()); })};
  }
  WaitingClaim one(Of<WaitingClaim>) {
    return {one(Of<core::Claim>()), make_.duration(), one(Of<WorkerInfo>())};
  }
  Poll one(Of<Poll>) {
    return {one(Of<WorkerInfo>()),
            one(Of<core::Ack>()),
            one(Of<core::Heartbeat>()),
            one(Of<core::AppendLogs>()),
            make_.maybe([&] { return one(Of<core::Claim>()); }),
            make_.duration(),
            make_.coin()};
  }
  WatchJob one(Of<WatchJob>) { return {make_.id(), make_.duration(), make_.name(), make_.token()}; }
  FindJob one(Of<FindJob>) { return {make_.id()}; }
  AwaitProjection one(Of<AwaitProjection>) { return {}; }
  AwaitEvents one(Of<AwaitEvents>) {
    return {make_.several(4, [&] { return Seq{make_.number<std::uint64_t>()}; }), make_.duration()};
  }
  AwaitWork one(Of<AwaitWork>) {
    return {names(), names(), make_.bytes(), make_.duration(), make_.coin()};
  }
  ListWorkers one(Of<ListWorkers>) { return {}; }
  CommandWorker one(Of<CommandWorker>) {
    return {make_.bytes(), make_.enumerator(WorkerState::kStopping)};
  }

  core::Mark one(Of<core::Mark>) {
    return {make_.enumerator(core::MarkKind::kEdited), make_.time(), make_.number<std::uint32_t>(),
            make_.bytes()};
  }
  core::JobView one(Of<core::JobView>) {
    const auto trim = [&] {
      return core::JobView::LogTrim{make_.number<std::uint32_t>(), make_.number<std::uint32_t>()};
    };
    return {make_.job(), make_.several(2, [&] { return make_.attempt(); }),
            make_.several(2, [&] { return make_.log_line(); }), some<core::Mark>(),
            make_.several(2, trim)};
  }
  core::EnqueueReply::Item one(Of<core::EnqueueReply::Item>) {
    return {make_.enumerator(core::Fate::kRefused),
            refusal(),
            make_.id(),
            state(),
            view(),
            make_.coin()};
  }
  core::EnqueueReply one(Of<core::EnqueueReply>) {
    return {some<core::EnqueueReply::Item>(), make_.coin()};
  }
  core::ClaimReply one(Of<core::ClaimReply>) {
    return {make_.several(3, [&] { return core::ClaimReply::Item{make_.job()}; })};
  }
  core::ItemReply one(Of<core::ItemReply>) {
    return {refusal(), make_.id(),   state(), time(), make_.coin(), make_.number<std::uint64_t>(),
            view(),    make_.coin(), {}};
  }
  core::ItemsReply one(Of<core::ItemsReply>) { return {some<core::ItemReply>()}; }
  core::JobReply one(Of<core::JobReply>) { return {view(), make_.coin()}; }
  core::Queue one(Of<core::Queue>) {
    core::Queue queue;
    queue.name = make_.bytes();
    queue.settings = make_.settings();
    queue.paused = make_.coin();
    queue.pause_reason = make_.bytes();
    queue.version = make_.number<std::uint64_t>();
    for (std::uint64_t& count : queue.counts) count = make_.number<std::uint64_t>();
    queue.created = make_.number<std::uint64_t>();
    queue.pruned = make_.number<std::uint64_t>();
    queue.oldest_ready_at = time();
    return queue;
  }
  core::QueueReply one(Of<core::QueueReply>) {
    return {refusal(), make_.coin(), some<core::Queue>(), make_.bytes()};
  }
  WorkerOrder one(Of<WorkerOrder>) {
    return {make_.enumerator(WorkerOrder::Kind::kCancel), make_.id(), make_.token()};
  }
  PollReply one(Of<PollReply>) {
    return {one(Of<core::ItemsReply>()), one(Of<core::ItemsReply>()), one(Of<core::ItemsReply>()),
            one(Of<core::ClaimReply>()), some<WorkerOrder>(),         make_.coin()};
  }
  WorkerView one(Of<WorkerView>) {
    return {one(Of<WorkerInfo>()),
            make_.enumerator(WorkerState::kStopping),
            names(),
            names(),
            make_.time(),
            make_.time(),
            some<core::JobView>(2)};
  }
  WorkersReply one(Of<WorkersReply>) { return {make_.coin(), some<WorkerView>()}; }
  Unavailable one(Of<Unavailable>) { return make_.enumerator(Unavailable::kUpgrading); }
  Denied one(Of<Denied>) { return make_.enumerator(Denied::kQueue); }

  Arbitrary make_;
};

std::string encoded(const Request& request) {
  std::string body;
  encode_request(request, body);
  return body;
}
std::string encoded(const Answer& answer) {
  std::string body;
  encode_answer(answer, body);
  return body;
}

// --- The tests.

TEST(RequestCodec, GivesBackEveryMemberOfEveryRequest) {
  ASSERT_TRUE(rc::check([](std::uint64_t seed) {
    const Request request = Maker(seed).any_request();
    const auto read = decode_request(encoded(request));
    RC_ASSERT(read.has_value());
    RC_ASSERT(same(*read, request));
  }));
}

TEST(RequestCodec, GivesBackEveryMemberOfEveryAnswer) {
  ASSERT_TRUE(rc::check([](std::uint64_t seed) {
    const Answer answer = Maker(seed).any_answer();
    const auto read = decode_answer(encoded(answer));
    RC_ASSERT(read.has_value());
    RC_ASSERT(same(*read, answer));
  }));
}

template <std::size_t Count, typename Check>
void for_each_alternative(Check check) {
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    (check(std::integral_constant<std::size_t, Index>()), ...);
  }(std::make_index_sequence<Count>());
}

void expect_back(const Request& request) {
  const auto read = decode_request(encoded(request));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(same(*read, request)) << "alternative " << request.index();
}
void expect_back(const Answer& answer) {
  const auto read = decode_answer(encoded(answer));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(same(*read, answer)) << "alternative " << answer.index();
}

constexpr int kRounds = 200;

TEST(RequestCodec, EveryAlternativeHoldsUnderManySeeds) {
  for_each_alternative<std::variant_size_v<core::Command>>([](auto at) {
    Maker make(at);
    for (int i = 0; i < kRounds; ++i) expect_back(Request(make.command<at>()));
  });
  for_each_alternative<std::variant_size_v<Request>>([](auto at) {
    Maker make(at);
    for (int i = 0; i < kRounds; ++i) expect_back(make.request<at>());
  });
  for_each_alternative<std::variant_size_v<core::Reply>>([](auto at) {
    Maker make(at);
    for (int i = 0; i < kRounds; ++i) expect_back(Answer(make.reply<at>()));
  });
  for_each_alternative<std::variant_size_v<Answer>>([](auto at) {
    Maker make(at);
    for (int i = 0; i < kRounds; ++i) expect_back(make.answer<at>());
  });
}

// That members are compared at all: another seed's value is another one.
TEST(RequestCodec, TheComparisonSeesADifference) {
  core::Ack ack;
  ack.items.resize(1);
  ack.items[0].error = std::make_shared<core::JobError>();
  core::Ack other = ack;
  EXPECT_TRUE(same(Request(core::Command(ack)), Request(core::Command(other))));
  core::JobError error;
  error.type = SharedBytes("t");
  other.items[0].error = std::make_shared<core::JobError>(error);
  EXPECT_FALSE(same(Request(core::Command(ack)), Request(core::Command(other))));
}

// --- What a node of the first level is sent.

std::string at_first(const Request& request) {
  std::string body;
  encode_request(request, body, PeerLevel::kFirst);
  return body;
}

TEST(RequestCodec, AnOlderNodeIsToldWhatItKnows) {
  Poll poll;
  poll.worker.id = SharedBytes("w");
  const std::string plain_poll = encoded(Request(poll));
  poll.goodbye = true;
  EXPECT_NE(encoded(Request(poll)), plain_poll);
  EXPECT_EQ(at_first(poll), plain_poll);
  EXPECT_EQ(level_of(poll), PeerLevel::kFirst);

  WatchJob watch{.id = {}, .wait = Duration{5}};
  const std::string plain_watch = encoded(Request(watch));
  watch.lease = LeaseToken{9};
  EXPECT_EQ(at_first(watch), plain_watch);

  core::SetQueue settings;
  settings.queue = SharedBytes("mail");
  const std::string plain_settings = encoded(Request(core::Command(settings)));
  settings.create = true;
  EXPECT_EQ(at_first(core::Command(settings)), plain_settings);

  core::GetQueues queues;
  const std::string all_queues = at_first(core::Command(queues));
  queues.after = SharedBytes("mail");
  queues.limit = 10;
  queues.counts_only = true;
  EXPECT_EQ(at_first(core::Command(queues)), all_queues);
}

TEST(RequestCodec, WhatMeansNothingWithoutANewMemberIsNotForAnOlderNode) {
  EXPECT_EQ(level_of(core::Command(core::DeleteQueue{SharedBytes("mail")})), PeerLevel::kSecond);
  core::Enqueue enqueue;
  enqueue.jobs.resize(2);
  EXPECT_EQ(level_of(core::Command(enqueue)), PeerLevel::kFirst);
  enqueue.jobs[1].key = std::make_shared<core::SubmissionKey>();
  EXPECT_EQ(level_of(core::Command(enqueue)), PeerLevel::kSecond);
}

TEST(RequestCodec, AnOlderNodeIsToldAReasonThatItKnows) {
  const auto told = [](const Answer& answer) {
    std::string body;
    encode_answer(answer, body, PeerLevel::kFirst);
    auto read = decode_answer(body);
    EXPECT_TRUE(read);
    return read ? *read : Answer();
  };
  EXPECT_EQ(std::get<Unavailable>(told(Unavailable::kUpgrading)), Unavailable::kNoLeader);
  EXPECT_EQ(std::get<Unavailable>(told(Unavailable::kStorage)), Unavailable::kStorage);
  const auto refusal_told = [&](core::Refusal refusal) {
    core::ItemsReply reply;
    reply.items.emplace_back().refusal = refusal;
    const Answer answer = told(core::Reply(reply));
    return std::get<core::ItemsReply>(std::get<core::Reply>(answer)).items.at(0).refusal;
  };
  using core::RefusalDetail;
  using core::Rejection;
  const auto mismatch = refusal_told({Rejection::kIdMismatch, {}, RefusalDetail::kIdOfAnotherBody});
  EXPECT_EQ(mismatch.why, Rejection::kDuplicateJob);
  EXPECT_EQ(mismatch.detail, RefusalDetail{});
  EXPECT_EQ(refusal_told({Rejection::kTooManyQueues, {}, {}}).why, Rejection::kOverloaded);
  EXPECT_EQ(refusal_told({Rejection::kNotFound, {}, RefusalDetail::kOfAnotherState}).detail,
            RefusalDetail::kOfAnotherState);
}

// The value, and the names it refers to: none.
std::string with_no_names(std::string_view value) {
  return std::string(value) + std::string("\x12\x00", 2);
}

TEST(RequestCodec, RefusesAnUnknownKind) {
  // {1: {11: {}}}
  EXPECT_THAT(decode_request(with_no_names("\x0a\x02\x5a\x00"sv)).error().message,
              HasSubstr("unknown or misplaced field 11"));
  EXPECT_THAT(decode_answer(with_no_names("\x0a\x02\x3a\x00"sv)).error().message,
              HasSubstr("unknown or misplaced field 7"));
  // {1: {1: {17: {}}}}: a command
  EXPECT_THAT(decode_request(with_no_names("\x0a\x05\x0a\x03\x8a\x01\x00"sv)).error().message,
              HasSubstr("unknown or misplaced field 17"));
}

TEST(RequestCodec, RefusesTwoAlternatives) {
  // {1: {6: {}, 8: {}}}
  EXPECT_TRUE(decode_request(with_no_names("\x0a\x02\x32\x00"sv)));
  EXPECT_THAT(decode_request(with_no_names("\x0a\x04\x32\x00\x42\x00"sv)).error().message,
              HasSubstr("unknown or misplaced field 8"));
}

TEST(RequestCodec, RefusesAnUnknownFieldOrValue) {
  // {1: {6: {1: 1}}}: a member that AwaitProjection has not
  EXPECT_THAT(decode_request(with_no_names("\x0a\x04\x32\x02\x08\x01"sv)).error().message,
              HasSubstr("unknown or misplaced field 1"));
  // {1: {5: {1: 6}}}, {1: {5: {1: 7}}}: Unavailable
  EXPECT_TRUE(decode_answer(with_no_names("\x0a\x04\x2a\x02\x08\x06"sv)));
  EXPECT_THAT(decode_answer(with_no_names("\x0a\x04\x2a\x02\x08\x07"sv)).error().message,
              HasSubstr("unknown value of field 1"));
  EXPECT_THAT(decode_answer(with_no_names("\x0a\x02\x2a\x00"sv)).error().message,
              HasSubstr("missing field 1"));
}

// A node of a version that does not know them reads what names neither states nor a version.
TEST(RequestCodec, WhatIsNotNamedTakesNoBytes) {
  core::Delete command{{JobId{}}, core::DeleteCause::kPurge};
  const std::string plain = encoded(core::Command(command));
  command.states = core::StateSet::of({core::State::kDead});
  command.if_version = 1;
  EXPECT_EQ(encoded(core::Command(command)).size(), plain.size() + 3 + 2);
}

TEST(RequestCodec, RefusesNothing) {
  EXPECT_THAT(decode_request("").error().message, HasSubstr("missing"));
  EXPECT_THAT(decode_answer({"\x0a\x00", 2}).error().message, HasSubstr("missing field 1"));
}

TEST(RequestCodec, EveryCutBodyIsReadOrRefusedNeverWorse) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const std::string body = encoded(Maker(seed).any_request());
    for (std::size_t size = 0; size < body.size(); ++size) {
      // A copy of exactly that size, so that the address sanitizer sees a read past its end.
      const std::vector<char> cut(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(size));
      const auto read = decode_request({cut.data(), cut.size()});
      if (read) {
        EXPECT_EQ(encoded(*read).size(), size);
      }
    }
  }
}

TEST(RequestCodec, EveryFlippedBitIsReadOrRefusedNeverWorse) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const std::string body = encoded(Maker(seed).any_answer());
    for (std::size_t bit = 0; bit < std::min<std::size_t>(body.size(), 2'000) * 8; ++bit) {
      std::string flipped = body;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      if (const auto read = decode_answer(flipped)) {
        const auto again = decode_answer(encoded(*read));
        ASSERT_TRUE(again && same(*again, *read));
      }
    }
  }
}

}  // namespace
}  // namespace millrace::engine
