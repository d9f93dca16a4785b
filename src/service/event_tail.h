// The readers of events on one I/O thread that have read everything so far. One of them leads: it
// asks the shards for more, and scans each new row for all. Readers whose filter matches are woken
// and read for themselves; the others sleep on. So a row costs nothing to a reader that it does not
// concern, however many readers there are.
#pragma once

#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "engine/feed/event_feed.h"
#include "engine/feed/fact_matcher.h"
#include "service/answer_port.h"

namespace millrace::service {

// For the I/O thread.
class EventTail {
 public:
  class Reader;

  explicit EventTail(AnswerPort& port) : port_(port) {}
  EventTail(const EventTail&) = delete;
  EventTail& operator=(const EventTail&) = delete;

 private:
  // Readers with the same filter.
  struct Group {
    std::string key;
    engine::FeedFilter filter;
    std::unordered_set<Reader*> readers;
    std::optional<engine::FactMatcher::Number> number;  // in matcher_
  };
  enum class Woken : std::uint8_t { kNews, kTime, kLead, kGone };

  bool admit(Reader& reader);
  void join(Reader& reader, std::string key, const engine::FeedFilter& filter);
  void remove(Reader& reader);
  void leave(Reader& reader);
  void wake(Reader& reader, Woken why);
  void end_scan();

  AnswerPort& port_;
  // Every reader here has read, or was not concerned by, the rows up to here.
  engine::EventPlaces places_;
  Reader* leader_ = nullptr;
  std::optional<Steady> asleep_until_;  // the leader is waiting for the shards
  std::unordered_map<std::string, std::shared_ptr<Group>> groups_;
  // The groups' filters. While the leader scans, a reader thread uses it, and changes wait.
  engine::FactMatcher matcher_;
  bool scanning_ = false;
  std::vector<std::shared_ptr<Group>> numbered_;     // by number; may have none left of its readers
  std::unordered_set<std::shared_ptr<Group>> came_;  // while the leader scans
  std::vector<std::shared_ptr<Group>> gone_;         // likewise
  std::set<std::pair<Steady, Reader*>> deadlines_;
};

// One reader's stay. It must not move. Its owner co_awaits it once, if it was admitted, and does
// the leader's work while it leads().
class EventTail::Reader final : Abandonable {
 public:
  // `key`: equal for equal filters. `places`: the reader's position, at the end of all that could
  // be read. `wait`: may be null.
  Reader(EventTail& tail, Wait* wait, std::string key, const engine::FeedFilter& filter,
         engine::EventPlaces places, Steady give_up);
  // Without a prior leave(), as when the thread ends with all its waits, nobody is woken.
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // False: there may be events for it already, or nobody would wake it in time.
  bool admitted() const { return admitted_; }
  // Whether it was refused because of possible events.
  bool is_behind() const { return behind_; }

  bool await_ready() const { return leads(); }
  bool await_suspend(std::coroutine_handle<> handle);
  void await_resume() const {}

  bool leads() const { return tail_.leader_ == this && why_ != Woken::kGone; }
  bool has_news() const { return why_ == Woken::kNews; }
  // Call at the end of the stay: if this reader led, another one takes over.
  void leave() { tail_.leave(*this); }

  // The reader has read, or is not concerned by, the rows up to here.
  const engine::EventPlaces& places() const { return places_; }

  // --- The leader's work, repeated: wait until until() for rows after reached(), scan with
  // begin_scan() after tail_places(), and pass the result to looked(). The reader stops leading
  // when it has news or its time is over.
  Steady until() const { return tail_.deadlines_.begin()->first; }
  std::vector<Seq> reached() const;
  void sleeps(bool asleep);
  engine::FactMatcher& begin_scan();
  const engine::EventPlaces& tail_places() const { return tail_.places_; }
  void looked(const engine::FeedScan& scan, Steady now);

 private:
  friend class EventTail;
  void give_up() override;
  void move_on(const engine::EventPlaces& places);

  EventTail& tail_;
  Wait* const wait_;
  std::shared_ptr<Group> group_;
  engine::EventPlaces places_;
  const Steady give_up_;
  Woken why_ = Woken::kTime;
  bool admitted_ = false;
  bool behind_ = false;
  std::coroutine_handle<> handle_;
};

}  // namespace millrace::service
