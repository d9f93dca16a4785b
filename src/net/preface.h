// What may stand before everything else on a connection of a trusted proxy: the PROXY header.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "net/loop.h"
#include "net/tcp_stream.h"

namespace millrace::net {

// On the thread of the socket's loop.
class Preface : public std::enable_shared_from_this<Preface> {
 public:
  // The socket behind the header, and the address that it names; empty: it names none, or the
  // connection began without one.
  using Done = std::function<void(Socket socket, std::string address)>;
  // The connection is no good, and closed.
  using Refused = std::function<void()>;

  Preface(Socket socket, Done done, Refused refused);
  Preface(const Preface&) = delete;
  Preface& operator=(const Preface&) = delete;

  // Any thread. At most once.
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
  Done done_;  // none: it is over
  Refused refused_;
  bool late_ = false;
};

}  // namespace millrace::net
