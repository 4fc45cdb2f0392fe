// What tests may ask of the fake OpenVINO beside its C API. Its models are files of words:
//   dynamic      the output's size is open: as the input's
//   counting     it is open: as many elements as the input's first one says
//   unranked     so is the number of its extents
//   rows         the output has a second extent, of 0, before which its size is open
//   refused      reading fails; uncompilable: compiling does
//   fails        a run does; silent: it ends without an answer and without an error
//   halves       elements take four bytes; narrow: those of the output do
//   slow         a run takes some milliseconds
// Each has an input "x" and an output "y" of int64: y = x + 1.
#pragma once

#include <cstddef>

extern "C" {

/// Now: "objects" of any kind; since the start: "runs", those of them "elsewhere" than in the
/// thread that asked, "compiled", "imported", "violations" (a request that runs twice at once, a
/// property that is not set as it should be, memory of others that is to grow), and of the last
/// that was compiled or imported "threads" and whether it is in "float32".
std::size_t fakeOpenVinoCount(const char* what);
}
