// The few threads on which reads of the tables block, so that no I/O thread does.
//
// Each lane has its own threads, so that short reads do not wait behind long ones, and a worker's
// reads wait for no other lane. Within a lane clients take turns. One client has at most half of
// the threads for searches at a time, so that another client's search need not wait for them.
#pragma once

#include <array>
#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "service/answer_port.h"

namespace millrace::service {

enum class Lane : std::uint8_t {
  kClaims,    // payloads of jobs whose leases are already running
  kLookups,   // a few rows by their ids
  kSearches,  // reads that may take seconds; their threads have low priority
  kAnswers,   // no reads: compresses answers; low priority too
};
inline constexpr std::size_t kLanes = 4;

class ReaderPool {
 public:
  // The most waiting reads of one client in one lane; further ones are refused for now.
  static constexpr std::size_t kMostWaiting = 256;

  // A read. Its owner must not move it until it has run or was taken back.
  class Work {
   public:
    // On a thread of the pool.
    virtual void run() = 0;

   protected:
    ~Work() = default;
  };

  // `searches`: the number of threads of the lane kSearches; the others have fixed numbers.
  explicit ReaderPool(std::size_t searches);
  ~ReaderPool() { stop(); }
  ReaderPool(const ReaderPool&) = delete;
  ReaderPool& operator=(const ReaderPool&) = delete;

  // --- Any thread. After stop() no read runs.
  // False: the client has too many waiting reads.
  bool add(Lane lane, std::string_view client, Work& work);
  // False: it is running, or has run.
  bool take_back(Lane lane, std::string_view client, Work& work);
  // Waits for running reads, ends the threads, and drops waiting reads.
  void stop();

  // For tests: reads that are waiting or running.
  std::size_t busy(Lane lane) const;

 private:
  struct Client {
    std::deque<Work*> waiting;
    std::size_t running = 0;
  };
  struct Queue {
    std::size_t share = 0;  // the most threads that one client may have
    std::condition_variable ready;
    std::unordered_map<std::string, Client> clients;  // clients that have work
    std::deque<std::string> turns;                    // clients with waiting work
    std::size_t busy = 0;
  };

  // The next read whose client may use another thread, and that client; null: none.
  std::pair<Work*, std::string> next(Queue& queue);
  void loop(Queue& queue);

  mutable std::mutex mutex_;
  bool stopping_ = false;             // guarded by mutex_
  std::array<Queue, kLanes> queues_;  // guarded by mutex_
  std::vector<std::thread> threads_;
};

// The client of a read, and the wait by which the read may be given up.
struct Reader {
  std::string_view client;  // valid until the read ends
  Wait* wait = nullptr;     // null: the read continues after the client has gone
};

// co_await Blocking(...): runs `function(stop_token)` on a lane of the pool, and returns its result
// on the I/O thread. The function must outlive the wait.
template <typename Function>
class Blocking final : public ReaderPool::Work, public Abandonable {
 public:
  using Value = std::invoke_result_t<Function&, const std::stop_token&>;

  Blocking(ReaderPool& pool, Lane lane, Reader reader, AnswerPort& port, Function& function)
      : pool_(pool), lane_(lane), reader_(reader), port_(port), function_(function) {}
  Blocking(const Blocking&) = delete;
  Blocking& operator=(const Blocking&) = delete;

  bool await_ready() const { return false; }
  bool await_suspend(std::coroutine_handle<> handle) {
    handle_ = handle;
    if (reader_.wait != nullptr && reader_.wait->over) {
      reader_.wait->given_up = true;
      return false;
    }
    if (reader_.wait != nullptr) reader_.wait->waiting = this;
    if (pool_.add(lane_, reader_.client, *this)) return true;
    leave();
    refused_ = true;
    return false;
  }
  // None: the read was refused or given up.
  std::optional<Value> await_resume() {
    leave();
    return std::move(value_);
  }
  bool refused() const { return refused_; }

  // A running read continues until it notices the stop; its result is dropped.
  void give_up() override {
    reader_.wait->given_up = true;
    gone_.request_stop();
    if (pool_.take_back(lane_, reader_.client, *this)) port_.resume(handle_);
  }

 private:
  void run() override {
    std::optional<Value> value(function_(gone_.get_token()));
    if (!gone_.stop_requested()) value_ = std::move(value);
    port_.resume(handle_);
  }
  void leave() {
    if (reader_.wait != nullptr) reader_.wait->waiting = nullptr;
  }

  ReaderPool& pool_;
  const Lane lane_;
  const Reader reader_;
  AnswerPort& port_;
  Function& function_;
  std::coroutine_handle<> handle_;
  std::stop_source gone_;
  std::optional<Value> value_;
  bool refused_ = false;
};

}  // namespace millrace::service
