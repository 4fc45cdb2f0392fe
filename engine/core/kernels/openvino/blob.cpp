#include "kernels/openvino/blob.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <mutex>
#include <system_error>
#include <tuple>

namespace engine::kernels::openvino {
namespace {

constexpr std::size_t huge_page = std::size_t{2} << 20;

[[noreturn]] void fail(const std::string& path) {
  throw std::system_error(errno, std::generic_category(), path);
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
    : size_(size), mapped_((size / huge_page + 2) * huge_page) {
  void* const memory =
      ::mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail(path);
  data_ = static_cast<char*>(memory);
  // Huge pages begin at multiples of their size; the rest of the range is never touched.
  const std::size_t over = reinterpret_cast<std::uintptr_t>(data_) % huge_page;
  const std::size_t skipped = over == 0 ? 0 : huge_page - over;
  if (skipped > 0) ::munmap(data_, skipped);
  data_ += skipped;
  mapped_ -= skipped;
  static_cast<void>(::madvise(data_, mapped_, MADV_HUGEPAGE));  // a kernel without them goes on
  for (std::size_t done = 0; done < size_;) {
    const ssize_t read = ::pread(file, data_ + done, size_ - done, static_cast<off_t>(done));
    if (read < 0 && errno == EINTR) continue;
    if (read <= 0) {
      const int code = read == 0 ? EIO : errno;
      ::munmap(data_, mapped_);
      throw std::system_error(code, std::generic_category(), path);
    }
    done += static_cast<std::size_t>(read);
  }
}

Blob::~Blob() { ::munmap(data_, mapped_); }

}  // namespace engine::kernels::openvino
