// cuRAND: ONNX Runtime's CUDA provider links to it and calls nothing of it.
extern "C" int nullLaunch(void* stream);
