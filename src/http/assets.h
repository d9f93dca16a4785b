// The dashboard's files, which are compiled into the program: web/dist as of the build.
#pragma once

#include <span>
#include <string_view>

namespace millrace::http {

struct Asset {
  std::string_view path;  // "/" or "/assets/NAME"; NAME contains a hash of the content
  std::string_view content_type;
  std::string_view tag;  // ETag, derived from the content
  std::string_view plain;
  std::string_view gzip;
  std::string_view brotli;
};
std::span<const Asset> assets();

}  // namespace millrace::http
