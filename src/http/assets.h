// The files of the dashboard, which the program carries: web/dist, taken in at build.
#pragma once

#include <span>
#include <string_view>

namespace millrace::http {

struct Asset {
  std::string_view path;  // "/" or "/assets/NAME"; a NAME has a hash of the content in it
  std::string_view content_type;
  std::string_view tag;  // of the content
  std::string_view plain;
  std::string_view gzip;
  std::string_view brotli;
};
std::span<const Asset> assets();

}  // namespace millrace::http
