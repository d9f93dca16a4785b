// Labels of jobs that later events do not repeat: the fair key and the tags. Only for unfinished
// jobs with labels; bounded.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "core/event.h"
#include "core/string_map.h"

namespace millrace::engine {

// The most labelled jobs over all shards. For further ones, only the submission counts for their
// keys and tags.
inline constexpr std::size_t kMaxLabelledJobs = 1'000'000;
// Each part is a separate blob, written when one of its jobs has changed.
inline constexpr std::size_t kLabelParts = 64;

struct LabelSet {
  std::string fair_key;  // empty: none
  std::vector<std::string> tags;
};

class JobLabels {
 public:
  explicit JobLabels(std::size_t most) : most_(most) {}

  // Call before() before an event is counted, and after() after it.
  void before(const core::Event& event);
  void after(const core::Event& event);
  // Null: the job has no labels.
  const LabelSet* find(const JobId& job) const;

  std::size_t size() const { return jobs_.size(); }
  std::uint64_t passed_over() const { return passed_over_; }

  // Blobs of the parts that changed since the last call; empty content: the part is empty.
  struct Part {
    std::size_t number = 0;
    std::string content;
  };
  std::vector<Part> take_changed();
  void change_all() { changed_.fill(true); }  // the last blobs taken were not written
  bool load(std::string_view content);

 private:
  using SetNumber = std::uint32_t;
  struct Kept {
    LabelSet labels;
    std::string key;
    std::uint64_t jobs = 0;
  };

  void note(const JobId& job, std::string_view fair_key, std::vector<std::string> tags);
  void note(const core::Job& job);
  void forget(const JobId& job);
  SetNumber set_of(LabelSet labels);
  static std::size_t part_of(const JobId& job);

  std::size_t most_;
  std::uint64_t passed_over_ = 0;
  absl::flat_hash_map<JobId, SetNumber> jobs_;
  std::vector<Kept> sets_;
  std::vector<SetNumber> free_;
  StringMap<SetNumber> by_key_;
  std::array<bool, kLabelParts> changed_{};
};

}  // namespace millrace::engine
