// TLS: what a side shows of itself and demands of the other, and streams that speak it. By OpenSSL.
//
// TLS 1.3, and 1.2 with forward secrecy and authenticated encryption; no renegotiation, no
// compression, no early data.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/time.h"
#include "net/tcp_stream.h"

struct ssl_ctx_st;  // OpenSSL's

namespace millrace::net {

// Paths of files in PEM. A certificate's file has the chain behind it, without its root.
struct TlsFiles {
  std::string certificate{};
  std::string key{};
  // The authorities that sign the other side's certificates. Of a server: empty: it asks clients
  // for none; else a client may show one, and a wrong one ends the connection. Of a client: empty:
  // the system's.
  std::string authorities{};
};

enum class TlsSide : std::uint8_t { kServer, kClient };

// Thread-safe. A connection keeps the settings that it began with.
class Tls {
 public:
  // Reads the files. The error names the file, and says what is wrong with it.
  static Result<std::unique_ptr<Tls>> load(TlsSide side, TlsFiles files);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  // Reads the files again if one of them has changed since they were read last; new connections
  // then have them. True: it did. On an error the old ones stay, until the files change again.
  Result<bool> reload_if_changed();

  // When the certificate in use ends; none: it shows none.
  std::optional<Time> expires_at() const;

  // The socket is connected. Of a server:
  std::unique_ptr<ByteStream> accept(Socket socket) const;
  // Of a client. `host`: the name or address that the server's certificate must be for.
  std::unique_ptr<ByteStream> connect(Socket socket, const std::string& host) const;

 private:
  // When the files were written, and their sizes, as one text.
  using Seen = std::string;

  Tls(TlsSide side, TlsFiles files);
  Seen look() const;
  std::shared_ptr<ssl_ctx_st> context() const;

  const TlsSide side_;
  const TlsFiles files_;
  Seen seen_;  // of the thread that reloads
  mutable std::mutex mutex_;
  std::shared_ptr<ssl_ctx_st> context_;  // guarded by mutex_
};

}  // namespace millrace::net
