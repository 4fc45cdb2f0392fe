#include "broker/place.hpp"

#include <sched.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <iterator>

#include "files/checksum.hpp"
#include "scheduler/cores.hpp"

namespace engine::broker {

namespace {

std::string text_of(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Whose shares of the CPUs are weighed together: the control group, by its path and by whose view
/// of the paths that is, and the session, where the kernel groups by these.
std::uint64_t group_here() {
  std::string path = text_of("/proc/self/cgroup");
  if (text_of("/proc/sys/kernel/sched_autogroup_enabled").starts_with('1'))
    path += text_of("/proc/self/autogroup");
  const std::uint64_t space = space_of("cgroup");
  struct stat root{};
  static_cast<void>(::stat("/sys/fs/cgroup", &root));
  const std::uint64_t inode = root.st_ino;
  Checksum sum;
  sum.add(path.data(), path.size());
  sum.add(&space, sizeof space);
  sum.add(&inode, sizeof inode);
  return sum.value();
}

}  // namespace

Place Place::here() {
  Place place;
  cpu_set_t set;
  CPU_ZERO(&set);
  static_cast<void>(sched_getaffinity(0, sizeof set, &set));
  for (std::size_t cpu = 0; cpu < CPU_SETSIZE && cpu < 64 * cpu_words; ++cpu)
    if (CPU_ISSET(cpu, &set)) place.cpus[cpu / 64] |= std::uint64_t{1} << cpu % 64;
  place.cores = available_cores();
  place.group = group_here();
  return place;
}

std::array<std::uint64_t, 2> boot_id() {
  std::string text = text_of("/proc/sys/kernel/random/boot_id");
  std::erase_if(text, [](char c) { return std::strchr("0123456789abcdef", c) == nullptr; });
  if (text.size() < 32) return {};
  return {std::stoull(text.substr(0, 16), nullptr, 16),
          std::stoull(text.substr(16, 16), nullptr, 16)};
}

std::uint64_t space_of(const char* kind) noexcept {
  struct stat found{};
  char path[64] = "/proc/self/ns/";
  std::strncat(path, kind, sizeof path - 16);
  return ::stat(path, &found) == 0 ? found.st_ino : 0;
}

void write(Name& name, const char* text, std::size_t length) noexcept {
  std::array<std::uint64_t, name_words> words{};
  std::memcpy(words.data(), text, std::min(length, sizeof words - 1));
  // relaxed: it is shown only
  for (std::size_t i = 0; i < name_words; ++i) name[i].store(words[i], std::memory_order_relaxed);
}

std::string read(const Name& name) {
  std::array<std::uint64_t, name_words> words{};
  // relaxed: as above
  for (std::size_t i = 0; i < name_words; ++i) words[i] = name[i].load(std::memory_order_relaxed);
  std::array<char, sizeof words + 1> text{};
  std::memcpy(text.data(), words.data(), sizeof words);
  std::string found(text.data());
  std::ranges::replace_if(found, [](char c) { return c < ' ' || c > '~'; }, '?');
  return found;
}

}  // namespace engine::broker
