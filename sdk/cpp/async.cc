#include "millrace/async.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

namespace millrace::sdk {

// Threads that are made as they are needed, and live as long as the client.
class AsyncClient::Threads {
 public:
  explicit Threads(int most) : most_(static_cast<std::size_t>(std::max(most, 1))) {}

  ~Threads() {
    {
      const std::lock_guard lock(mutex_);
      is_closing_ = true;
      waiting_.clear();
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void post(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(task));
    if (waiting_.size() > idle_ && threads_.size() < most_) {
      threads_.emplace_back([this] { work(); });
    }
    changed_.notify_one();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      ++idle_;
      changed_.wait(lock, [this] { return is_closing_ || !waiting_.empty(); });
      --idle_;
      if (is_closing_) return;
      const std::function<void()> task = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  const std::size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> waiting_;
  std::vector<std::thread> threads_;
  std::size_t idle_ = 0;
  bool is_closing_ = false;
};

AsyncClient::AsyncClient(Client client, AsyncOptions options)
    : client_(std::move(client)),
      options_(std::move(options)),
      threads_(std::make_unique<Threads>(options_.threads)) {}
AsyncClient::~AsyncClient() = default;

void AsyncClient::post(std::function<void()> task) { threads_->post(std::move(task)); }

void AsyncClient::hand_over(std::function<void()> continuation) {
  if (options_.resume) {
    options_.resume(std::move(continuation));
  } else {
    continuation();
  }
}

AsyncClient::Pending<Result<Submitted>> AsyncClient::submit(NewJob job) {
  return run([job = std::move(job)](Client& client) { return client.submit(job); });
}

AsyncClient::Pending<Result<Batch>> AsyncClient::submit_batch(std::vector<NewJob> jobs,
                                                              bool atomic) {
  return run([jobs = std::move(jobs), atomic](Client& client) {
    return client.submit_batch(jobs, atomic);
  });
}

AsyncClient::Pending<Result<Job>> AsyncClient::get(std::string id) {
  return get(std::move(id), GetJob());
}

AsyncClient::Pending<Result<Job>> AsyncClient::get(std::string id, GetJob options) {
  return run([id = std::move(id), options = std::move(options)](Client& client) {
    return client.get(id, options);
  });
}

AsyncClient::Pending<Result<Job>> AsyncClient::wait(std::string id, Milliseconds timeout) {
  return run([id = std::move(id), timeout](Client& client) { return client.wait(id, timeout); });
}

AsyncClient::Pending<Result<Job>> AsyncClient::cancel(std::string id, std::string reason) {
  return run([id = std::move(id), reason = std::move(reason)](Client& client) {
    return client.cancel(id, reason);
  });
}

AsyncClient::Pending<Result<Job>> AsyncClient::retry(std::string id) {
  return retry(std::move(id), RetryJob());
}

AsyncClient::Pending<Result<Job>> AsyncClient::retry(std::string id, RetryJob options) {
  return run([id = std::move(id), options](Client& client) { return client.retry(id, options); });
}

}  // namespace millrace::sdk
