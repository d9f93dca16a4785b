// Lists whose pages are read during iteration: see Client::list_all().
#pragma once

#include <cstddef>
#include <expected>
#include <functional>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "millrace/error.h"
#include "millrace/job.h"

namespace millrace::sdk {

// All items of a list, read page by page during iteration; an input range. An error is the last
// item.
//   for (const auto& job : client.list_all({.states = {"dead"}})) {
//     if (!job) return report(job.error());
//   }
template <typename Item>
class AllItems {
 public:
  using ReadPage = std::function<Result<Page<Item>>(const std::string& cursor)>;

  class Iterator {
   public:
    using difference_type = std::ptrdiff_t;
    using value_type = Result<Item>;

    explicit Iterator(AllItems& all) : all_(&all) {}
    Result<Item>& operator*() const { return *all_->current_; }
    Iterator& operator++() {
      all_->read_next();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !all_->current_; }

   private:
    AllItems* all_;
  };

  explicit AllItems(ReadPage read) : read_(std::move(read)) {}

  // Call only once.
  Iterator begin() {
    read_next();
    return Iterator(*this);
  }
  std::default_sentinel_t end() const { return {}; }

 private:
  void read_next() {
    while (next_ == page_.items.size() && !is_last_) {
      auto page = read_(page_.next_cursor);
      if (!page) {
        is_last_ = true;
        page_.items.clear();
        next_ = 0;
        current_ = std::unexpected(std::move(page.error()));
        return;
      }
      page_ = std::move(*page);
      next_ = 0;
      is_last_ = page_.next_cursor.empty();
    }
    current_.reset();
    if (next_ < page_.items.size()) current_ = std::move(page_.items[next_++]);
  }

  ReadPage read_;
  Page<Item> page_{};
  std::size_t next_ = 0;
  bool is_last_ = false;
  std::optional<Result<Item>> current_{};
};

}  // namespace millrace::sdk
