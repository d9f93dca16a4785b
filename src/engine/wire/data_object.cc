#include "engine/wire/data_object.h"

#include "base/json_writer.h"

namespace millrace::engine {

template <typename Value>
DataObject& DataObject::add(std::string_view name, Value value) {
  JsonWriter(members_, !members_.empty()).member(name, value);
  return *this;
}

DataObject& DataObject::text(std::string_view name, std::string_view utf8) {
  return add(name, utf8);
}

DataObject& DataObject::number(std::string_view name, std::int64_t value) {
  return add(name, value);
}

DataObject& DataObject::time(std::string_view name, Time value) { return add(name, value); }

DataObject& DataObject::boolean(std::string_view name, bool value) { return add(name, value); }

DataObject& DataObject::object(std::string_view name, const DataObject& value) {
  JsonWriter(members_, !members_.empty()).raw_member(name, value.json());
  return *this;
}

}  // namespace millrace::engine
