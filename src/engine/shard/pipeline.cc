#include "engine/shard/pipeline.h"

#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "core/bounds.h"
#include "store/event_codec.h"

namespace millrace::engine {

Pipeline::Pipeline(std::uint32_t shard, Epoch epoch, Seq head, const store::Checksum& head_checksum)
    : shard_(shard), epoch_(epoch), head_(head), head_checksum_(head_checksum), durable_(head) {}

void Pipeline::seal(core::EventBatch batch, std::vector<store::InboxKey> taken) {
  MILLRACE_CHECK(can_seal());
  auto sealed = std::make_unique<Row>();
  store::JournalRow& row = sealed->row;
  store::encode_events(batch, row.body);
  MILLRACE_CHECK(row.body.size() <= core::kMaxJournalBodyBytes);
  row.seq = millrace::next(head_);
  row.epoch = epoch_;
  if (!mutated(Mutant::kInboxRowKept)) row.taken = std::move(taken);
  row.predecessor = head_checksum_;
  row.checksum = store::row_checksum(shard_, row.seq, row.epoch, row.predecessor, row.body);
  head_ = row.seq;
  head_checksum_ = row.checksum;
  sealed->batch = std::move(batch);
  sealed_ = std::move(sealed);
}

const store::JournalRow* Pipeline::next(Time now) {
  if (handed_out_) return nullptr;
  if (appending_ == nullptr) {
    if (sealed_ == nullptr) return nullptr;
    appending_ = std::move(sealed_);
    since_ = now;
  }
  handed_out_ = true;
  return &appending_->row;
}

Pipeline::Durable Pipeline::settle(Time now) {
  MILLRACE_CHECK(handed_out_);
  const std::unique_ptr<Row> row = std::move(appending_);
  handed_out_ = false;
  failing_since_.reset();
  durable_ = row->row.seq;
  return {row->row.seq, std::make_shared<const core::EventBatch>(std::move(row->batch)),
          now - since_};
}

void Pipeline::retry(Time now) {
  MILLRACE_CHECK(handed_out_);
  handed_out_ = false;
  if (!failing_since_) failing_since_ = now;
  if (mutated(Mutant::kUnknownAppendedAnew) && sealed_ == nullptr) {
    store::JournalRow& row = appending_->row;
    row.predecessor = row.checksum;
    row.seq = head_ = millrace::next(row.seq);
    row.checksum = store::row_checksum(shard_, row.seq, row.epoch, row.predecessor, row.body);
    head_checksum_ = row.checksum;
  }
}

}  // namespace millrace::engine
