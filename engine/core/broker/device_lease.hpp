// A process's lease of a GPU, or of another device that several processes give work to.
#pragma once

#include <cstdint>
#include <string_view>

#include "broker/broker.hpp"

namespace engine::broker {

/// A number of a device by what identifies it to all processes of the host; never 0.
[[nodiscard]] std::uint64_t device_number(std::string_view identity) noexcept;

/// One process at a time has work on the device, the most urgent first, by the rule of a machine of
/// one core (View): who holds the lease stops giving it work once another one waits that goes
/// before, and lets go when what it gave has ended. Who is more urgent than what is there, and
/// cannot afford to wait, begins beside it: the device then divides itself. Waits are bounded as
/// those of lanes.
///
/// For one thread, which never waits here: it asks again. While no other process is there, all of
/// it costs a load.
class DeviceLease {
 public:
  /// How often to ask again.
  static constexpr std::int64_t ask_ns = 200'000;

  /// `device` 0: it is not known to others, and nothing is leased. `broker` outlives it.
  DeviceLease(Broker& broker, std::uint64_t device) noexcept : broker_(broker), device_(device) {}
  DeviceLease(const DeviceLease&) = delete;
  DeviceLease& operator=(const DeviceLease&) = delete;
  ~DeviceLease();

  /// Whether that may be given to the device now.
  [[nodiscard]] bool may_submit(const Claim& claim, std::int64_t now_ns);
  /// Nothing of ours is there, and nothing waits to be.
  void end() noexcept;
  /// Whether the device is ours to give work to.
  [[nodiscard]] bool is_held() const noexcept { return stand_ == Stand::computes; }
  [[nodiscard]] bool waits() const noexcept { return stand_ == Stand::waits; }

 private:
  [[nodiscard]] Row& row(Table& table) const noexcept;
  void stand(Table& table, Stand stand) noexcept;
  [[nodiscard]] bool is_wanted(Table& table, const Claim& claim, std::int64_t now_ns) const;
  [[nodiscard]] bool is_turn(Table& table, const Claim& claim, std::int64_t now_ns);

  Broker& broker_;
  const std::uint64_t device_;
  int row_ = -1;
  Stand stand_ = Stand::none;
  std::int64_t began_ns_ = 0, news_ns_ = 0;  ///< of the wait
  std::uint64_t before_ = 0;
};

}  // namespace engine::broker
