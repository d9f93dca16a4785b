#include "json_fields.h"
#include "millrace/codec.h"
#include "shapes_json.h"

namespace millrace::sdk {

NewJob read_new_job(JsonView json) {
  NewJob job;
  with_document(json.text(), [&job](JsonValue root) { return read_members(root, job); });
  return job;
}

}  // namespace millrace::sdk
