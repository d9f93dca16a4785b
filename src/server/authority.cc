#include "server/authority.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file.h"
#include "net/certificates.h"

namespace millrace::server {
namespace {

namespace fs = std::filesystem;

constexpr ::mode_t kForAll = 0644;
constexpr ::mode_t kForOwner = 0600;

CertificateFiles files_in(const fs::path& directory, const std::string& stem) {
  return {directory / (stem + ".pem"), directory / (stem + ".key")};
}
CertificateFiles authority_in(const fs::path& directory) { return files_in(directory, "ca"); }

// Ensures that a running server never reads a partial file.
Status write(const fs::path& path, std::string_view text, ::mode_t mode) {
  const auto failed = [&path](std::string_view reason) {
    return failure(fmt::format("can't write {}: {}", path.string(), reason));
  };
  const fs::path written = path.string() + ".new";
  const auto file = open_file(written, O_WRONLY | O_CREAT | O_TRUNC, mode);
  if (!file) return failed(file.error().reason);
  const int number = file->number();
  const bool whole =
      ::fchmod(number, mode) == 0 &&
      ::write(number, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fsync(number) == 0;
  if (!whole || ::rename(written.c_str(), path.c_str()) != 0) return failed(std::strerror(errno));
  return {};
}

Status make_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return failure(fmt::format("can't make {}: {}", directory.string(), error.message()));
  return {};
}

// Writes the key first, so that a server that finds the certificate also finds its key.
Result<CertificateFiles> keep(const net::Certified& made, CertificateFiles files) {
  if (Status status = write(files.key, made.key, kForOwner); !status) {
    return std::unexpected(std::move(status.error()));
  }
  if (Status status = write(files.certificate, made.certificate, kForAll); !status) {
    return std::unexpected(std::move(status.error()));
  }
  return files;
}

}  // namespace

Result<CertificateFiles> make_authority_in(const fs::path& directory, const std::string& name) {
  if (Status made = make_directory(directory); !made) {
    return std::unexpected(std::move(made.error()));
  }
  CertificateFiles files = authority_in(directory);
  for (const fs::path& file : {files.certificate, files.key}) {
    std::error_code ignored;
    if (fs::exists(file, ignored)) {
      return failure(fmt::format(
          "{} is there already; what it has signed is worth nothing without it. Choose another "
          "directory, or move it away",
          file.string()));
    }
  }
  const auto made = net::make_authority(name);
  if (!made) return std::unexpected(made.error());
  return keep(*made, std::move(files));
}

Result<CertificateFiles> issue_into(const fs::path& directory, const fs::path& authority,
                                    const std::vector<std::string>& names) {
  const CertificateFiles from = authority_in(authority);
  auto certificate = read_file(from.certificate);
  if (!certificate) return std::unexpected(std::move(certificate.error()));
  auto key = read_file(from.key);
  if (!key) return std::unexpected(std::move(key.error()));
  const auto made = net::issue_certificate({std::move(*certificate), std::move(*key)}, names);
  if (!made) return std::unexpected(made.error());
  if (Status status = make_directory(directory); !status) {
    return std::unexpected(std::move(status.error()));
  }
  if (names.front().find('/') != std::string::npos) {
    return failure("the first name becomes the files' name and can't have a '/'");
  }
  return keep(*made, files_in(directory, names.front()));
}

}  // namespace millrace::server
