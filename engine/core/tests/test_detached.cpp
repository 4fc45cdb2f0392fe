#include "isolation/detached.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <string>
#include <system_error>
#include <tuple>
#include <utility>

#include "test.hpp"

namespace detached_tests {

using namespace engine;

namespace {

class Pipe {
 public:
  Pipe() { CHECK(::pipe2(ends_.data(), O_CLOEXEC) == 0); }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    close_reader();
    close_writer();
  }
  [[nodiscard]] int reader() const { return ends_[0]; }
  [[nodiscard]] int writer() const { return ends_[1]; }
  void close_reader() { close_end(ends_[0]); }
  void close_writer() { close_end(ends_[1]); }
  [[nodiscard]] std::string read_all() const {
    std::string all;
    std::array<char, 256> part;
    for (ssize_t got = 0; (got = ::read(reader(), part.data(), part.size())) > 0;)
      all.append(part.data(), static_cast<std::size_t>(got));
    return all;
  }

 private:
  static void close_end(int& end) {
    if (end >= 0) ::close(std::exchange(end, -1));
  }
  std::array<int, 2> ends_{-1, -1};
};

bool ends(const Detached& process) {
  pollfd waited{.fd = process.descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&waited, 1, 60'000) == 1;
}

bool refused(const char* program, const Pipe& input, const Pipe& output) {
  try {
    std::ignore = start_detached({program}, {}, input.reader(), output.writer());
  } catch (const std::system_error& error) {
    return error.code().value() == ENOENT;
  }
  return false;
}

}  // namespace

TEST(a_detached_process_has_its_own_ends_and_is_no_child) {
  Pipe input;
  Pipe output;
  const Detached process = start_detached({"/bin/cat"}, {}, input.reader(), output.writer());
  input.close_reader();
  output.close_writer();
  errno = 0;
  CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
  CHECK(::getsid(process.pid) == process.pid);
  CHECK(::write(input.writer(), "said", 4) == 4);
  input.close_writer();
  CHECK(output.read_all() == "said");
  CHECK(ends(process));
  ::close(process.descriptor);
}

TEST(a_detached_process_takes_signals_that_this_one_ignores) {
  Pipe input;
  Pipe output;
  const auto before = ::signal(SIGTERM, SIG_IGN);
  const Detached process = start_detached({"/bin/cat"}, {}, input.reader(), output.writer());
  ::signal(SIGTERM, before);
  ::kill(process.pid, SIGTERM);
  CHECK(ends(process));
  ::close(process.descriptor);
}

TEST(a_program_that_is_not_there_is_an_error) {
  Pipe input;
  Pipe output;
  CHECK(refused("/nope", input, output));
  errno = 0;
  CHECK(::waitpid(-1, nullptr, WNOHANG | __WALL) == -1);
  CHECK(errno == ECHILD);
}

}  // namespace detached_tests
