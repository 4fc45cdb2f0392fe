// Whose file of the broker is taken, and which is refused by name.
#include <fcntl.h>
#include <sys/stat.h>

#include <cstddef>
#include <fstream>

#include "broker/place.hpp"
#include "broker/table_file.hpp"
#include "broker_fixtures.hpp"
#include "files/checksum.hpp"
#include "fixtures.hpp"

namespace broker_file_tests {

using namespace engine;
using namespace engine::broker;
using namespace engine::test;

namespace {

std::string refusal(const std::string& path) {
  return failure_of([&] { const TableFile file(path); });
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Writes into the file, from that byte on.
void damage(const std::string& path, std::size_t offset, const std::string& bytes) {
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(static_cast<std::streamoff>(offset));
  file << bytes;
}

}  // namespace

TEST(the_file_is_private_and_made_once) {
  const BrokerFolder folder;
  const TableFile first(folder.file());
  struct stat found{};
  CHECK(stat(folder.file().c_str(), &found) == 0);
  CHECK((found.st_mode & 0777) == 0600);
  first.table().live.store(5, std::memory_order_relaxed);  // relaxed: one thread
  const TableFile second(folder.file());
  CHECK(second.table().live.load(std::memory_order_relaxed) == 5);  // relaxed: as above
}

TEST(a_folder_is_made_for_the_file) {
  const BrokerFolder folder;
  const std::string file = folder.path() / "new" / "broker";
  CHECK(refusal(file).empty());
  CHECK(has(refusal(folder.path() / "none" / "new" / "broker"), "has no folder"));
}

TEST(another_version_is_refused) {
  const BrokerFolder folder;
  CHECK(refusal(folder.file()).empty());
  damage(folder.file(), offsetof(Header, version), std::string("\7\0\0\0", 4));
  CHECK(has(refusal(folder.file()), "is of version 7, this is version 1"));
  CHECK(truncate(folder.file().c_str(), 4096) == 0);  // whose table is of another size, too
  CHECK(has(refusal(folder.file()), "is of version 7, this is version 1"));
}

TEST(a_damaged_file_is_refused) {
  const BrokerFolder folder;
  CHECK(refusal(folder.file()).empty());
  damage(folder.file(), offsetof(Header, slots), "?");
  CHECK(has(refusal(folder.file()), "is damaged: its header's checksum is wrong"));
  damage(folder.file(), 0, "other");
  CHECK(has(refusal(folder.file()), "is damaged: it does not begin as a broker's file"));
  CHECK(truncate(folder.file().c_str(), 100) == 0);
  CHECK(has(refusal(folder.file()), "is damaged: it has 100 bytes"));
}

TEST(a_file_whose_maker_died_is_made_anew) {
  const BrokerFolder folder;
  CHECK(refusal(folder.file()).empty());
  damage(folder.file(), 0, std::string(8, '\0'));  // the magic number is written last
  CHECK(refusal(folder.file()).empty());
  CHECK(refusal(folder.file()).empty());
}

TEST(a_file_of_an_earlier_boot_is_made_anew_if_nobody_uses_it) {
  const BrokerFolder folder;
  {
    const TableFile file(folder.file());
    Header& header = file.table().header;
    header.boot[0] += 1;
    Checksum sum;
    sum.add(&header, offsetof(Header, checksum));
    header.checksum = sum.value();
    CHECK(file.try_lock(3));
    CHECK(has(refusal(folder.file()), "is of another clock"));
  }
  CHECK(refusal(folder.file()).empty());
  const TableFile file(folder.file());
  CHECK(file.table().header.boot == boot_id());
}

TEST(links_folders_and_open_files_are_refused) {
  const BrokerFolder folder;
  const std::string link = folder.path() / "link";
  CHECK(symlink(folder.file().c_str(), link.c_str()) == 0);
  CHECK(has(refusal(link), "is a symbolic link"));
  CHECK(!std::filesystem::exists(folder.file()));
  CHECK(has(refusal(folder.path()), "is not a regular file"));
  CHECK(mkfifo((folder.path() / "pipe").c_str(), 0600) == 0);
  CHECK(has(refusal(folder.path() / "pipe"), "is not a regular file"));
  CHECK(refusal(folder.file()).empty());
  CHECK(chmod(folder.file().c_str(), 0660) == 0);
  CHECK(has(refusal(folder.file()), "its mode must be 0600"));
  CHECK(chmod(folder.path().c_str(), 0777) == 0);
  CHECK(has(refusal(folder.file()), "lies in a folder that others may write to"));
  CHECK(chmod(folder.path().c_str(), 0700) == 0);
}

TEST(somebody_elses_file_is_refused) {
  if (geteuid() != 0) return;  // who may give files away
  const BrokerFolder folder;
  CHECK(refusal(folder.file()).empty());
  CHECK(chown(folder.file().c_str(), 12'345, 12'345) == 0);
  CHECK(has(refusal(folder.file()), "is owned by somebody else, user 12345"));
  CHECK(chown(folder.path().c_str(), 12'345, 12'345) == 0);
  CHECK(has(refusal(folder.file()), "lies in somebody else's folder"));
}

TEST(locks_say_who_lives) {
  const BrokerFolder folder;
  const TableFile mine(folder.file()), other(folder.file());
  CHECK(!mine.is_locked(7));
  CHECK(other.try_lock(7) && mine.is_locked(7) && !mine.try_lock(7));
  CHECK(!other.is_locked(7));  // its own
  other.unlock(7);
  CHECK(!mine.is_locked(7));
  Child child([&] {
    const auto* const its = new TableFile(folder.file());
    if (!its->try_lock(9)) _exit(1);
  });
  CHECK(mine.is_locked(9));
  child.kill();
  CHECK(!mine.is_locked(9));
}

}  // namespace broker_file_tests
