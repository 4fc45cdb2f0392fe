// Python's view of the process's memory account.
#include <nanobind/nanobind.h>

#include "bindings/released_gil.hpp"
#include "bindings/value.hpp"
#include "memory/account.hpp"
#include "memory/recent_blocks.hpp"
#include "memory/refused.hpp"
#include "ort/arena.hpp"
#include "ort/runtime.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {
namespace {

void bind_account(nb::module_& m) {
  nb::class_<MemoryAccount>(m, "MemoryAccount",
                            R"(How much memory the queries of a process hold, and how much they may.

Thread-safe, and never blocks.)")
      .def(nb::init<std::size_t>(), "limit_bytes"_a = 0, "A limit of 0 is none.")
      .def("try_take", &MemoryAccount::try_take, "bytes"_a,
           "Take so many bytes; False, and nothing taken, where all would exceed the limit.")
      .def("give", &MemoryAccount::give, "bytes"_a, "Give back what was taken.")
      .def_prop_rw("limit_bytes", &MemoryAccount::limit_bytes, &MemoryAccount::set_limit,
                   "What may be held in all; 0 is no limit.")
      .def_prop_rw("others_bytes", &MemoryAccount::others_bytes, &MemoryAccount::set_others,
                   "What the process holds that nobody takes here, as it was measured last.")
      .def_prop_ro("held_bytes", &MemoryAccount::held_bytes, "What is taken now.")
      .def_prop_ro("refused", &MemoryAccount::refused, "How often something was refused.");
}

}  // namespace

void bind_memory(nb::module_& m) {
  bind_account(m);
  m.attr("MEMORY_REFUSED") = MemoryRefused::kCode;
  m.def("process_memory", &MemoryAccount::process, nb::rv_policy::reference,
        R"(The account that operators' tensors above 64 KiB count in; without a limit at first.

A query that would exceed it fails, and ``Run.error_code`` is ``MEMORY_REFUSED``.)");
  m.def(
      "give_back_free_memory",
      [] {
        RecentBlocks::process().give_back();
        ort::give_back_free_memory(ort::Runtime::get().api());
      },
      nb::call_guard<ReleasedGil>(),
      R"(Give what no query uses of our own and of ONNX Runtime's memory back to the system.

Raises
------
RuntimeError
    If ONNX Runtime is not loaded.)");
}

}  // namespace engine
