#include "bindings/worker_link.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "frontend/python_side.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace engine {

/// Answers to queries that came through Python.
class AnswersForPython final : public isolation::AnswerSink {
 public:
  struct Answer {
    std::uint64_t number = 0;
    int status = 0;
    isolation::Refusal refusal = isolation::Refusal::none;
    std::string content = {};
  };

  void on_answer(std::uint64_t number, const isolation::WorkerAnswer& answer) override {
    mailbox.put(
        {number, answer.status, answer.refusal,
         std::string(reinterpret_cast<const char*>(answer.content.data()), answer.content.size())});
  }

  frontend::Mailbox<Answer> mailbox;
};

std::shared_ptr<AnswersForPython> answers_for_python() {
  return std::make_shared<AnswersForPython>();
}

namespace {

using isolation::QueryLink;
using isolation::WorkerLink;

nb::object submit(const PyQueryLink& self, const nb::bytes& content, std::int64_t deadline_ns,
                  std::uint64_t number) {
  std::uint64_t tag = 0;
  const isolation::LinkedQuery query{
      .content = {reinterpret_cast<const std::byte*>(content.c_str()), content.size()},
      .deadline_ns = deadline_ns};
  const auto sent = self.link->submit(query, self.answers, number, tag);
  if (sent == QueryLink::Sent::no_room) throw std::bad_alloc();
  return sent == QueryLink::Sent::gone ? nb::object(nb::none()) : nb::cast(tag);
}

const char* name_of(isolation::Refusal refusal) noexcept {
  switch (refusal) {
    case isolation::Refusal::late:
      return "late";
    case isolation::Refusal::queue:
      return "queue";
    case isolation::Refusal::none:
      break;
  }
  return "";
}

nb::list take(const PyQueryLink& self) {
  nb::list rows;
  for (const AnswersForPython::Answer& answer : self.answers->mailbox.take())
    rows.append(nb::make_tuple(answer.number, answer.status, name_of(answer.refusal),
                               nb::bytes(answer.content.data(), answer.content.size())));
  return rows;
}

}  // namespace

void bind_worker_link(nb::module_& m) {
  nb::class_<PyQueryLink>(m, "QueryLink", "A line to what answers queries elsewhere.")
      .def_prop_ro("fd", [](const PyQueryLink& self) { return self.link->fd(); })
      .def(
          "pump", [](const PyQueryLink& self) { return self.link->pump(); },
          "Hear of answers, where no front end does; False once nothing comes any more.")
      .def_prop_ro("is_gone", [](const PyQueryLink& self) { return self.link->is_gone(); })
      .def_prop_ro("in_flight", [](const PyQueryLink& self) { return self.link->in_flight(); })
      .def("submit", &submit, "content"_a, "deadline_ns"_a, "number"_a,
           nb::sig("def submit(self, content: bytes, deadline_ns: int, number: int) -> "
                   "int | None"),
           R"(Send a ModelInferRequest; returns its tag, or None if there is nobody to answer it.

Raises MemoryError where there is no room for it.)")
      .def(
          "cancel", [](const PyQueryLink& self, std::uint64_t tag) { self.link->cancel(tag); },
          "tag"_a)
      .def_prop_ro("answers_fd", [](const PyQueryLink& self) { return self.answers->mailbox.fd(); })
      .def("take_answers", &take,
           nb::sig("def take_answers(self) -> list[tuple[int, int, str, bytes]]"),
           R"(Answers to what was submitted here, since the last call.

Number, gRPC's status, "late" or "queue" where it was refused for that, a ModelInferResponse
or why there is none.)");
  nb::class_<PyWorkerLink, PyQueryLink>(m, "WorkerLink", "A line to a process that runs models.")
      .def(
          "__init__",
          [](PyWorkerLink* self, std::size_t memory_bytes) {
            new (self) PyWorkerLink{{WorkerLink::made(memory_bytes), answers_for_python()}};
          },
          "memory_bytes"_a,
          "Memory of requests in flight, and as much of answers, is taken as it is used.")
      .def(
          "take_ends",
          [](const PyWorkerLink& self) {
            const isolation::WorkerEnds ends =
                std::static_pointer_cast<WorkerLink>(self.link)->take_ends();
            return std::make_tuple(ends.socket, ends.requests, ends.answers);
          },
          "Descriptors for the worker, once: they are the caller's.");
}

}  // namespace engine
