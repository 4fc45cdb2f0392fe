// Runs a target without libFuzzer, as where the compiler is GCC: inputs are seeds after some
// changes, the same for the same `-seed=`; options have libFuzzer's names.
//
//   target [-runs=N] [-max_total_time=SECONDS] [-seed=N] [FILE ...]
//
// With files, those are run and nothing else. An input that ends the process, or that takes a
// minute, is left in the file `crash-SEED-RUN`.
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string_view>

#include "target.hpp"

// Both end by abort(), which leaves the input.
extern "C" const char* __asan_default_options() { return "abort_on_error=1:handle_abort=0"; }
extern "C" const char* __ubsan_default_options() { return "abort_on_error=1:print_stacktrace=1"; }

namespace {

using Clock = std::chrono::steady_clock;
using engine::fuzz::Random;

constexpr unsigned most_s_of_one = 60;

struct Options {
  std::uint64_t runs = 100'000, seed = 1;
  std::int64_t seconds = 0;  ///< 0: as many as `runs` take
  std::vector<std::string> files;
};

std::string now_running;  // what crashed() writes
char crash_file[64];

void name_crash_file(std::uint64_t seed, std::uint64_t run) {
  std::snprintf(crash_file, sizeof crash_file, "crash-%llu-%llu",
                static_cast<unsigned long long>(seed), static_cast<unsigned long long>(run));
}

/// Only what a signal's handler may do.
void crashed(int number) {
  const int file = open(crash_file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file >= 0 && write(file, now_running.data(), now_running.size()) >= 0) close(file);
  constexpr char said[] = "the input is in ";
  for (const char* const text : {said, static_cast<const char*>(crash_file), "\n"})
    if (write(STDERR_FILENO, text, std::strlen(text)) < 0) break;
  signal(number, SIG_DFL);
  raise(number);
}

bool take_number(std::string_view word, std::string_view name, std::uint64_t& number) {
  if (!word.starts_with(name)) return false;
  number = std::stoull(std::string(word.substr(name.size())));
  return true;
}

Options options_of(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    std::uint64_t seconds = 0;
    if (take_number(word, "-runs=", options.runs) || take_number(word, "-seed=", options.seed))
      continue;
    if (take_number(word, "-max_total_time=", seconds)) {
      options.seconds = static_cast<std::int64_t>(seconds);
      options.runs = ~std::uint64_t{0};
    } else if (!word.starts_with("-")) {
      options.files.emplace_back(word);
    }
  }
  return options;
}

void run(const std::string& input) {
  alarm(most_s_of_one);
  // A copy of its own, so that reading behind its end is seen.
  const std::vector<std::uint8_t> exact(input.begin(), input.end());
  LLVMFuzzerTestOneInput(exact.data(), exact.size());
}

std::string input_of(const std::vector<std::string>& seeds, Random random) {
  std::string input = seeds[random.below(seeds.size())];
  for (std::size_t changes = random.below(8); changes > 0; --changes) {
    input = mutated(std::move(input), random);
    if (input.size() > engine::fuzz::most_input_bytes) input.resize(engine::fuzz::most_input_bytes);
  }
  return input;
}

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "cannot read %s\n", path.c_str());
    std::exit(2);
  }
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = options_of(argc, argv);
  name_crash_file(options.seed, 0);
  for (const int number : {SIGABRT, SIGALRM}) signal(number, crashed);
  for (const std::string& path : options.files) {
    now_running = content_of(path);
    run(now_running);
  }
  if (!options.files.empty()) return 0;
  const std::vector<std::string> seeds = engine::fuzz::seeds();
  std::fprintf(stderr, "INFO: Seed: %llu\n", static_cast<unsigned long long>(options.seed));
  const auto start = Clock::now();
  std::uint64_t count = 0, bytes = 0;
  double slowest_ms = 0;
  auto before = start;
  for (; count < options.runs; ++count) {
    name_crash_file(options.seed, count);
    now_running = input_of(seeds, Random(Random(options.seed).next() + count));
    bytes += now_running.size();
    run(now_running);
    const auto now = Clock::now();
    slowest_ms =
        std::max(slowest_ms, std::chrono::duration<double, std::milli>(now - before).count());
    before = now;
    if (options.seconds > 0 && now - start > std::chrono::seconds(options.seconds)) break;
  }
  alarm(0);
  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  std::printf("%llu runs, %.1f MB of input, %.1f s, the slowest %.1f ms, at most %ld MiB\n",
              static_cast<unsigned long long>(count), static_cast<double>(bytes) / 1e6,
              std::chrono::duration<double>(Clock::now() - start).count(), slowest_ms,
              used.ru_maxrss / 1024);
  return 0;
}
