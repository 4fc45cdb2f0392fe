// A waiting room as Python holds it.
#pragma once

#include <nanobind/nanobind.h>

#include <memory>

namespace engine {

class WaitingRoom;

struct PyWaitingRoom {
  std::shared_ptr<WaitingRoom> room;
};

void bind_waiting_room(nanobind::module_& m);

}  // namespace engine
