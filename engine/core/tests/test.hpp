// A test framework in one page: every test runs at 1, 2, 3, 7 and 16 lanes. Each file of tests has
// a namespace of its own, since several may be compiled as one (batches.cmake).
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace engine::test {

struct Test {
  const char* name;
  void (*run)(int lanes);
};

inline std::vector<Test>& registry() {
  static std::vector<Test> tests;
  return tests;
}

struct Registration {
  Registration(const char* name, void (*run)(int)) { registry().push_back({name, run}); }
};

inline void check(bool holds, const char* what, const char* file, int line) {
  if (!holds)
    throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

}  // namespace engine::test

/// Throws out of the test; for the test's own thread only.
#define CHECK(condition) ::engine::test::check((condition), #condition, __FILE__, __LINE__)

#define TEST(name)                                                        \
  static void name(int lanes);                                            \
  static const ::engine::test::Registration register_##name(#name, name); \
  static void name([[maybe_unused]] int lanes)
