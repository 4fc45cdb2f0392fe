#include "bindings/front_rows.hpp"

#include <string>

#include "bindings/front.hpp"

namespace nb = nanobind;

namespace engine {

namespace {

using frontend::Event;

/// Method, and fields of the head.
nb::object request_of(const Event& event) {
  if (event.kind != Event::request) return nb::none();
  nb::list fields;
  for (const auto& [name, value] : event.fields)
    fields.append(nb::make_tuple(text(name), text(value)));
  return nb::make_tuple(text(event.method), fields);
}

/// Who asks: what `authorization` says, and names of the certificate that was shown.
nb::object caller_of(const Event& event) {
  if (event.kind != Event::call && event.kind != Event::item && event.kind != Event::request)
    return nb::none();
  nb::list names;
  for (const std::string& name : event.certificate_names) names.append(text(name));
  return nb::make_tuple(text(event.authorization), names);
}

}  // namespace

nb::tuple row_of(const Event& event) {
  const frontend::Bytes content = event.content.content();
  const bool has_content =
      event.kind == Event::message || event.kind == Event::item || event.kind == Event::request;
  const nb::object bytes =
      has_content
          ? nb::object(nb::bytes(reinterpret_cast<const char*>(content.data()), content.size()))
          : nb::object(nb::none());
  return nb::make_tuple(static_cast<int>(event.kind), event.token, event.number, text(event.path),
                        text(event.encoding), bytes, event.content.is_compressed, event.deadline_ns,
                        request_of(event), caller_of(event), text(event.trace_parent));
}

}  // namespace engine
