// Where a process runs: its CPUs, control group and namespaces.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "broker/table.hpp"

namespace engine::broker {

/// What the other processes must know of this one.
struct Place {
  std::array<std::uint64_t, cpu_words> cpus{};  ///< a bit a CPU that it may use
  int cores = 1;                                ///< of these, by quota, too
  /// The same for processes whose threads the kernel weighs against each other.
  std::uint64_t group = 0;

  [[nodiscard]] static Place here();
};

/// The kernel's, since it booted; zeroes where it is hidden.
[[nodiscard]] std::array<std::uint64_t, 2> boot_id();
/// A number of this process's namespace of that kind ("pid", "time", ...); 0 if there is none.
[[nodiscard]] std::uint64_t space_of(const char* kind) noexcept;

/// Stores up to 31 bytes of text.
void write(Name& name, const char* text, std::size_t length) noexcept;
/// What was stored, as printable ASCII: whoever wrote it may be broken.
[[nodiscard]] std::string read(const Name& name);

}  // namespace engine::broker
