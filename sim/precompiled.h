// Headers that nearly every file of this room includes, compiled once: see cmake/Rooms.cmake. A
// file still includes all that it uses; the preset gcc builds without this header.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/machine.h"
#include "engine/shard/shard.h"
#include "store/event_codec.h"
#include "store/tables.h"
