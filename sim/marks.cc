#include "sim/marks.h"

namespace millrace::sim {
namespace {

constexpr std::array<std::string_view, kMarks> kNames = {
    "commit failed",
    "commit unknown applied",
    "commit unknown lost",
    "commit landed late",
    "late commit fenced",
    "leader deposed",
    "sync broken",
    "crash in commit",
    "crash in flush",
    "power cut took flushes",
    "torn tail cut",
    "damage refused",
    "restart with leases",
    "journal trimmed",
    "stall grace",
    "restart grace",
    "wall clock followed",
    "wall clock behind",
    "refused storage",
    "refused overload",
    "refused draining",
    "drained",
    "read failed",
    "lease expired",
    "attempt timed out",
    "stale token",
    "repeated ack",
    "repeated ack after restart",
    "ack raced cancel",
    "crash budget spent",
    "attempts spent",
    "key hit",
    "key mismatch",
    "key freed",
    "unique hit",
    "unique rejected",
    "unique replaced",
    "unique held past end",
    "atomic refused",
    "nested refused",
    "id taken",
    "queue full",
    "job expired",
    "expired at claim",
    "delayed became ready",
    "backoff over",
    "waiter served",
    "waiter timed out",
    "order delivered",
    "watch answered",
    "paused claim",
    "retried from tables",
    "edit refused",
    "pruned",
    "forgotten at once",
    "read from tables",
    "decided ahead",
    "payload from the tables",
    "refused in doubt",
};
static_assert(!kNames.back().empty(), "a name for each");

}  // namespace

std::string_view mark_name(Mark mark) { return kNames[static_cast<std::size_t>(mark)]; }

}  // namespace millrace::sim
