#include "kernels/openvino/blob.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <system_error>
#include <tuple>

namespace engine::kernels::openvino {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t line = 64;

[[noreturn]] void fail(const std::string& path) {
  throw std::system_error(errno, std::generic_category(), path);
}

/// Where the weights of an exported model begin: what it says of its parts, relative to that, is
/// somewhere in its head. 0 where nothing there says so.
std::size_t weights_of(int file, std::size_t size) {
  struct Parts {
    std::uint64_t custom, custom_size, weights, weights_size, model, model_size;
  };
  std::array<char, 4096> head{};
  const ssize_t read = ::pread(file, head.data(), head.size(), 0);
  for (std::size_t at = 0;
       at + sizeof(Parts) <= static_cast<std::size_t>(std::max<ssize_t>(read, 0)); ++at) {
    Parts parts{};
    std::memcpy(&parts, head.data() + at, sizeof parts);
    if (parts.custom >= sizeof parts && parts.weights == parts.custom + parts.custom_size &&
        parts.model == parts.weights + parts.weights_size &&
        at + parts.model + parts.model_size == size)
      return at + parts.weights;
  }
  return 0;
}

/// Closes the file.
class File {
 public:
  explicit File(const std::string& path) : number_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (number_ < 0) fail(path);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { ::close(number_); }
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  const int number_;
};

using Key = std::tuple<dev_t, ino_t, off_t, std::int64_t>;

/// Those that somebody holds. Never destroyed.
struct Blobs {
  std::mutex mutex;  // held while one is read
  std::map<Key, std::weak_ptr<const Blob>> all;
};

}  // namespace

std::shared_ptr<const Blob> Blob::open(const std::string& path) {
  static Blobs* const blobs = new Blobs;
  const File file(path);
  struct stat facts{};
  if (::fstat(file.number(), &facts) != 0) fail(path);
  const Key key{facts.st_dev, facts.st_ino, facts.st_size,
                facts.st_mtim.tv_sec * 1'000'000'000 + facts.st_mtim.tv_nsec};
  const std::lock_guard lock(blobs->mutex);
  if (auto known = blobs->all[key].lock()) return known;
  std::erase_if(blobs->all, [](const auto& entry) { return entry.second.expired(); });
  auto blob =
      std::make_shared<const Blob>(path, file.number(), static_cast<std::size_t>(facts.st_size));
  blobs->all[key] = blob;
  return blob;
}

Blob::Blob(const std::string& path, int file, std::size_t size)
    : mapped_((size / huge_page + 2) * huge_page), size_(size) {
  void* const memory =
      ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail(path);
  memory_ = static_cast<char*>(memory);
  // Huge pages begin at multiples of their size; the rest of the range is never touched.
  const std::size_t over = reinterpret_cast<std::uintptr_t>(memory_) % huge_page;
  const std::size_t skipped = over == 0 ? 0 : huge_page - over;
  if (skipped > 0) ::munmap(memory_, skipped);
  memory_ += skipped;
  mapped_ -= skipped;
  static_cast<void>(::madvise(memory_, mapped_, MADV_HUGEPAGE));  // a kernel without them goes on
  data_ = memory_ + (line - weights_of(file, size) % line) % line;
  for (std::size_t done = 0; done < size_;) {
    const ssize_t read = ::pread(file, data_ + done, size_ - done, static_cast<off_t>(done));
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) {
      const int code = read == 0 ? EIO : errno;
      ::munmap(memory_, mapped_);
      throw std::system_error(code, std::generic_category(), path);
    }
    done += static_cast<std::size_t>(read);
  }
}

Blob::~Blob() { ::munmap(memory_, mapped_); }

}  // namespace engine::kernels::openvino
