#include "http/connection/session.h"

#include <algorithm>
#include <utility>

#include <boost/asio/buffer.hpp>

#include "base/check.h"
#include "base/free_memory.h"
#include "http/connection/compression.h"
#include "http/connection/forwarded.h"
#include "http/connection/response_writer.h"
#include "http/middlewares.h"

namespace millrace::http {
namespace {

namespace asio = boost::asio;
using net::error_code;
using net::InputBuffer;

// Answers to pipelined requests are gathered up to this size before they are written.
constexpr std::size_t kOutputGatheredBytes = 64 * 1024;
// A refused request's body is read if it is not larger, so that the connection can be kept.
constexpr std::size_t kRefusedBodyBytes = 64 * 1024;
// The most that a refused client may still send before it is cut off.
constexpr std::size_t kMaxLingerBytes = 64 * 1024 * 1024;
constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";

}  // namespace

class Session::Input {
 public:
  explicit Input(Session& session) : session_(session) {}
  bool await_ready() const { return !session_.reading_; }
  void await_suspend(std::coroutine_handle<> handle) { session_.reader_ = handle; }
  void await_resume() const {}

 private:
  Session& session_;
};

class Session::Output {
 public:
  Output(Session& session, std::size_t sent) : session_(session), sent_(sent) {}
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    handle_ = handle;
    session_.writing_ = this;
    session_.stream_->write_some(session_.unsent(sent_), session_.self());
  }
  void written(std::size_t bytes) {
    sent_ += bytes;
    handle_.resume();
  }
  // The number of output bytes written in all.
  std::size_t await_resume() const { return sent_; }

 private:
  Session& session_;
  std::size_t sent_;
  std::coroutine_handle<> handle_;
};

class Session::Rest {
 public:
  explicit Rest(Session& session) : session_(session) {}
  bool await_ready() const { return session_.over(); }
  void await_suspend(std::coroutine_handle<> handle) { session_.resting_ = handle; }
  void await_resume() const {}

 private:
  Session& session_;
};

Session::Session(IoThread& thread, std::unique_ptr<net::ByteStream> stream, std::string peer)
    : thread_(thread),
      stream_(std::move(stream)),
      peer_(std::move(peer)),
      guard_(thread.services().head_limits),
      call_(thread.services(), thread.port(), thread.ids()) {
  call_.peer = peer_;
  call_.stream = this;
}

Session::~Session() {
  give_back();
  let_go_of_answer();
}

void Session::start() {
  run_ = run();
  run_.start();
}

void Session::drain() {
  draining_ = true;
  if (streamed_) {
    call_.caller.abandon();  // a stream never ends by itself
    cut_rest_short();
    return;
  }
  if (!idle_ || !reader_) return;
  expired_ = true;
  stream_->cancel();
}

// --- Deadlines. An operation that exceeds its deadline is ended by cancelling the stream's work.

void Session::expect_within(Duration time) { deadline_ = call_.services.clock.steady() + time; }

// The time to send or receive data grows with its size, but is limited.
void Session::expect_transfer(std::size_t bytes) {
  const SessionOptions& options = thread_.options();
  expect_within(options.transfer_grace +
                Duration(static_cast<std::int64_t>(bytes * 1000 / options.transfer_bytes_per_s)));
}

void Session::expect_nothing() { deadline_ = Steady::max(); }

void Session::check(Steady now) {
  // A client whose token was revoked does not wait any longer.
  if (answering_ && !call_.caller.revoked() &&
      !call_.services.tokens.holds(call_.caller.access, call_.now())) {
    call_.caller.revoke();
    cut_rest_short();
  }
  if (resting_ && now >= rests_until_) cut_rest_short();
  if (now < deadline_) return;
  expect_nothing();
  expired_ = true;
  stream_->cancel();
}

// --- The life of the connection.

Task<void> Session::run() {
  Next next = Next::kRequest;
  while (next == Next::kRequest) next = co_await serve();
  const bool written = co_await flush();
  if (written && next == Next::kUpgrade) {
    MILLRACE_CHECK(!reading_);  // the upgrade's handler does not wait
    thread_.upgrade(shared_from_this(), std::move(stream_), input_.view(),
                    *call_.response.upgrades);
    co_return;
  }
  if (written && next == Next::kLinger) co_await linger();
  stream_->close();
  thread_.io().retire(shared_from_this());
}

Task<Session::Next> Session::serve() {
  call_.clear();
  body_size_ = 0;
  keep_alive_ = true;
  streamed_.reset();

  const bool begun = co_await read_head();
  if (!begun) co_return Next::kClose;
  head_read_at_ = call_.services.clock.steady();
  // Once something was read, the handshake is over and the name does not change.
  if (!std::exchange(knows_other_side_, true)) call_.certified_name = stream_->certified_name();
  if (call_.head != nullptr) {
    if (!call_.services.proxies.empty()) {
      client_ = client_of(*call_.head, peer_, call_.services.proxies);
      call_.peer = client_;
    }
    keep_alive_ = call_.head->keep_alive;
    const bool admitted = admit(call_);
    if (!admitted && !takes_body_of_refused()) {
      call_.response.must_close = true;
    } else {
      const bool whole = co_await read_body();
      if (!whole && !call_.response.must_close) co_return Next::kClose;
      if (whole && admitted) co_await answer();
      if (whole && admitted && !streamed_ && is_compressible()) {
        count_answer();  // it may refuse an answer that is too large for now
        if (is_compressible()) co_await compress(call_);
      }
    }
  }
  if (streamed_) {
    thread_.observer().streamed(expired_ ? Observer::Streamed::kCutOff
                                         : Observer::Streamed::kEnded);
    report(*streamed_);
    co_return Next::kClose;
  }
  write_response();
  if (call_.response.must_close) co_return Next::kLinger;
  input_.consume(guard_.head_size() + body_size_);
  if (call_.response.upgrades) co_return Next::kUpgrade;
  if (output_.size() >= kOutputGatheredBytes || !large_body_.empty()) co_await flush();
  co_return closing() ? Next::kClose : Next::kRequest;
}

// True: there is a head (call_.head), or a refusal to send. False: nothing more will arrive.
Task<bool> Session::read_head() {
  // An idle connection does not keep the memory of its last body.
  if (!reading_) input_.compact();
  if (!input_.is_large()) give_back();
  guard_.reset();
  expired_ = false;
  idle_ = input_.empty();
  expect_within(idle_ ? thread_.options().idle_timeout : thread_.options().header_timeout);
  while (true) {
    switch (input_.empty() ? RequestGuard::Verdict::kNeedMore : guard_.advance(input_.view())) {
      case RequestGuard::Verdict::kComplete:
        call_.head = &guard_.head();
        co_return true;
      case RequestGuard::Verdict::kRefused:
        refuse(guard_.fault());
        co_return true;
      case RequestGuard::Verdict::kNeedMore:
        break;
    }
    if (draining_ && idle_) co_return false;
    const bool more = co_await fill(0);
    if (!more) {
      if (!expired_ || idle_) co_return false;
      refuse({api::ProblemCode::kRequestTimeout, "the head of the request did not arrive in time"});
      co_return true;
    }
    input_.compact();
    if (idle_) expect_within(thread_.options().header_timeout);
    idle_ = false;
  }
}

bool Session::takes_body_of_refused() const {
  const RequestHead& head = *call_.head;
  const std::uint64_t length = head.content_length.value_or(0);
  const std::size_t bound = std::min(kRefusedBodyBytes, call_.services.limits.body_bytes);
  return !head.chunked && (length == 0 || (length <= bound && !head.expects_continue));
}

// True: call_.body is complete. False: it will not arrive, or is refused.
Task<bool> Session::read_body() {
  const Steady start = call_.services.clock.steady();
  const bool chunked = call_.head->chunked;
  const std::size_t head_size = guard_.head_size();
  const auto length = static_cast<std::size_t>(call_.head->content_length.value_or(0));
  bool invites = call_.head->expects_continue;
  MILLRACE_CHECK(!reading_);  // the head's read has completed; the body is decoded in place
  if (chunked) chunks_.reset(call_.services.limits.body_bytes);
  while (true) {
    if (chunked) {
      std::size_t received = input_.size() - head_size;
      const auto verdict = chunks_.advance(input_.data() + head_size, received);
      input_.truncate(head_size + received);
      if (verdict == ChunkDecoder::Verdict::kRefused) {
        refuse(chunks_.fault());
        co_return false;
      }
      body_size_ = chunks_.content_size();
      if (verdict == ChunkDecoder::Verdict::kComplete) break;
    } else {
      body_size_ = length;
      if (input_.size() - head_size >= length) break;
    }
    if (std::exchange(invites, false)) output_.append(kContinue);
    const std::size_t received = input_.size() - head_size;
    expect_transfer(received);
    deadline_ -= call_.services.clock.steady() - start;
    if (!borrow(head_size + length)) {
      refuse({api::ProblemCode::kOverloaded,
              "the server is receiving too many large requests; try again later"});
      co_return false;
    }
    const char* before = input_.data();
    const bool more = co_await fill(head_size + length);
    if (!more) {
      if (expired_)
        refuse(
            {api::ProblemCode::kRequestTimeout, "the body of the request did not arrive in time"});
      co_return false;
    }
    if (input_.data() != before) {  // the buffer has moved, so the head's views are invalid
      guard_.reset();
      guard_.advance(input_.view());
    }
  }
  call_.body = std::string_view(input_.data() + head_size, body_size_);
  co_return true;
}

Task<void> Session::answer() {
  expect_nothing();
  call_.introduce();
  Task<void> handler = call_.route.route->handler(call_);
  handler.start();
  if (!handler.done()) {
    if (!output_.empty()) co_await flush();
    // No read while bytes of the next request are buffered: nothing would later start another.
    const bool all_used = input_.size() == guard_.head_size() + body_size_;
    const bool can_read = all_used && !input_.is_large() && input_.room() > 0;
    if (!input_ended_) can_read ? start_read() : start_watch();
    answering_ = true;
    co_await handler;
    answering_ = false;
    // Jobs claimed in the meantime were given back.
    const bool cut = call_.caller.abandoned() || call_.response.status >= 400;
    if (call_.caller.revoked() && cut && !input_ended_ && !streamed_) {
      call_.refuse(api::ProblemCode::kUnauthenticated, "the token was revoked, or has expired");
    }
  }
}

// Gives the client time to read the reason. Closing at once while it still sends would reset the
// connection, and the answer would be lost.
Task<void> Session::linger() {
  stream_->end_output();
  expired_ = false;
  expect_within(thread_.options().linger);
  std::size_t discarded = 0;
  bool more = true;
  while (more && discarded < kMaxLingerBytes) {
    discarded += input_.size();
    input_.consume(input_.size());
    if (!reading_) input_.compact();
    more = co_await fill(0);
  }
}

// --- Reading and writing.

Task<bool> Session::fill(std::size_t wanted) {
  if (!output_.empty()) {
    const bool written = co_await flush();
    if (!written) co_return false;
  }
  if (input_ended_) co_return false;
  if (!reading_) {
    if (input_.room() == 0) input_.grow(wanted);
    start_read();
  }
  Input more(*this);
  co_await more;
  co_return !input_ended_ && !expired_;
}

// Called before fill(): takes the buffer's growth from the budget. False: the budget is used up.
bool Session::borrow(std::size_t wanted) {
  if (input_.room() > 0) return true;
  const std::size_t bytes = input_.grown(wanted);
  if (bytes <= InputBuffer::kKeptBytes) return true;
  if (!call_.services.bodies.take(bytes - borrowed_)) return false;
  borrowed_ = bytes;
  return true;
}

void Session::give_back() { call_.services.bodies.give_back(std::exchange(borrowed_, 0)); }

void Session::start_read() {
  reading_ = true;
  stream_->read_some(asio::buffer(input_.tail(), input_.room()), self());
}

void Session::on_read(const error_code& error, std::size_t bytes) {
  reading_ = false;
  input_.commit(bytes);
  if (error && !expired_) input_ended_ = true;
  if (reader_) {
    std::exchange(reader_, nullptr).resume();
  } else if (input_ended_) {
    call_.caller.abandon();
    cut_rest_short();
  }
}

void Session::on_written(const error_code& error, std::size_t bytes) {
  if (error) output_failed_ = true;
  std::exchange(writing_, nullptr)->written(bytes);
}

// Leaves the buffer alone, and new bytes in the stream.
void Session::start_watch() {
  if (std::exchange(watching_, true)) return;
  stream_->watch(self());
}

void Session::on_readable(const error_code& error) {
  watching_ = false;
  if (error || reading_) return;  // a read reports more
  if (!stream_->ended()) return;
  input_ended_ = true;
  call_.caller.abandon();
  cut_rest_short();
}

net::ByteStream::Pieces Session::unsent(std::size_t sent) const {
  const std::size_t of_first = std::min(sent, output_.size());
  return {asio::buffer(output_) + of_first, asio::buffer(large_body_) + (sent - of_first)};
}

Task<bool> Session::flush() {
  const std::size_t size = output_.size() + large_body_.size();
  std::size_t sent = 0;
  while (sent < size && !output_failed_) {
    error_code error;
    const std::size_t written = stream_->write_now(unsent(sent), error);
    if (error) output_failed_ = true;
    if (written == 0) break;
    sent += written;
  }
  if (sent < size && !output_failed_) {
    // The time that the client takes to read does not count against its next deadline.
    const bool bounded = deadline_ != Steady::max();
    const auto left = deadline_ - call_.services.clock.steady();
    expect_transfer(size - sent);
    const Steady in_all = deadline_;
    while (sent < size && !output_failed_) {
      // A client that has stopped reading gets less time than one that is slow.
      expect_within(thread_.options().transfer_grace);
      deadline_ = std::min(deadline_, in_all);
      Output some(*this, sent);
      sent = co_await some;
    }
    deadline_ = bounded ? call_.services.clock.steady() + left : Steady::max();
  }
  output_.clear();
  if (output_.capacity() > InputBuffer::kKeptBytes) free_memory(output_);
  free_memory(large_body_);
  let_go_of_answer();
  co_return !output_failed_;
}

// --- Answers in pieces.

Task<bool> Session::send(std::string& piece) {
  if (!streamed_) {
    streamed_ = 0;
    thread_.observer().streamed(Observer::Streamed::kOpened);
    keep_alive_ = false;
    ResponseFraming framing;
    framing.date = thread_.date();
    framing.request_id = call_.request_id;
    framing.http_1_0 = call_.head->http_1_0;
    framing.close = true;
    framing.until_close = true;
    append_response(output_, call_.response, framing);
  }
  *streamed_ += piece.size();
  large_body_ = std::exchange(piece, {});
  const bool written = co_await flush();
  co_return written && !over();
}

Task<bool> Session::rest(Duration time) {
  rests_until_ = call_.services.clock.steady() + time;
  Rest rest(*this);
  co_await rest;
  co_return !over();
}

// Must not be called from inside the handler, which may end the session.
void Session::cut_rest_short() {
  if (resting_) thread_.port().resume(std::exchange(resting_, nullptr));
}

// --- Answers.

// Appears only in the log; other servers use the same number.
constexpr int kClientGone = 499;

// Without reliable framing, no further request can be read.
void Session::refuse(const GuardFault& fault) {
  if (call_.head == nullptr) call_.request_id = make_request_id(call_.caller.ids);
  call_.refuse(fault.code, std::string(fault.detail));
  call_.response.must_close = true;
}

// A large answer counts against the budget until the client has it. A read can be repeated, so its
// answer may be refused; the answer to a change is always sent.
void Session::count_answer() {
  Response& response = call_.response;
  service::ByteBudget& budget = call_.services.answers;
  const std::size_t bytes = response.body.capacity();
  if (bytes <= InputBuffer::kKeptBytes) return let_go_of_answer();
  if (bytes < call_.caller.held) budget.give_back(call_.caller.held - bytes);
  if (bytes > call_.caller.held && !budget.take(bytes - call_.caller.held)) {
    if (call_.head != nullptr &&
        (call_.head->method == api::Method::kGet || call_.head->method == api::Method::kHead)) {
      free_memory(response.body);
      call_.refuse(api::ProblemCode::kOverloaded,
                   "the server is sending too many large answers; try again later");
      return let_go_of_answer();
    }
    budget.take_anyway(bytes - call_.caller.held);
  }
  call_.caller.held = bytes;
}

bool Session::is_compressible() const {
  return http::is_compressible(call_.head->method, *call_.route.route, call_.response);
}

void Session::let_go_of_answer() {
  call_.services.answers.give_back(std::exchange(call_.caller.held, 0));
}

void Session::write_response() {
  count_answer();
  Response& response = call_.response;
  const bool known = call_.head != nullptr;
  keep_alive_ = keep_alive_ && !draining_ && !call_.services.draining;
  ResponseFraming framing;
  framing.date = thread_.date();
  framing.request_id = call_.request_id;
  framing.http_1_0 = known && call_.head->http_1_0;
  framing.close = closing();
  framing.head_only = known && call_.head->method == api::Method::kHead;
  framing.body_apart = response.body.size() > kOutputGatheredBytes;
  append_response(output_, response, framing);
  report(response.body.size());
  if (framing.body_apart && !framing.head_only) large_body_ = std::move(response.body);
  if (response.body.capacity() > InputBuffer::kKeptBytes) free_memory(response.body);
}

void Session::report(std::size_t body_bytes) {
  RequestRecord record;
  record.request_id = call_.request_id;
  if (call_.head != nullptr) {
    record.method = call_.head->method_text;
    record.path = call_.head->path();
    record.route = call_.route.route;
  }
  record.status = call_.response.status;
  record.duration = call_.services.clock.steady() - head_read_at_;
  record.received_bytes = body_size_;
  record.sent_bytes = body_bytes;
  record.peer = call_.peer;
  if (call_.caller.access != nullptr) record.token_name = call_.caller.access->settings().name;
  record.problem = call_.response.problem;
  record.note = call_.caller.note;
  if (call_.caller.abandoned() && !call_.caller.revoked()) {
    record.status = kClientGone;
    record.sent_bytes = 0;
    record.problem = "client_gone";
  }
  thread_.observer().answered(record);
}

}  // namespace millrace::http
