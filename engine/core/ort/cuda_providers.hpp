// Which of ONNX Runtime's providers compute a session on a GPU.
#pragma once

#include "ort/cuda_session.hpp"
#include "ort/runtime.hpp"

namespace engine::ort {

/// Gives a session the providers of its segment, to submit to `stream` alone. Throws
/// std::runtime_error with ONNX Runtime's reason and what the provider needs.
void append_cuda_providers(OrtSessionOptions* session, const CudaSegment& segment,
                           cuda::StreamHandle stream, CudaSession::Mode mode);

}  // namespace engine::ort
