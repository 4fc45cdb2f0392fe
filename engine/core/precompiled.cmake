# Headers of the standard library, parsed once a target rather than once a file: a third to a half
# of what a file of the tests costs. A file still includes what it uses: `make sanitize` compiles
# without these once.
function(surplus_precompile target)
  # ccache stores nothing that precompiled headers go into, and spares more than they do.
  if(CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
    return()
  endif()
  target_precompile_headers(${target} PRIVATE
    <algorithm> <array> <atomic> <chrono> <cstdint> <cstring> <deque> <functional> <map> <memory>
    <mutex> <optional> <span> <stdexcept> <string> <string_view> <thread> <unordered_map> <utility>
    <vector> ${ARGN})
  # Where a compiler does not take what it made, it reads the headers.
  set_target_properties(${target} PROPERTIES PCH_WARN_INVALID OFF)
endfunction()

# The same headers as those of a target with the same options.
function(surplus_precompile_as target other)
  if(NOT CMAKE_CXX_COMPILER_LAUNCHER MATCHES "ccache")
    target_precompile_headers(${target} REUSE_FROM ${other})
    set_target_properties(${target} PROPERTIES PCH_WARN_INVALID OFF)
  endif()
endfunction()
