// A small JSON object, built member by member: the `data` of an event.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/time.h"

namespace millrace::engine {

class DataObject {
 public:
  // `name` needs no escaping. The caller must not add two members of the same name.
  DataObject& text(std::string_view name, std::string_view utf8);
  DataObject& number(std::string_view name, std::int64_t value);
  DataObject& time(std::string_view name, Time value);
  DataObject& boolean(std::string_view name, bool value);
  DataObject& object(std::string_view name, const DataObject& value);

  std::string json() const { return "{" + members_ + "}"; }

 private:
  template <typename Value>
  DataObject& add(std::string_view name, Value value);

  std::string members_;
};

}  // namespace millrace::engine
