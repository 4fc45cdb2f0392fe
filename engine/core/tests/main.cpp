// Runs all tests, or those whose name contains the first argument.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "test.hpp"

int main(int argc, char** argv) {
  ::unsetenv("CUBLAS_WORKSPACE_CONFIG");  // whoever starts us may have used a GPU
  int failures = 0, runs = 0;
  for (const auto& test : engine::test::registry()) {
    if (argc > 1 && std::strstr(test.name, argv[1]) == nullptr) continue;
    for (const int lanes : {1, 2, 3, 7, 16}) {
      ++runs;
      try {
        test.run(lanes);
      } catch (const std::exception& error) {
        ++failures;
        std::printf("FAILED %s at %d lanes: %s\n", test.name, lanes, error.what());
      }
    }
  }
  std::printf("%d of %d tests passed\n", runs - failures, runs);
  return failures == 0 && runs > 0 ? 0 : 1;
}
