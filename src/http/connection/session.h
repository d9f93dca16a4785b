// An HTTP connection: reads requests, lets handlers answer them one after the other, and writes the
// answers in order.
//
// While a handler waits, a read stays outstanding. It takes in bytes that the client sends ahead,
// and it notices when the client has gone, so that a waiting claim is given up before it takes a
// job. If the buffer is full or large, or already holds the next request, the session only watches
// the stream.
#pragma once

#include <coroutine>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/call.h"
#include "http/connection/chunk_decoder.h"
#include "http/connection/io_thread.h"
#include "http/connection/request_guard.h"
#include "net/byte_stream.h"
#include "net/input_buffer.h"

namespace millrace::http {

class Session final : public net::Connection,
                      public std::enable_shared_from_this<Session>,
                      AnswerStream,
                      net::ByteStream::User {
 public:
  Session(IoThread& thread, std::unique_ptr<net::ByteStream> stream, std::string peer);
  ~Session() override;
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void start() override;
  // Accepts no further request. Closes at once if none is in progress.
  void drain() override;
  void check(Steady now) override;
  const std::string& peer() const override { return peer_; }

 private:
  class Input;   // awaitable: more bytes have come, or none will
  class Rest;    // awaitable: some time has passed, or the wait is cut short
  class Output;  // awaitable: the output is written, or can't be

  enum class Next : std::uint8_t { kRequest, kClose, kLinger, kUpgrade };

  Task<void> run();
  Task<Next> serve();
  Task<bool> read_head();
  Task<bool> read_body();
  Task<bool> read_chunks();
  Task<bool> fill(std::size_t wanted);
  bool borrow(std::size_t wanted);
  void give_back();
  Task<bool> flush();
  Task<void> answer();
  Task<void> linger();

  // --- For a handler that streams.
  Task<bool> send(std::string& piece) override;
  Task<bool> rest(Duration time) override;
  bool over() const override {
    return output_failed_ || input_ended_ || draining_ || call_.services.draining ||
           call_.caller.revoked();
  }
  void cut_rest_short();

  void refuse(const GuardFault& fault);
  bool takes_body_of_refused() const;
  void count_answer();
  void let_go_of_answer();
  void write_response();
  void report(std::size_t body_bytes);

  net::ByteStream::Pieces unsent(std::size_t sent) const;
  std::shared_ptr<net::ByteStream::User> self() { return {shared_from_this(), this}; }

  void start_read();
  void on_read(const net::error_code& error, std::size_t bytes) override;
  void on_written(const net::error_code& error, std::size_t bytes) override;
  void start_watch();
  void on_readable(const net::error_code& error) override;
  void expect_within(Duration time);
  void expect_transfer(std::size_t bytes);
  void expect_nothing();
  bool is_compressible() const;
  bool closing() const { return call_.response.must_close || !keep_alive_; }

  IoThread& thread_;
  std::unique_ptr<net::ByteStream> stream_;  // null: handed over
  const std::string peer_;
  std::string client_;  // the request's client, as named by a trusted proxy

  net::InputBuffer input_;
  std::size_t borrowed_ = 0;  // bytes taken from the budget for bodies
  bool reading_ = false;      // a read is pending
  bool watching_ = false;     // a watch is pending: on_readable() will be called
  bool input_ended_ = false;  // the client will send no more
  std::coroutine_handle<> reader_;

  std::string output_;
  std::string large_body_;  // sent after `output_`: a large body, or a piece of a stream
  bool output_failed_ = false;
  Output* writing_ = nullptr;  // set while a write is pending

  RequestGuard guard_;
  ChunkDecoder chunks_;
  Call call_;
  std::size_t body_size_ = 0;
  bool has_head_ = false;
  bool knows_other_side_ = false;  // call_.certified_name is final
  bool keep_alive_ = true;
  bool draining_ = false;
  bool answering_ = false;                 // a handler is waiting
  std::optional<std::uint64_t> streamed_;  // bytes sent so far of an answer in pieces
  std::coroutine_handle<> resting_;        // until rests_until_
  Steady rests_until_{};
  bool idle_ = true;  // no byte of the next request has arrived
  Steady head_read_at_{};

  Steady deadline_ = Steady::max();
  bool expired_ = false;

  Task<void> run_;  // last: its frames use everything above
};

}  // namespace millrace::http
