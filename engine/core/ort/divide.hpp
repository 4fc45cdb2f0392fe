// Integer divisions of ONNX Runtime's kernels that x86 traps and ARM answers.
#pragma once

namespace engine::ort {

/// Dividing the least integer by -1 overflows: x86 ends the process with SIGFPE, ARM answers the
/// least integer again, as numpy and as vector code on x86 do. From now on the instructions of ONNX
/// Runtime's library answer it here, too, by a handler of that signal. So Div of INT64 and INT32 is
/// defined for all values, of tensors that only a model's inner nodes, loops or functions see as
/// well, and other divisions cost nothing more.
///
/// By zero the kernels themselves refuse to divide tensors, but some divide sizes of an empty
/// tensor by one another: zero by zero is zero here, quotient and remainder, as on ARM, where the
/// same kernels run so. Einsum then answers with what a sum of nothing is. Anything else by zero
/// ends the process: nothing is known of what a kernel would do next.
///
/// SIGFPE of anybody else goes on to the handler that was there before. Nothing is done on other
/// processors. Takes the library by an address within it; once a process.
void define_divisions(const void* address_within);

}  // namespace engine::ort
