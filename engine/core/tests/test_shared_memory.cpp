#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "shared_memory/guarded_copy.hpp"
#include "shared_memory/regions.hpp"
#include "test.hpp"

namespace shared_memory_tests {

using namespace engine;

namespace {

/// A file of shared memory of our own, gone with the test.
class Memory {
 public:
  explicit Memory(std::uint64_t bytes, const std::string& suffix = "") {
    static int count = 0;
    key = "/surplus-test-" + std::to_string(::getpid()) + "-" + std::to_string(++count) + suffix;
    descriptor_ = ::open(path().c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK(descriptor_ >= 0);
    truncate(bytes);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    ::close(descriptor_);
    ::unlink(path().c_str());
  }

  void truncate(std::uint64_t bytes) {
    CHECK(::ftruncate(descriptor_, static_cast<off_t>(bytes)) == 0);
  }
  void put(std::uint64_t at, std::string_view text) {
    CHECK(::pwrite(descriptor_, text.data(), text.size(), static_cast<off_t>(at)) ==
          static_cast<ssize_t>(text.size()));
  }
  [[nodiscard]] std::string get(std::uint64_t at, std::size_t bytes) const {
    std::string text(bytes, '\0');
    CHECK(::pread(descriptor_, text.data(), bytes, static_cast<off_t>(at)) ==
          static_cast<ssize_t>(bytes));
    return text;
  }
  [[nodiscard]] std::uint64_t bytes() const {
    struct stat found{};
    CHECK(::fstat(descriptor_, &found) == 0);
    return static_cast<std::uint64_t>(found.st_size);
  }
  [[nodiscard]] std::string path() const { return "/dev/shm" + key; }

  std::string key;

 private:
  int descriptor_ = -1;
};

std::string read(const Regions& regions, std::string_view name, std::uint64_t offset,
                 std::size_t bytes) {
  std::string text(bytes, '\0');
  regions.read(name, offset, text.data(), bytes);
  return text;
}

/// Fails unless it is refused for that, in words that begin so.
void refused(RegionFault fault, std::string_view words, const std::function<void()>& call) {
  try {
    call();
  } catch (const RegionError& error) {
    CHECK(error.fault() == fault);
    CHECK(std::string_view(error.what()).starts_with(words));
    return;
  }
  CHECK(false);
}

}  // namespace

TEST(bytes_go_through_a_region_at_its_offset) {
  Memory memory(64);
  memory.put(0, "0123456789");
  Regions regions;
  regions.add({"r", memory.key, 2, 60});
  CHECK(read(regions, "r", 0, 3) == "234");
  CHECK(read(regions, "r", 5, 2) == "78");
  regions.write("r", 1, "xy", 2);
  CHECK(memory.get(0, 6) == "012xy5");
  CHECK(read(regions, "r", 59, 1) == std::string(1, '\0'));
}

TEST(regions_are_listed_by_name_and_forgotten) {
  Memory memory(8);
  Regions regions;
  regions.add({"b", memory.key, 0, 8});
  regions.add({"a", memory.key.substr(1), 4, 4});  // a key needs no slash
  const std::vector<Region> found = regions.list();
  CHECK(found.size() == 2 && found[0].name == "a" && found[1].name == "b");
  CHECK(regions.find("a").offset == 4 && regions.find("a").bytes == 4);
  CHECK(regions.find("b").key == memory.key);
  regions.remove("a");
  regions.remove("a");
  refused(RegionFault::unknown, "Unable to find shared memory region: 'a'",
          [&] { static_cast<void>(regions.find("a")); });
  regions.clear();
  CHECK(regions.list().empty());
}

TEST(a_name_stands_for_one_region) {
  Memory memory(8);
  Regions regions;
  regions.add({"r", memory.key, 0, 8});
  refused(RegionFault::exists, "shared memory region 'r' already in manager",
          [&] { regions.add({"r", memory.key, 0, 8}); });
  refused(RegionFault::invalid, "a shared memory region's name",
          [&] { regions.add({"", memory.key, 0, 8}); });
  refused(RegionFault::invalid, "a shared memory region's name",
          [&] { regions.add({std::string(2000, 'x'), memory.key, 0, 8}); });
}

TEST(what_lies_outside_of_a_region_is_refused) {
  Memory memory(64);
  Regions regions;
  regions.add({"r", memory.key, 8, 16});
  regions.check("r", 15, 1);
  regions.check("r", 15, 0);
  refused(RegionFault::invalid, "Invalid offset for shared memory region: 'r'",
          [&] { regions.check("r", 16, 0); });
  for (const std::uint64_t bytes : {std::uint64_t{2}, ~std::uint64_t{0}}) {
    refused(RegionFault::invalid, "Invalid offset + byte size for shared memory region: 'r'",
            [&] { regions.check("r", 15, bytes); });
  }
  char byte = 0;
  refused(RegionFault::invalid, "Invalid offset", [&] { regions.read("r", ~0ULL, &byte, 1); });
  refused(RegionFault::invalid, "Invalid offset", [&] { regions.write("r", 16, &byte, 1); });
}

TEST(what_lies_outside_of_the_memory_is_not_registered) {
  Memory memory(64);
  Regions regions;
  const auto add = [&](std::uint64_t offset, std::uint64_t bytes) {
    refused(RegionFault::invalid, "failed to register shared memory region 'r': invalid args",
            [&] { regions.add({"r", memory.key, offset, bytes}); });
  };
  add(0, 65);
  add(64, 1);
  add(0, 0);
  add(8, ~std::uint64_t{0} - 7);  // their sum is 0
  add(~std::uint64_t{0}, 64);
  CHECK(regions.list().empty());
}

TEST(keys_are_names_of_shared_memory_and_not_paths) {
  Regions regions;
  const std::string words = "failed to register shared memory region 'r': invalid args: the key";
  for (const std::string& key :
       {std::string(), std::string("/"), std::string("/.."), std::string("."),
        std::string("../../etc/passwd"), std::string("/a/b"), std::string("a\0b", 3),
        std::string(300, 'x'), std::string("/sem.lock")}) {
    refused(RegionFault::invalid, words, [&] { regions.add({"r", key, 0, 1}); });
  }
  try {
    regions.add({"r", std::string(1 << 20, 'x'), 0, 1});
    CHECK(false);
  } catch (const RegionError& error) {
    CHECK(std::string_view(error.what()).size() < 2000);  // it does not say all of it
  }
  refused(RegionFault::unreachable, "Unable to open shared memory region: '/surplus-test-none'",
          [&] { regions.add({"r", "/surplus-test-none", 0, 1}); });
}

TEST(links_pipes_and_folders_are_not_opened) {
  Memory memory(8);
  Regions regions;
  const std::string name = "/surplus-test-odd-" + std::to_string(::getpid());
  const std::string path = "/dev/shm" + name;
  const auto is_refused = [&] {
    refused(RegionFault::unreachable, "Unable to open shared memory region: '" + name + "'",
            [&] { regions.add({"r", name, 0, 1}); });
  };
  CHECK(::symlink(memory.path().c_str(), path.c_str()) == 0);
  is_refused();
  ::unlink(path.c_str());
  CHECK(::mkfifo(path.c_str(), 0600) == 0);
  is_refused();
  ::unlink(path.c_str());
  CHECK(::mkdir(path.c_str(), 0700) == 0);
  is_refused();
  ::rmdir(path.c_str());
}

/// Where a mapping would end the process.
TEST(a_region_that_was_truncated_fails_who_uses_it) {
  Memory memory(1 << 20);
  Regions regions;
  regions.add({"r", memory.key, 0, 1 << 20});
  memory.truncate(100);
  const std::string words = "shared memory region 'r' was truncated";
  std::string text(200, 'x');
  CHECK(read(regions, "r", 0, 100).size() == 100);
  refused(RegionFault::shrunk, words, [&] { regions.read("r", 0, text.data(), 200); });
  refused(RegionFault::shrunk, words, [&] { regions.write("r", 0, text.data(), 200); });
  CHECK(memory.bytes() == 100);  // nothing was written behind its end
  regions.write("r", 0, text.data(), 100);
  memory.truncate(0);
  refused(RegionFault::shrunk, words, [&] { regions.read("r", 1 << 19, text.data(), 1); });
}

/// All the same: what is mapped is gone while it is copied.
TEST(a_copy_survives_what_is_truncated_under_it) {
  constexpr std::size_t bytes = std::size_t{4} << 20;
  Memory memory(bytes);
  Regions regions;
  regions.add({"r", memory.key, 100, bytes - 100});
  std::atomic<bool> ends{false};
  std::thread truncating([&] {
    while (!ends.load(std::memory_order_relaxed)) {  // relaxed: soon
      memory.truncate(100);
      memory.truncate(bytes);
    }
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < lanes; ++i)
    threads.emplace_back([&regions] {
      std::string text(bytes - 100, 'x');
      for (int round = 0; round < 60; ++round) {
        try {
          if (round % 2 == 0)
            regions.read("r", 0, text.data(), text.size());
          else
            regions.write("r", 0, text.data(), text.size());
        } catch (const RegionError&) {
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  ends.store(true, std::memory_order_relaxed);
  truncating.join();
}

TEST(a_guarded_copy_says_that_memory_is_gone) {
  constexpr std::size_t bytes = 1 << 20;
  Memory memory(bytes);
  const int file = ::open(memory.path().c_str(), O_RDWR | O_CLOEXEC);
  void* const mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  ::close(file);
  CHECK(mapped != MAP_FAILED);
  std::string text(bytes, 'x');
  CHECK(guarded_copy(mapped, text.data(), bytes) && memory.get(bytes - 1, 1) == "x");
  memory.truncate(4096);
  CHECK(!guarded_copy(mapped, text.data(), bytes) && !guarded_copy(text.data(), mapped, bytes));
  CHECK(guarded_copy(text.data(), mapped, 4096));
  ::munmap(mapped, bytes);
}

/// It is somebody's who came later, as Python's faulthandler may.
TEST(no_copy_is_made_under_the_handler_of_others) {
  char from[16] = "text", to[16] = "";
  CHECK(guarded_copy(to, from, sizeof to) && std::string_view(to) == "text");
  struct sigaction theirs = {}, ours = {};
  theirs.sa_handler = SIG_DFL;
  CHECK(::sigaction(SIGBUS, &theirs, &ours) == 0);
  to[0] = '\0';
  CHECK(!guarded_copy(to, from, sizeof to) && to[0] == '\0');
  CHECK(::sigaction(SIGBUS, &ours, nullptr) == 0);
  CHECK(guarded_copy(to, from, sizeof to));
}

TEST(large_regions_and_many_go_through_system_calls) {
  constexpr std::size_t bytes = std::size_t{31} << 20;
  Memory memory(2 * bytes);
  Regions regions;
  regions.add({"large", memory.key, 0, 2 * bytes});
  for (int i = 0; i < 6; ++i) regions.add({std::to_string(i), memory.key, 5, bytes});
  const std::string text(100'000, 'x');
  regions.write("large", 0, text.data(), text.size());
  for (int i = 0; i < 6; ++i)
    CHECK(read(regions, std::to_string(i), 0, 99'000) == text.substr(5, 99'000));
}

TEST(a_region_outlives_its_name_in_the_system) {
  Regions regions;
  {
    Memory memory(4);
    memory.put(0, "abcd");
    regions.add({"r", memory.key, 0, 4});
  }
  CHECK(read(regions, "r", 0, 4) == "abcd");
}

TEST(there_are_as_many_as_the_table_takes) {
  Memory memory(4);
  Regions regions(2);
  regions.add({"a", memory.key, 0, 4});
  regions.add({"b", memory.key, 0, 4});
  refused(RegionFault::too_many, "failed to register shared memory region 'c'",
          [&] { regions.add({"c", memory.key, 0, 4}); });
  regions.remove("a");
  regions.add({"c", memory.key, 0, 4});
}

/// Readers, writers and those that register and forget, at once; for the sanitizers.
TEST(threads_share_the_table) {
  Memory memory(4096);
  memory.put(0, std::string(4096, 'a'));
  Regions regions;
  regions.add({"kept", memory.key, 0, 4096});
  std::vector<std::thread> threads;
  std::vector<int> wrong(static_cast<std::size_t>(lanes) + 1, 0);
  for (std::size_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([&, i] {
      const std::string own = "own" + std::to_string(i);
      const std::string letters(64, 'a');
      for (int round = 0; round < 50; ++round) {
        regions.add({own, memory.key, 0, 4096});
        regions.write(own, i * 64, letters.data(), letters.size());
        if (read(regions, "kept", 0, 4096) != std::string(4096, 'a')) ++wrong[i];
        regions.remove(own);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int count : wrong) CHECK(count == 0);
  CHECK(regions.list().size() == 1);
}

}  // namespace shared_memory_tests
