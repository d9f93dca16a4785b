#include "cli/bench/polls.h"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace millrace::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr std::size_t kReceiveBytes = 2'048;  // room for an answer with one small job
constexpr int kSubmitBatch = 1'000;
constexpr rlim_t kOtherFiles = 64;

std::uint64_t now_us() {
  return static_cast<std::uint64_t>(
      std::chrono::duration_cast<std::chrono::microseconds>(steady_clock::now().time_since_epoch())
          .count());
}

}  // namespace

IdlePolls::IdlePolls(IdlePlan plan) : plan_(std::move(plan)), epoll_(epoll_create1(EPOLL_CLOEXEC)) {
  MILLRACE_CHECK(epoll_ >= 0);
  workers_.reserve(static_cast<std::size_t>(plan_.connections));
}

IdlePolls::~IdlePolls() { ::close(epoll_); }

Result<bool> IdlePolls::open_some(int count) {
  for (; count > 0 && open() < plan_.connections; --count) {
    if (auto opened = open_one(); !opened) return std::unexpected(opened.error());
  }
  return open() < plan_.connections;
}

Status IdlePolls::open_one() {
  const std::size_t index = workers_.size();
  auto worker = std::make_unique<Worker>(kReceiveBytes);
  if (auto opened = worker->connection.open(plan_.address); !opened) return opened;
  const std::string id = fmt::format("bench-idle-{}", index);
  worker->head = request_head(plan_.address, plan_.token, "/v1/workers/" + id + "/poll");
  worker->claim = fmt::format(R"({{"claim":{{"queues":["{}"],"limit":1,"wait_ms":{},)"
                              R"("worker":{{"id":"{}","sdk":"bench"}}}}}})",
                              plan_.queues[index % plan_.queues.size()], plan_.poll_wait_ms, id);
  if (auto sent = worker->connection.send(worker->head, worker->claim); !sent) return sent;
  epoll_event event{.events = EPOLLIN, .data = {.ptr = worker.get()}};
  if (epoll_ctl(epoll_, EPOLL_CTL_ADD, worker->connection.descriptor(), &event) != 0) {
    return failure(fmt::format("cannot wait for so many connections: {}", std::strerror(errno)));
  }
  workers_.push_back(std::move(worker));
  return {};
}

Status IdlePolls::hold_for(milliseconds duration) {
  const auto end = steady_clock::now() + duration;
  std::array<epoll_event, 256> events;
  while (!all_done()) {
    const auto left = std::chrono::ceil<milliseconds>(end - steady_clock::now());
    if (left.count() <= 0) break;
    if (plan_.stop.stop_requested()) return failure("interrupted");
    const auto wait = std::min(left, milliseconds{100});
    const int ready =
        epoll_wait(epoll_, events.data(), events.size(), static_cast<int>(wait.count()));
    for (int i = 0; i < ready; ++i) {
      handle(*static_cast<Worker*>(events[static_cast<std::size_t>(i)].data.ptr));
    }
  }
  return {};
}

// Blocks until the answer is complete. That is quick: it is small and was sent at once.
void IdlePolls::handle(Worker& worker) {
  const auto answer = worker.connection.receive();
  if (!answer || answer->status != 200) return lose(worker);
  if (worker.has_job) {
    if (count(answer->body, R"("status":200)") != 1) return lose(worker);
    worker.is_done = true;
    ++done_;
    epoll_ctl(epoll_, EPOLL_CTL_DEL, worker.connection.descriptor(), nullptr);
    return;
  }
  take(worker, answer->body);
}

void IdlePolls::take(Worker& worker, std::string_view answer) {
  const std::uint64_t now = now_us();
  std::string acks;
  each_handed_out(answer, [&](const HandedOut& job) {
    add_ack(acks, job);
    hand_out_.add(std::chrono::microseconds{static_cast<std::int64_t>(now - job.stamp_us)});
  });
  worker.has_job = !acks.empty();
  if (worker.has_job) {
    ++woken_;
  } else {
    ++polls_renewed_;
  }
  const std::string body =
      worker.has_job ? R"({"goodbye":true,"acks":[)" + acks + "]}" : worker.claim;
  if (!worker.connection.send(worker.head, body)) lose(worker);
}

void IdlePolls::lose(Worker& worker) {
  epoll_ctl(epoll_, EPOLL_CTL_DEL, worker.connection.descriptor(), nullptr);
  worker.is_done = true;
  ++lost_;
  ++done_;
}

Status IdlePolls::submit_jobs() {
  if (auto opened = submitter_.open(plan_.address); !opened) return opened;
  const auto queues = static_cast<int>(plan_.queues.size());
  for (int queue = 0; queue < queues; ++queue) {
    // One job for each worker at this queue.
    int left = open() / queues + (queue < open() % queues ? 1 : 0);
    while (left > 0) {
      const int jobs = std::min(left, kSubmitBatch);
      left -= jobs;
      JobsBody body({.queue = plan_.queues[static_cast<std::size_t>(queue)],
                     .payload_bytes = plan_.payload_bytes},
                    jobs);
      body.stamp_all(now_us());
      const auto answer = submitter_.exchange(
          request_head(plan_.address, plan_.token, JobsBody::path(jobs)), body.text());
      if (!answer) return std::unexpected(answer.error());
      if (!all_submitted(*answer, jobs)) {
        return std::unexpected(unexpected_answer("a submission", *answer));
      }
      // Meanwhile handles other answers.
      if (auto held = hold_for(milliseconds{1}); !held) return held;
    }
  }
  return {};
}

Status IdlePolls::wake_all(milliseconds within) {
  if (auto submitted = submit_jobs(); !submitted) return submitted;
  return hold_for(within);
}

Status allow_connections(int connections) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return {};
  const rlim_t wanted = static_cast<rlim_t>(connections) + kOtherFiles;
  if (limit.rlim_cur >= wanted) return {};
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  if (setrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur >= wanted) return {};
  return failure(
      fmt::format("{} connections need {} open files, and the limit is {}; raise it (ulimit -Hn), "
                  "or lower --connections",
                  connections, wanted, limit.rlim_max));
}

}  // namespace millrace::cli
