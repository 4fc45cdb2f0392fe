// What a CPU device knows of its seats.
#pragma once

#include "scheduler/lane_forecast.hpp"
#include "scheduler/seat_table.hpp"

namespace engine {

struct Seats {
  explicit Seats(int lanes) : table(lanes), forecast(lanes) {}

  SeatTable table;
  LaneForecast forecast;  ///< when the taken ones come free
};

}  // namespace engine
