#include "millrace/async.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

#include "millrace/exceptions.h"
#include "millrace/fake.h"

namespace millrace::sdk {
namespace {

using namespace std::chrono_literals;

// A coroutine that starts at once, whose value is awaited from outside.
template <typename Value>
struct Task {
  struct promise_type {
    std::promise<Value> done;
    Task get_return_object() { return {done.get_future()}; }
    std::suspend_never initial_suspend() { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_value(Value result) { done.set_value(std::move(result)); }
    void unhandled_exception() { done.set_exception(std::current_exception()); }
  };
  std::future<Value> value;
};

Handlers greeter() {
  return Handlers().on<std::string>("greet",
                                    [](const std::string& name) { return "hello " + name; });
}

Task<std::string> greet(AsyncClient& client, std::string name) {
  const auto submitted = value_of(co_await client.submit("greet", name));
  const auto ended = value_of(co_await client.wait(submitted.job.id, 1s));
  co_return ended.result.value_or("");
}

TEST(AsyncTest, ACoroutineAwaitsCalls) {
  Fake fake(greeter(), FakeMode::kInline);
  AsyncClient client(fake.client());
  EXPECT_EQ(greet(client, "Ada").value.get(), R"("hello Ada")");
}

TEST(AsyncTest, ACallIsGivenToItsCallback) {
  Fake fake(greeter(), FakeMode::kInline);
  AsyncClient client(fake.client());
  std::promise<Result<Submitted>> told;
  client.start([](Client& calls) { return calls.submit("greet", std::string("Bob")); },
               [&told](Result<Submitted> submitted) { told.set_value(std::move(submitted)); });
  const auto submitted = told.get_future().get();
  ASSERT_TRUE(submitted);
  EXPECT_EQ(value_of(fake.client().get(submitted->job.id)).state, "succeeded");
}

TEST(AsyncTest, AnErrorIsAValue) {
  Fake fake;
  AsyncClient client(fake.client());
  const auto ask = [](AsyncClient& asked) -> Task<Problem> {
    const auto job = co_await asked.get("0195a1b2-c3d4-7e5f-8899-aabbccddeeff");
    co_return job.error().problem();
  };
  EXPECT_EQ(ask(client).value.get(), Problem::kNotFound);
}

// The application's own event loop, run by the test's thread.
class Loop {
 public:
  void post(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
    posted_.notify_one();
  }
  void run_one() {
    std::unique_lock lock(mutex_);
    posted_.wait(lock, [this] { return !tasks_.empty(); });
    const auto task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
  }

 private:
  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<std::function<void()>> tasks_;
};

TEST(AsyncTest, ACoroutineGoesOnInTheApplicationsLoop) {
  Fake fake(greeter(), FakeMode::kInline);
  Loop loop;
  AsyncClient client(fake.client(), {.resume = [&loop](std::function<void()> task) {
                       loop.post(std::move(task));
                     }});
  const auto where = [](AsyncClient& asked) -> Task<std::thread::id> {
    value_of(co_await asked.submit("greet", std::string("Ada")));
    co_return std::this_thread::get_id();
  };
  auto task = where(client);
  loop.run_one();
  EXPECT_EQ(task.value.get(), std::this_thread::get_id());
}

TEST(AsyncTest, CallsBeyondTheThreadsWait) {
  Fake fake(greeter(), FakeMode::kInline);
  AsyncClient client(fake.client(), {.threads = 2});
  std::vector<Task<std::string>> tasks;
  for (int i = 0; i < 50; ++i) tasks.push_back(greet(client, std::to_string(i)));
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(tasks[i].value.get(), "\"hello " + std::to_string(i) + "\"");
  }
}

}  // namespace
}  // namespace millrace::sdk
