// The readers of events on one I/O thread that have seen all there is. One of them leads: it asks
// the shards for more, and looks at each new row for all. Readers whose filter lets something
// through are woken and read for themselves; the others sleep on. So a row costs a reader that it
// does not concern nothing, however many there are.
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
  };
  enum class Woken : std::uint8_t { kNews, kTime, kLead, kGone };

  bool admit(Reader& reader);
  void remove(Reader& reader);
  void leave(Reader& reader);
  void wake(Reader& reader, Woken why);

  AnswerPort& port_;
  // Everybody here has been told what lies below, or told that it does not concern them.
  engine::EventPlaces places_;
  Reader* leader_ = nullptr;
  std::optional<Steady> asleep_until_;  // the leader waits for the shards
  std::unordered_map<std::string, std::shared_ptr<Group>> groups_;
  std::vector<std::shared_ptr<Group>> looked_for_;  // while the leader looks
  bool any_late_ = false;
  std::set<std::pair<Steady, Reader*>> deadlines_;
};

// One reader's stay. Its owner keeps it at its address, and co_awaits it once, if it was admitted;
// then, while it leads(), it does the leader's work.
class EventTail::Reader final : Abandonable {
 public:
  // `key`: the same for the same filters. `places`: where the reader stands, at the end of all that
  // could be read. `wait`: may be null.
  Reader(EventTail& tail, Wait* wait, std::string key, const engine::FeedFilter& filter,
         engine::EventPlaces places, Steady give_up);
  // Without leave() first, as when the thread ends with all that waits on it, nobody is woken.
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // False: there may be something for it already, or nobody would wake it in time.
  bool admitted() const { return admitted_; }
  // Why it was not.
  bool is_behind() const { return behind_; }

  bool await_ready() const { return leads(); }
  bool await_suspend(std::coroutine_handle<> handle);
  void await_resume() const {}

  bool leads() const { return tail_.leader_ == this && why_ != Woken::kGone; }
  bool has_news() const { return why_ == Woken::kNews; }
  // To be called when the stay is over: the next one leads, if this one did.
  void leave() { tail_.leave(*this); }

  // What lies below does not concern the reader, or it was told.
  const engine::EventPlaces& places() const { return places_; }

  // --- The leader's work, over and over: to wait until then for rows after reached(), to scan for
  // filters() after tail_places(), and to pass the result on. It no longer leads when that has
  // brought it news, or its time has come.
  Steady until() const { return tail_.deadlines_.begin()->first; }
  std::vector<Seq> reached() const;
  void sleeps(bool asleep);
  std::vector<const engine::FeedFilter*> filters();
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
  bool late_ = false;  // came with a filter of its own while the leader looked for others
  std::coroutine_handle<> handle_;
};

}  // namespace millrace::service
