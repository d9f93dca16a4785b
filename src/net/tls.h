// TLS by OpenSSL: the certificates of each side, and the streams that use them.
//
// TLS 1.3, and TLS 1.2 with forward secrecy and authenticated encryption. No renegotiation, no
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

// Paths of PEM files. A certificate's file also holds its chain, without the root.
struct TlsFiles {
  std::string certificate{};
  std::string key{};
  // The authorities that sign the peer's certificates. For a server, empty means that clients are
  // not asked for a certificate; otherwise a client may show one, and an invalid one ends the
  // connection. For a client, empty means the system's authorities.
  std::string authorities{};
};

enum class TlsSide : std::uint8_t { kServer, kClient };

// Thread-safe. A connection keeps the settings with which it began.
class Tls {
 public:
  // Reads the files. The error names the file and the fault.
  static Result<std::unique_ptr<Tls>> load(TlsSide side, TlsFiles files);
  ~Tls();
  Tls(const Tls&) = delete;
  Tls& operator=(const Tls&) = delete;

  // Reads the files again if one has changed since the last read; new connections then use them.
  // Returns true if they were replaced. On an error the old ones stay in use until the files change
  // again.
  Result<bool> reload_if_changed();

  // The expiry of the certificate in use; none if there is no certificate.
  std::optional<Time> expires_at() const;

  // The server side of a connected socket.
  std::unique_ptr<ByteStream> accept(Socket socket) const;
  // The client side. `host`: the name or address that the server's certificate must cover.
  std::unique_ptr<ByteStream> connect(Socket socket, const std::string& host) const;

 private:
  // The files' modification times and sizes, as one text.
  using Seen = std::string;

  Tls(TlsSide side, TlsFiles files);
  Seen look() const;
  std::shared_ptr<ssl_ctx_st> context() const;

  const TlsSide side_;
  const TlsFiles files_;
  Seen seen_;  // used only by the thread that reloads
  mutable std::mutex mutex_;
  std::shared_ptr<ssl_ctx_st> context_;  // guarded by mutex_
};

}  // namespace millrace::net
