#include "service/reader_pool.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>

#include "base/thread_name.h"

namespace millrace::service {
namespace {

// For the lanes of short reads: a second thread continues while the first waits for a disk.
constexpr std::size_t kShortThreads = 2;

// Searches use whole cores, and so does compression; no worker waits for them. Linux has a priority
// per thread; if it refuses the change, searches compete as equals.
void give_way() {
  static_cast<void>(::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), 10));
}

}  // namespace

ReaderPool::ReaderPool(std::size_t searches) {
  for (std::size_t lane = 0; lane < kLanes; ++lane) {
    Queue& queue = queues_[lane];
    const bool long_ones = static_cast<Lane>(lane) == Lane::kSearches;
    const bool gives_way = long_ones || static_cast<Lane>(lane) == Lane::kAnswers;
    const std::size_t threads = long_ones ? std::max<std::size_t>(1, searches) : kShortThreads;
    queue.share = long_ones ? std::max<std::size_t>(1, threads / 2) : threads;
    for (std::size_t i = 0; i < threads; ++i) {
      threads_.emplace_back([this, &queue, gives_way] {
        name_this_thread("reader");
        if (gives_way) give_way();
        loop(queue);
      });
    }
  }
}

bool ReaderPool::add(Lane lane, std::string_view client, Work& work) {
  Queue& queue = queues_[static_cast<std::size_t>(lane)];
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) return true;  // it waits for ever, like everything after stop()
    auto [place, added] = queue.clients.try_emplace(std::string(client));
    Client& of_client = place->second;
    if (of_client.waiting.size() >= kMostWaiting) return false;
    if (of_client.waiting.empty()) queue.turns.push_back(place->first);
    of_client.waiting.push_back(&work);
    ++queue.busy;
  }
  queue.ready.notify_one();
  return true;
}

bool ReaderPool::take_back(Lane lane, std::string_view client, Work& work) {
  Queue& queue = queues_[static_cast<std::size_t>(lane)];
  const std::lock_guard lock(mutex_);
  const auto place = queue.clients.find(std::string(client));
  if (place == queue.clients.end()) return false;
  Client& of_client = place->second;
  if (std::erase(of_client.waiting, &work) == 0) return false;
  --queue.busy;
  if (of_client.waiting.empty()) {
    std::erase(queue.turns, place->first);
    if (of_client.running == 0) queue.clients.erase(place);
  }
  return true;
}

std::size_t ReaderPool::busy(Lane lane) const {
  const std::lock_guard lock(mutex_);
  return queues_[static_cast<std::size_t>(lane)].busy;
}

void ReaderPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (Queue& queue : queues_) queue.turns.clear();
  }
  for (Queue& queue : queues_) queue.ready.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

std::pair<ReaderPool::Work*, std::string> ReaderPool::next(Queue& queue) {
  for (std::size_t i = 0; i < queue.turns.size(); ++i) {
    Client& client = queue.clients.at(queue.turns[i]);
    if (client.running >= queue.share) continue;
    std::string name = std::move(queue.turns[i]);
    queue.turns.erase(queue.turns.begin() + static_cast<std::ptrdiff_t>(i));
    Work* const work = client.waiting.front();
    client.waiting.pop_front();
    ++client.running;
    if (!client.waiting.empty()) queue.turns.push_back(name);
    return {work, std::move(name)};
  }
  return {nullptr, {}};
}

void ReaderPool::loop(Queue& queue) {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    auto [work, client] = next(queue);
    if (work == nullptr) {
      queue.ready.wait(lock);
      continue;
    }
    lock.unlock();
    work->run();
    lock.lock();
    --queue.busy;
    const auto place = queue.clients.find(client);
    --place->second.running;
    if (place->second.running == 0 && place->second.waiting.empty()) {
      queue.clients.erase(place);
    }
    // The client may now run another read, which the waiting threads were not allowed to take.
    queue.ready.notify_one();
  }
}

}  // namespace millrace::service
