// Any bytes as a client's input on one connection, to the real session, handlers and shard.
//
// Byte 0: bit 0 configures a token, bit 1 drains the server, bit 2 makes the client leave as soon
// as it has sent everything. Bytes 1 to 4: where the rest is split, in 256ths of it.
//
// However the bytes are split, the answers are the same. Every answer is well-formed HTTP and JSON.
// Each request gets the same answer alone, on its own connection, as after the others (no state
// leaks into the next one). A client that has gone leaves nothing behind.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ascii.h"
#include "base/check.h"
#include "base/json_check.h"
#include "http/connection/chunk_decoder.h"
#include "http/connection/request_guard.h"
#include "http_world.h"

namespace {

using namespace millrace;
using fuzz::Answered;
using fuzz::HttpWorld;
using fuzz::WorldOptions;

constexpr std::size_t kHeaderBytes = 5;
constexpr std::size_t kCuts = 4;
// An answer nests a checked payload a few levels deeper.
constexpr std::size_t kAnswerDepth = 64;
constexpr std::string_view kCrLf = "\r\n";

struct Message {
  int status = 0;
  std::string head;  // from the status line up to the empty line
  std::string body;
  friend bool operator==(const Message&, const Message&) = default;
};

bool is_token_char(char c) { return is_alphanumeric(c) || c == '-'; }

// The value of a field that occurs exactly once; `absent` if it may be missing and is.
std::string_view field(std::string_view head, std::string_view name,
                       std::string_view absent = "\n") {
  std::string_view value = absent;
  int found = 0;
  for (std::size_t start = head.find(kCrLf) + 2; start < head.size();) {
    const std::size_t end = head.find(kCrLf, start);
    MILLRACE_CHECK(end != std::string_view::npos);
    const std::string_view line = head.substr(start, end - start);
    const std::size_t colon = line.find(": ");
    MILLRACE_CHECK(colon != std::string_view::npos && colon > 0);
    MILLRACE_CHECK(std::ranges::all_of(line.substr(0, colon), is_token_char));
    MILLRACE_CHECK(std::ranges::all_of(line, [](char c) { return c >= ' ' && c <= '~'; }));
    if (line.substr(0, colon) == name) {
      value = line.substr(colon + 2);
      ++found;
    }
    start = end + 2;
  }
  MILLRACE_CHECK(found <= 1 && value != "\n");
  return value;
}

// Removes one answer from the front of `stream`.
Message take_message(std::string_view& stream, std::string_view method) {
  Message message;
  MILLRACE_CHECK(stream.starts_with("HTTP/1.1 "));
  const std::size_t head_end = stream.find("\r\n\r\n");
  MILLRACE_CHECK(head_end != std::string_view::npos);
  message.head = stream.substr(0, head_end + 2);
  message.status = std::atoi(message.head.c_str() + 9);
  MILLRACE_CHECK(message.status >= 100 && message.status < 600 && message.head[12] == ' ');
  stream.remove_prefix(head_end + 4);
  if (message.status == 100) return message;
  MILLRACE_CHECK(!field(message.head, "Date").empty());
  if (message.status == 204) {
    MILLRACE_CHECK(field(message.head, "Content-Length", "none") == "none");
    return message;
  }
  const std::string_view length = field(message.head, "Content-Length");
  MILLRACE_CHECK(!length.empty() && std::ranges::all_of(length, is_digit));
  if (method == "HEAD") return message;
  const std::size_t size = std::strtoul(std::string(length).c_str(), nullptr, 10);
  MILLRACE_CHECK(size <= stream.size());
  message.body = stream.substr(0, size);
  stream.remove_prefix(size);
  return message;
}

void check_body(const Message& message) {
  if (message.body.empty()) return;
  const std::string_view type = field(message.head, "Content-Type");
  MILLRACE_CHECK((type == "application/problem+json") == (message.status >= 400));
  if (type.starts_with("text/plain")) return;
  MILLRACE_CHECK(!check_json(message.body, kAnswerDepth, LoneSurrogates::kKept));
  if (message.status < 400) return;
  const std::string status = "\"status\":" + std::to_string(message.status);
  MILLRACE_CHECK(message.body.find(status) != std::string::npos);
  const std::string id = "\"request_id\":\"" + std::string(field(message.head, "X-Request-Id"));
  // Quotes and backslashes in an id are visible characters too; JSON escapes them.
  const bool plain =
      id.find('\\', 15) == std::string::npos && id.find('"', 15) == std::string::npos;
  MILLRACE_CHECK(!plain || message.body.find(id) != std::string::npos);
}

// The answers of one connection, without the invitations to send a body, which depend on timing.
// `told`: the log's records of them.
std::vector<Message> parse(std::string_view stream, const std::vector<Answered>& told,
                           std::size_t first_told) {
  std::vector<Message> messages;
  bool closing = false;
  for (std::size_t i = first_told; i < told.size(); ++i) {
    MILLRACE_CHECK(!closing);
    Message message = take_message(stream, told[i].method);
    while (message.status == 100) message = take_message(stream, told[i].method);
    MILLRACE_CHECK(message.status == told[i].status);
    MILLRACE_CHECK(message.status != 500);
    MILLRACE_CHECK(field(message.head, "X-Request-Id") == told[i].request_id);
    check_body(message);
    closing = field(message.head, "Connection", "") == "close";
    messages.push_back(std::move(message));
  }
  // If the body never came, an invitation may be the only answer.
  while (!stream.empty()) MILLRACE_CHECK(take_message(stream, "").status == 100);
  return messages;
}

// The answers to `pieces` on a new connection of the world.
std::vector<Message> talk(HttpWorld& world, const std::vector<std::string_view>& pieces) {
  const std::size_t told = world.answers().size();
  HttpWorld::Client client(world);
  world.settle();
  for (const std::string_view piece : pieces) {
    client.send(piece);
    world.settle();
  }
  client.end();
  world.settle();
  MILLRACE_CHECK(client.closed() && world.open_connections() == 0);
  return parse(client.received(), world.answers(), told);
}

void leave_early(HttpWorld& world, const std::vector<std::string_view>& pieces) {
  {
    HttpWorld::Client client(world);
    world.settle();
    for (const std::string_view piece : pieces) client.send(piece);
    client.leave();
    world.settle();
  }
  MILLRACE_CHECK(world.open_connections() == 0);
  // The next client must be served.
  const auto after = talk(world, {"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"});
  MILLRACE_CHECK(after.size() == 1 && after[0].status == 200);
}

std::vector<std::string_view> split(std::string_view bytes, const std::uint8_t* cuts) {
  std::array<std::size_t, kCuts> at;
  for (std::size_t i = 0; i < kCuts; ++i) at[i] = bytes.size() * cuts[i] / 256;
  std::ranges::sort(at);
  std::vector<std::string_view> pieces;
  std::size_t start = 0;
  for (const std::size_t end : at) {
    if (end > start) pieces.push_back(bytes.substr(start, end - start));
    start = end;
  }
  pieces.push_back(bytes.substr(start));
  return pieces;
}

// The size of the first request in `bytes`; all of them if it is refused or incomplete.
std::size_t request_size(std::string_view bytes) {
  http::RequestGuard guard(fuzz::kHeadLimits);
  if (guard.advance(bytes) != http::RequestGuard::Verdict::kComplete) return bytes.size();
  const std::size_t head = guard.head_size();
  if (!guard.head().chunked) {
    // A length too large for a number counts as the largest one.
    return head +
           std::min<std::uint64_t>(bytes.size() - head, guard.head().content_length.value_or(0));
  }
  // Tries each prefix: the decoder moves the bytes that it reads, and does not report the body's
  // end.
  for (std::size_t size = head + 1; size <= bytes.size(); ++size) {
    std::string body(bytes.substr(head, size - head));
    std::size_t received = body.size();
    http::ChunkDecoder decoder;
    decoder.reset(fuzz::kDecodeLimits.body_bytes);
    const auto verdict = decoder.advance(body.data(), received);
    if (verdict == http::ChunkDecoder::Verdict::kComplete) return size;
    if (verdict == http::ChunkDecoder::Verdict::kRefused) return bytes.size();
  }
  return bytes.size();
}

// Sends each request on its own connection.
std::vector<Message> talk_singly(HttpWorld& world, std::string_view bytes) {
  std::vector<Message> messages;
  while (!bytes.empty()) {
    const std::size_t size = request_size(bytes);
    for (Message& message : talk(world, {bytes.substr(0, size)})) {
      messages.push_back(std::move(message));
    }
    if (messages.empty() || field(messages.back().head, "Connection", "") == "close") break;
    bytes.remove_prefix(size);
  }
  return messages;
}

// If the two differ, prints both and ends the run.
void demand_same(const std::vector<Message>& left, const std::vector<Message>& right) {
  if (left == right) return;
  for (const auto* messages : {&left, &right}) {
    std::fprintf(stderr, "--- %zu answers\n", messages->size());
    for (const Message& message : *messages) {
      std::fprintf(stderr, "%s\n%s\n\n", message.head.c_str(), message.body.c_str());
    }
  }
  MILLRACE_CHECK(false && "the same bytes were answered in two ways");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kHeaderBytes) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + kHeaderBytes,
                               size - kHeaderBytes);
  const WorldOptions options{.tokens = (data[0] & 1) != 0, .draining = (data[0] & 2) != 0};
  const std::vector<std::string_view> pieces = split(bytes, data + 1);
  if ((data[0] & 4) != 0) {
    HttpWorld world(options);
    leave_early(world, pieces);
    world.machine().check_invariants();
    return 0;
  }
  HttpWorld world(options);
  const std::vector<Message> whole = talk(world, {bytes});
  world.machine().check_invariants();
  HttpWorld split_world(options);
  demand_same(talk(split_world, pieces), whole);
  HttpWorld single_world(options);
  demand_same(talk_singly(single_world, bytes), whole);
  return 0;
}
