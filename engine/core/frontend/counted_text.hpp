// What Python has answered, until it is written.
#pragma once

#include <string>
#include <vector>

#include "frontend/out_queue.hpp"

namespace engine::frontend {

/// What is said instead where that has no room.
constexpr const char* no_room_to_answer = "the server's memory limit was reached; ask again";

/// Puts a text behind the parts, counted in the process's account as long as it lives, if it is
/// large; false where that has no room.
[[nodiscard]] bool add_counted(std::vector<OutPart>& parts, std::string text);

}  // namespace engine::frontend
