// A few objects of one kind that threads borrow one at a time: read connections with their
// statements.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/mutex.h"

namespace millrace::store {

// Everything borrowed must be returned before the pool is destroyed.
template <typename Item>
class Pool {
 public:
  explicit Pool(std::vector<std::unique_ptr<Item>> items)
      : size_(items.size()), free_(std::move(items)) {}
  ~Pool() { MILLRACE_CHECK(free_.size() == size_); }
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  class Loan {
   public:
    Loan(Pool& pool, std::unique_ptr<Item> item) : pool_(pool), item_(std::move(item)) {}
    ~Loan() { pool_.give_back(std::move(item_)); }
    Loan(const Loan&) = delete;
    Loan& operator=(const Loan&) = delete;
    Item* operator->() const { return item_.get(); }
    Item& operator*() const { return *item_; }

   private:
    Pool& pool_;
    std::unique_ptr<Item> item_;
  };

  // Waits until an object is free.
  Loan borrow() {
    const MutexLock lock(mutex_);
    while (free_.empty() || paused_) changed_.wait(mutex_);
    std::unique_ptr<Item> item = std::move(free_.back());
    free_.pop_back();
    return Loan(*this, std::move(item));
  }

  // Waits until all objects are back; while it exists nobody can borrow one.
  class Pause {
   public:
    explicit Pause(Pool& pool) : pool_(pool) { pool_.pause(); }
    ~Pause() { pool_.resume(); }
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Pool& pool_;
  };

 private:
  void give_back(std::unique_ptr<Item> item) {
    const MutexLock lock(mutex_);
    free_.push_back(std::move(item));
    changed_.notify_all();
  }
  void pause() {
    const MutexLock lock(mutex_);
    while (paused_) changed_.wait(mutex_);
    paused_ = true;
    while (free_.size() != size_) changed_.wait(mutex_);
  }
  void resume() {
    const MutexLock lock(mutex_);
    paused_ = false;
    changed_.notify_all();
  }

  const std::size_t size_;
  Mutex mutex_;
  WaitCondition changed_;
  std::vector<std::unique_ptr<Item>> free_ MILLRACE_GUARDED_BY(mutex_);
  bool paused_ MILLRACE_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace::store
