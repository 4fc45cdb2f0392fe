// What a CPU device knows of its seats.
#pragma once

#include "lane_forecast.hpp"
#include "seat_table.hpp"

namespace engine {

struct Seats {
  explicit Seats(int lanes) : table(lanes), forecast(lanes) {}

  SeatTable table;
  LaneForecast forecast;  ///< when the taken ones come free
};

}  // namespace engine
