// Bytes on their way to a socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace loadgen {

/// What is short is copied, what is long is written from where it lies. Not thread-safe.
class Output {
 public:
  void add(const std::uint8_t* data, std::size_t bytes);
  /// The bytes must stay as they are until empty().
  void refer(const std::uint8_t* data, std::size_t bytes);

  [[nodiscard]] bool empty() const noexcept { return next_ == pieces_.size(); }
  /// Writes what the socket takes without blocking. Throws std::system_error if it is broken.
  void write(int socket);

 private:
  struct Piece {
    const std::uint8_t* data;  ///< null: of `copied_`
    std::size_t offset;        ///< in `copied_`
    std::size_t bytes;
  };

  [[nodiscard]] const std::uint8_t* begin_of(const Piece& piece) const noexcept;
  void advance(std::size_t bytes);

  std::vector<Piece> pieces_;
  std::string copied_;
  std::size_t next_ = 0;    ///< first piece that is not written
  std::size_t within_ = 0;  ///< how much of it is
};

}  // namespace loadgen
