#include "service/event_tail.h"

#include <algorithm>
#include <utility>

namespace millrace::service {
namespace {

// Whether `places` is before `others` in some shard.
bool before(const engine::EventPlaces& places, const engine::EventPlaces& others) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (std::pair(places[i].seq, places[i].index) < std::pair(others[i].seq, others[i].index)) {
      return true;
    }
  }
  return false;
}

}  // namespace

// --- The tail.

bool EventTail::admit(Reader& reader) {
  if (leader_ == nullptr) {
    places_ = reader.places_;
    leader_ = &reader;
    return true;
  }
  reader.behind_ = before(reader.places_, places_);
  if (reader.behind_) return false;
  return !asleep_until_ || reader.give_up_ >= *asleep_until_;
}

void EventTail::join(Reader& reader, std::string key, const engine::FeedFilter& filter) {
  std::shared_ptr<Group>& group = groups_[key];
  if (group == nullptr) {
    group = std::make_shared<Group>(Group{std::move(key), filter, {}, {}});
    came_.insert(group);
    if (!scanning_) end_scan();
  }
  reader.group_ = group;
  group->readers.insert(&reader);
  deadlines_.emplace(reader.give_up_, &reader);
}

void EventTail::remove(Reader& reader) {
  const std::shared_ptr<Group> group = std::exchange(reader.group_, nullptr);
  if (group == nullptr) return;
  deadlines_.erase({reader.give_up_, &reader});
  group->readers.erase(&reader);
  if (!group->readers.empty()) return;
  groups_.erase(group->key);
  if (came_.erase(group) > 0) return;
  gone_.push_back(group);
  if (!scanning_) end_scan();
}

// The matcher learns what came and went meanwhile.
void EventTail::end_scan() {
  scanning_ = false;
  for (const std::shared_ptr<Group>& group : std::exchange(gone_, {})) {
    numbered_[*group->number] = nullptr;
    matcher_.remove(*group->number);
  }
  for (const std::shared_ptr<Group>& group : std::exchange(came_, {})) {
    group->number = matcher_.add(group->filter);
    numbered_.resize(std::max(numbered_.size(), *group->number + 1));
    numbered_[*group->number] = group;
  }
}

// Another reader takes the lead.
void EventTail::leave(Reader& reader) {
  remove(reader);
  if (leader_ != &reader) return;
  leader_ = nullptr;
  asleep_until_.reset();
  end_scan();
  if (deadlines_.empty()) return;
  leader_ = deadlines_.begin()->second;
  wake(*leader_, Woken::kLead);
}

// Deferred to this thread's queue, because the code that wakes readers is iterating over their
// lists.
void EventTail::wake(Reader& reader, Woken why) {
  reader.why_ = why;
  if (reader.wait_ != nullptr) reader.wait_->waiting = nullptr;
  if (const auto handle = std::exchange(reader.handle_, nullptr)) port_.resume(handle);
}

// --- A reader.

EventTail::Reader::Reader(EventTail& tail, Wait* wait, std::string key,
                          const engine::FeedFilter& filter, engine::EventPlaces places,
                          Steady give_up)
    : tail_(tail), wait_(wait), places_(std::move(places)), give_up_(give_up) {
  admitted_ = tail_.admit(*this);
  if (admitted_) tail_.join(*this, std::move(key), filter);
}

EventTail::Reader::~Reader() {
  tail_.remove(*this);
  if (tail_.leader_ == this) tail_.leader_ = nullptr;
}

bool EventTail::Reader::await_suspend(std::coroutine_handle<> handle) {
  if (wait_ != nullptr) {
    if (wait_->over) {
      wait_->given_up = true;
      why_ = Woken::kGone;
      tail_.remove(*this);
      return false;
    }
    wait_->waiting = this;
  }
  handle_ = handle;
  return true;
}

void EventTail::Reader::give_up() {
  why_ = Woken::kGone;
  tail_.remove(*this);
  wait_->waiting = nullptr;
  wait_->given_up = true;
  tail_.port_.resume(std::exchange(handle_, nullptr));
}

std::vector<Seq> EventTail::Reader::reached() const {
  std::vector<Seq> reached;
  for (const engine::EventPlace& place : tail_.places_) reached.push_back(Seq{place.seq - 1});
  return reached;
}

void EventTail::Reader::sleeps(bool asleep) {
  tail_.asleep_until_ = asleep ? std::optional(until()) : std::nullopt;
}

engine::FactMatcher& EventTail::Reader::begin_scan() {
  tail_.scanning_ = true;
  return tail_.matcher_;
}

void EventTail::Reader::looked(const engine::FeedScan& scan, Steady now) {
  const engine::EventPlaces before_it = std::exchange(tail_.places_, scan.places);
  std::vector<std::pair<Reader*, Woken>> woken;
  for (const engine::FactMatcher::Number number : scan.news) {
    for (Reader* const reader : tail_.numbered_[number]->readers) {
      reader->move_on(before_it);
      woken.emplace_back(reader, Woken::kNews);
    }
  }
  for (const std::shared_ptr<Group>& group : tail_.came_) {
    for (Reader* const reader : group->readers) {
      // The scan did not use its filter.
      if (before(reader->places_, scan.places)) woken.emplace_back(reader, Woken::kNews);
    }
  }
  tail_.end_scan();
  for (const auto& [reader, why] : woken) tail_.remove(*reader);
  while (!tail_.deadlines_.empty() && tail_.deadlines_.begin()->first <= now) {
    Reader* const reader = tail_.deadlines_.begin()->second;
    reader->move_on(scan.places);
    woken.emplace_back(reader, Woken::kTime);
    tail_.remove(*reader);
  }
  for (const auto& [reader, why] : woken) {
    tail_.wake(*reader, why);
    if (reader == this) tail_.leave(*this);
  }
}

void EventTail::Reader::move_on(const engine::EventPlaces& places) {
  for (std::size_t i = 0; i < places_.size(); ++i) {
    engine::EventPlace& mine = places_[i];
    const engine::EventPlace& other = places[i];
    if (std::pair(mine.seq, mine.index) < std::pair(other.seq, other.index)) mine = other;
  }
}

}  // namespace millrace::service
