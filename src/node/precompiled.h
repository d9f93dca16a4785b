// The includes of nearly every file of this room, compiled once: see cmake/Rooms.cmake. Each file
// still includes what it uses; the preset gcc builds without this header.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "engine/shard/shard.h"
#include "store/registry.h"
