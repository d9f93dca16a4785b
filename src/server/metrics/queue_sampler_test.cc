#include "server/metrics/queue_sampler.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "store/memory/memory_store.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""ms;
using SteadyClock = std::chrono::steady_clock;

class NoGateway final : public engine::Gateway {
 public:
  void submit(engine::Request, engine::ReplyPort&, engine::Ticket, std::string_view) override {}
  void cancel(engine::ReplyPort&, engine::Ticket) override {}
};

class QueueSamplerTest : public testing::Test {
 protected:
  // A shard of `queues` queues named by four-digit numbers; each answer takes `takes`.
  std::optional<core::Reply> answer(const core::Command& command) {
    ++asked;
    std::this_thread::sleep_for(takes);
    if (std::holds_alternative<core::GetLimits>(command)) return core::Reply(core::LimitReply{});
    const auto& get = std::get<core::GetQueues>(command);
    core::QueueReply reply;
    if (!get.queue.empty()) {
      core::Queue& queue = reply.queues.emplace_back();
      queue.name = get.queue;
      queue.oldest_ready_at = time_from_ms(5'000);
      return core::Reply(std::move(reply));
    }
    largest = std::max(largest, std::uint32_t{get.limit});
    int number = get.after.empty() ? 0 : std::stoi(std::string(get.after.view())) + 1;
    for (; number < queues && reply.queues.size() < get.limit; ++number) {
      core::Queue& queue = reply.queues.emplace_back();
      queue.name = SharedBytes(fmt::format("{:04}", number));
      queue.counts[static_cast<std::size_t>(core::State::kReady)] = 1;
    }
    if (number < queues) reply.next = reply.queues.back().name;
    return core::Reply(std::move(reply));
  }

  int queues = 0;
  std::atomic<int> asked = 0;
  std::uint32_t largest = 0;
  std::chrono::milliseconds takes{0};
  store::Store store = store::make_memory_store();
  engine::ReadModels models{{store.tables.get()}};
  QueueSampler sampler{[this](engine::Gateway&, const core::Command& c) { return answer(c); },
                       models};
  std::vector<std::shared_ptr<engine::Gateway>> led{std::make_shared<NoGateway>()};
};

TEST_F(QueueSamplerTest, ReadsAllInSmallSlicesAndTheFullestClosely) {
  queues = 1'000;
  const auto sample = sampler.sample(led, {});
  ASSERT_EQ(sample->queues.size(), 1'000u);
  EXPECT_LE(largest, QueueSampler::kSlice);
  std::size_t close = 0;
  for (const core::Queue& queue : sample->queues) close += queue.oldest_ready_at ? 1u : 0u;
  EXPECT_EQ(close, sample->desired_slots.size());
  EXPECT_GT(close, 0u);
  EXPECT_LT(close, 1'000u);
}

TEST_F(QueueSamplerTest, WhoScrapesOftenGetsTheSampleBefore) {
  queues = 3;
  takes = 30ms;  // so that the rest after it, in which this goes on, is of seconds
  const auto first = sampler.sample(led, {});
  const int before = asked;
  for (int i = 0; i < 100; ++i) EXPECT_EQ(sampler.sample(led, {}), first);
  EXPECT_EQ(asked, before);
  std::this_thread::sleep_for(first->took * (QueueSampler::kRest + 1));
  EXPECT_NE(sampler.sample(led, {}), first);
}

TEST_F(QueueSamplerTest, TheShardHasAsLongForOthers) {
  queues = 3;
  takes = 5ms;
  const auto begin = SteadyClock::now();
  const auto sample = sampler.sample(led, {});
  EXPECT_GE(SteadyClock::now() - begin, 2 * asked * takes);
  EXPECT_GE(sample->took, 2 * asked * takes);
}

TEST_F(QueueSamplerTest, WhileOneReadsOthersDoNotWait) {
  queues = 3;
  const auto first = sampler.sample(led, {});
  takes = 500ms;
  std::this_thread::sleep_for(first->took * (QueueSampler::kRest + 1));
  std::atomic<bool> has_read = false;
  std::thread reader([&] {
    sampler.sample(led, {});
    has_read = true;
  });
  while (asked < 7) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(sampler.sample(led, {}), first);
  EXPECT_FALSE(has_read);
  reader.join();
}

}  // namespace
}  // namespace millrace::server
