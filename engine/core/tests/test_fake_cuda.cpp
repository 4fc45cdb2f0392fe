// Each rule of the fake CUDA library is shown to find the bug that it is there for.
#include <cstring>
#include <thread>

#include "cuda_fixtures.hpp"
#include "devices/cuda/device_scope.hpp"

namespace fake_cuda_tests {

using namespace engine;
using namespace engine::test;
using cuda::CaptureModeScope;

namespace {

/// CUDA used directly, so that it can be used wrongly.
struct Cuda {
  const std::shared_ptr<const cuda::Api> api = std::make_shared<const cuda::Api>(FAKE_CUDA_LIBRARY);
  cuda::StreamHandle a = nullptr, b = nullptr;
  cuda::EventHandle event = nullptr;
  void* device = nullptr;
  void* pinned = nullptr;

  Cuda() {
    api->stream_create(&a, cuda::stream_non_blocking, 0);
    api->stream_create(&b, cuda::stream_non_blocking, 0);
    api->event_create(&event, cuda::event_without_timing);
    api->device_allocate(&device, 256);
    api->host_allocate(&pinned, 256, 0);
    std::memset(pinned, 0, 256);
  }
  int kernel(cuda::StreamHandle stream, bool writes = true) const {
    return FakeCuda::launch(stream, {{device, 256, writes}}, [](void*) {}, nullptr);
  }
  /// Captures stream a on another thread, which goes.
  void begin_elsewhere(int mode) const {
    std::thread([&] { api->stream_begin_capture(a, mode); }).join();
  }
  void end_elsewhere(int expected) const {
    cuda::GraphHandle made = nullptr;
    CHECK(api->stream_end_capture.code(a, &made) == expected);
    CHECK((made != nullptr) == (expected == 0));
  }
  /// A stream of a second GPU.
  [[nodiscard]] cuda::StreamHandle elsewhere(const FakeCuda& fake) const {
    fake.gpus(2);
    const cuda::DeviceScope other(*api, 1);
    cuda::StreamHandle stream = nullptr;
    api->stream_create(&stream, cuda::stream_non_blocking, 0);
    return stream;
  }
  void finish(cuda::StreamHandle stream) const { api->stream_synchronize.code(stream); }
  [[nodiscard]] cuda::ExecutableHandle graph(cuda::StreamHandle stream) const {
    cuda::GraphHandle made = nullptr;
    cuda::ExecutableHandle executable = nullptr;
    api->stream_begin_capture(stream, cuda::capture_thread_local);
    kernel(stream);
    api->stream_end_capture(stream, &made);
    api->graph_instantiate(&executable, made, 0);
    return executable;
  }
};

struct Bug {
  const char* finding;  ///< what the fake must say
  std::function<void(const Cuda&, const FakeCuda&)> plant;
};

const std::vector<Bug>& bugs() {
  static const std::vector<Bug> all{
      {"a kernel writes", [](const Cuda& c, const FakeCuda&) { c.kernel(c.a), c.kernel(c.b); }},
      {"a kernel reads",
       [](const Cuda& c, const FakeCuda&) { c.kernel(c.a), c.kernel(c.b, false); }},
      {"a copy reads",
       [](const Cuda& c, const FakeCuda&) {
         c.kernel(c.a);
         c.api->copy_async(c.pinned, c.device, 256, cuda::device_to_host, c.b);
       }},
      // An event of before the use orders nothing behind the use.
      {"a kernel writes",
       [](const Cuda& c, const FakeCuda&) {
         c.api->event_record(c.event, c.a);
         c.kernel(c.a);
         c.api->stream_wait_event(c.b, c.event, 0);
         c.kernel(c.b);
       }},
      {"cudaStreamSynchronize after warm-up",
       [](const Cuda& c, const FakeCuda& fake) {
         fake.seal(true);
         c.finish(c.a);
       }},
      {"cudaMalloc after warm-up",
       [](const Cuda& c, const FakeCuda& fake) {
         void* more = nullptr;
         fake.seal(true);
         c.api->device_allocate(&more, 256);
       }},
      {"cudaHostAlloc after warm-up",
       [](const Cuda& c, const FakeCuda& fake) {
         void* more = nullptr;
         fake.seal(true);
         c.api->host_allocate(&more, 256, 0);
       }},
      {"cudaFree of",
       [](const Cuda& c, const FakeCuda&) {
         c.kernel(c.a);
         c.api->device_free(c.device);
       }},
      {"cudaFreeHost of",
       [](const Cuda& c, const FakeCuda&) {
         c.api->copy_async(c.device, c.pinned, 256, cuda::host_to_device, c.a);
         c.api->host_free(c.pinned);
       }},
      {"launch from a second thread",
       [](const Cuda& c, const FakeCuda&) {
         c.kernel(c.a);
         std::thread([&] { c.kernel(c.a); }).join();
       }},
      {"cudaStreamWaitEvent from a second thread",
       [](const Cuda& c, const FakeCuda&) {
         c.api->event_record(c.event, c.b);
         c.kernel(c.a);
         std::thread([&] { c.api->stream_wait_event(c.a, c.event, 0); }).join();
       }},
      {"launch on the NULL stream", [](const Cuda& c, const FakeCuda&) { c.kernel(nullptr); }},
      {"a stream that waits for the NULL stream",
       [](const Cuda& c, const FakeCuda&) {
         cuda::StreamHandle blocking = nullptr;
         c.api->stream_create(&blocking, 0, 0);
       }},
      {"an event with timing",
       [](const Cuda& c, const FakeCuda&) {
         cuda::EventHandle timing = nullptr;
         c.api->event_create(&timing, 0);
       }},
      {"cudaEventRecord of an event that is still awaited",
       [](const Cuda& c, const FakeCuda&) {
         c.kernel(c.a);
         c.api->event_record(c.event, c.a);
         c.api->event_record(c.event, c.b);
       }},
      {"of pageable memory",
       [](const Cuda& c, const FakeCuda&) {
         std::array<std::byte, 256> pageable{};
         c.api->copy_async(c.device, pageable.data(), 256, cuda::host_to_device, c.a);
         c.finish(c.a);
       }},
      {"pinned memory changed before its copy",
       [](const Cuda& c, const FakeCuda&) {
         c.api->copy_async(c.device, c.pinned, 256, cuda::host_to_device, c.a);
         std::memset(c.pinned, 1, 256);
         c.finish(c.a);
       }},
      {"a kernel outside of device memory",
       [](const Cuda& c, const FakeCuda&) {
         FakeCuda::launch(c.a, {{c.device, 512, true}}, [](void*) {}, nullptr);
       }},
      {"with work left",
       [](const Cuda& c, const FakeCuda&) {
         c.kernel(c.a);
         c.api->stream_destroy(c.a);
       }},
      {"before memory was freed",
       [](const Cuda& c, const FakeCuda&) { c.api->stream_destroy(c.a); }},
      {"cudaMalloc during a capture",
       [](const Cuda& c, const FakeCuda&) {
         void* more = nullptr;
         c.api->stream_begin_capture(c.a, cuda::capture_thread_local);
         c.api->device_allocate.code(&more, 256);
       }},
      {"cudaEventQuery during a capture",
       [](const Cuda& c, const FakeCuda&) {
         c.api->stream_begin_capture(c.a, cuda::capture_thread_local);
         c.api->event_query.code(c.event);
       }},
      // A global capture of one thread, and what may be unsafe by another.
      {"cudaEventQuery during a capture",
       [](const Cuda& c, const FakeCuda&) {
         c.begin_elsewhere(cuda::capture_global);
         CHECK(c.api->event_query.code(c.event) == 900);
         c.end_elsewhere(901);
       }},
      {"cudaFreeHost during a capture",
       [](const Cuda& c, const FakeCuda&) {
         c.begin_elsewhere(cuda::capture_global);
         c.api->host_free.code(c.pinned);
       }},
      // What asks for the whole device may not be called, whatever the modes.
      {"cudaDeviceSynchronize during a capture",
       [](const Cuda& c, const FakeCuda&) {
         const CaptureModeScope mode(*c.api, cuda::capture_relaxed);
         c.begin_elsewhere(cuda::capture_relaxed);
         CHECK(FakeCuda::wait_for_all("cudaDeviceSynchronize") == 900);
         c.end_elsewhere(901);
       }},
      {"from outside of a capture",
       [](const Cuda& c, const FakeCuda&) {
         c.api->event_record(c.event, c.b);
         c.api->stream_begin_capture(c.a, cuda::capture_thread_local);
         c.api->stream_wait_event.code(c.a, c.event, 0);
       }},
      {"a capture beside other work",
       [](const Cuda& c, const FakeCuda&) {
         c.kernel(c.b);
         c.api->stream_begin_capture(c.a, cuda::capture_thread_local);
       }},
      {"a graph on another stream",
       [](const Cuda& c, const FakeCuda&) { c.api->graph_launch(c.graph(c.a), c.b); }},
      {"which belongs to a graph",
       [](const Cuda& c, const FakeCuda&) {
         static_cast<void>(c.graph(c.a));
         c.kernel(c.a);
       }},
      {"a graph uses memory that was freed",
       [](const Cuda& c, const FakeCuda&) {
         const auto graph = c.graph(c.a);
         c.api->device_free(c.device);
         c.api->graph_launch(graph, c.a);
       }},
      {"cudaGraphExecDestroy while it runs",
       [](const Cuda& c, const FakeCuda&) {
         const auto graph = c.graph(c.a);
         c.api->graph_launch(graph, c.a);
         c.api->executable_destroy(graph);
       }},
      {"cudaDeviceReset with streams",
       [](const Cuda& c, const FakeCuda&) { c.api->device_reset(); }},
      {"launch to a stream of another GPU",
       [](const Cuda& c, const FakeCuda& fake) {
         fake.gpus(2);
         const cuda::DeviceScope other(*c.api, 1);
         c.kernel(c.a);
       }},
      {"a kernel in another GPU's memory",
       [](const Cuda& c, const FakeCuda& fake) { c.kernel(c.elsewhere(fake)); }},
      {"cudaEventRecord of another GPU's event",
       [](const Cuda& c, const FakeCuda& fake) {
         const cuda::StreamHandle stream = c.elsewhere(fake);
         const cuda::DeviceScope other(*c.api, 1);
         c.api->event_record.code(c.event, stream);
       }},
      {"cudaMemcpyAsync outside of device memory",
       [](const Cuda& c, const FakeCuda& fake) {
         const cuda::StreamHandle stream = c.elsewhere(fake);
         const cuda::DeviceScope other(*c.api, 1);
         c.api->copy_async.code(c.device, c.pinned, 256, cuda::host_to_device, stream);
       }},
      {"cudaFree of memory of another GPU",
       [](const Cuda& c, const FakeCuda& fake) {
         fake.gpus(2);
         const cuda::DeviceScope other(*c.api, 1);
         c.api->device_free(c.device);
       }},
      {"cudaMemcpyPeerAsync outside of the memory of its GPUs",
       [](const Cuda& c, const FakeCuda& fake) {
         const cuda::StreamHandle stream = c.elsewhere(fake);
         const cuda::DeviceScope other(*c.api, 1);
         c.api->copy_peer_async.code(c.device, 1, c.device, 0, 256, stream);
       }},
      // What is read there must have been written here, as the host has seen.
      {"a copy between GPUs reads",
       [](const Cuda& c, const FakeCuda& fake) {
         c.kernel(c.a);
         const cuda::StreamHandle stream = c.elsewhere(fake);
         const cuda::DeviceScope other(*c.api, 1);
         void* there = nullptr;
         c.api->device_allocate(&there, 256);
         c.api->copy_peer_async(there, 1, c.device, 0, 256, stream);
       }},
      {"cudaDeviceEnablePeerAccess where there is none",
       [](const Cuda& c, const FakeCuda& fake) {
         fake.gpus(2, false);
         c.api->enable_peer_access.code(1, 0);
       }},
  };
  return all;
}

}  // namespace

TEST(the_fake_library_finds_every_planted_bug) {
  for (const Bug& bug : bugs()) {
    const FakeCuda fake(static_cast<std::uint64_t>(lanes));
    bug.plant(Cuda(), fake);
    CHECK(fake.violations() > 0);
    if (fake.text().find(bug.finding) == std::string::npos)
      throw std::runtime_error(std::string(bug.finding) + " was not found, but: " + fake.text());
  }
}

TEST(the_fake_library_finds_nothing_in_what_is_right) {
  const FakeCuda fake(static_cast<std::uint64_t>(lanes));
  const Cuda c;
  c.kernel(c.a);
  c.api->event_record(c.event, c.a);
  c.api->stream_wait_event(c.b, c.event, 0);
  c.kernel(c.b);
  c.api->copy_async(c.pinned, c.device, 256, cuda::device_to_host, c.b);
  c.finish(c.b);
  c.api->device_free(c.device);
  c.api->host_free(c.pinned);
  c.api->stream_destroy(c.a);
  c.api->stream_destroy(c.b);
  c.api->event_destroy(c.event);
  fake.check_clean();
  CHECK(fake.alive() == 0);
}

TEST(threads_may_submit_to_a_stream_in_turns) {
  const FakeCuda fake(static_cast<std::uint64_t>(lanes));
  const Cuda c;
  for (int i = 0; i < 3; ++i) {
    std::thread([&] { c.kernel(c.a); }).join();
    c.api->event_record(c.event, c.a);
    while (c.api->event_query.code(c.event) != 0) continue;
  }
  fake.check_clean();
}

TEST(a_capture_elsewhere_allows_what_the_modes_of_both_threads_allow) {
  for (const auto& [of_capture, of_thread] :
       {std::pair{cuda::capture_global, cuda::capture_thread_local},
        {cuda::capture_global, cuda::capture_relaxed},
        {cuda::capture_thread_local, cuda::capture_global},
        {cuda::capture_relaxed, cuda::capture_global}}) {
    const FakeCuda fake;
    const Cuda c;
    const CaptureModeScope mode(*c.api, of_thread);
    c.begin_elsewhere(of_capture);
    CHECK(c.api->event_query.code(c.event) == 0);
    c.end_elsewhere(0);
    fake.check_clean();
  }
}

TEST(a_kernel_that_waits_for_the_gpu_is_found_in_a_plan) {
  const FakeCuda fake;
  MachineOwner machine(machine_of({cpu(1), gpu(lanes)}));
  PlanBuilder builder(machine.get());
  const int input = builder.add_value("input"), x = builder.add_value("x"),
            y = builder.add_value("y"), output = builder.add_value("output");
  builder.set_inputs({input});
  builder.add_copy("in", 0, 1, input, x);
  builder.add_node({.name = "n",
                    .device = 1,
                    .kernel = std::make_shared<WaitingSum>(10),
                    .inputs = {x},
                    .outputs = {y}});
  builder.add_copy("out", 1, 0, y, output);
  builder.set_outputs({output});
  fake.seal(true);
  const RunPtr run = machine->run(*builder.build(), Inputs{host_numbers(1, 10)}, {}, 0);
  CHECK(numbers_of(run->outputs()[0]) == 2);
  CHECK(fake.violations() == 1);
  CHECK(fake.text().find("cudaStreamSynchronize after warm-up") != std::string::npos);
  fake.seal(false);
}

}  // namespace fake_cuda_tests
