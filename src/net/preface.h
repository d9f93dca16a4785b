// Reads the PROXY header that may precede all other bytes on a connection from a trusted proxy.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "net/loop.h"
#include "net/tcp_stream.h"

namespace millrace::net {

// Runs on the thread of the socket's loop.
class Preface : public std::enable_shared_from_this<Preface> {
 public:
  // Receives the socket, positioned after the header, and the client's address. The address is
  // empty if the header names none or the connection began without a header.
  using Done = std::function<void(Socket socket, std::string address)>;
  // The connection was invalid and has been closed.
  using Refused = std::function<void()>;

  Preface(Socket socket, Done done, Refused refused);
  Preface(const Preface&) = delete;
  Preface& operator=(const Preface&) = delete;

  // Thread-safe. Call at most once.
  void start();

 private:
  void look();
  void look_when_readable();
  void look_soon();
  void take(std::size_t bytes);
  void refuse(std::string_view reason);
  void finish(std::string address);

  Socket socket_;
  Timer pause_;
  Timer deadline_;
  Done done_;  // none: finished or refused
  Refused refused_;
  bool late_ = false;
};

}  // namespace millrace::net
