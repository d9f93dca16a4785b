// Headers that nearly every file of this room includes, compiled once: see cmake/Rooms.cmake. A
// file still includes all that it uses; the preset gcc builds without this header.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/config/config.h"
#include "server/shard/driver.h"
