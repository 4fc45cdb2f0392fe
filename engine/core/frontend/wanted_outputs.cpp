// Which outputs a query wants, by when, and how urgently.
#include <algorithm>

#include "frontend/infer_query.hpp"

namespace engine::frontend {

std::optional<std::vector<Delivery>> wanted_outputs(const InferRequest& request,
                                                    const FrontModel& model,
                                                    const Regions& regions) {
  std::vector<Delivery> wanted;
  if (request.outputs.empty()) {
    for (std::size_t i = 0; i < model.outputs.size(); ++i)
      wanted.push_back({.place = i, .as_bytes = request.as_bytes});
    return wanted;
  }
  for (const auto& [name, part, as_bytes] : request.outputs) {
    const auto place = FrontModel::find(model.outputs, name);
    if (!place || std::ranges::find(wanted, *place, &Delivery::place) != wanted.end())
      return std::nullopt;
    if (part.bytes > most_copied) return std::nullopt;
    if (!part.region.empty()) {
      regions.check(part.region, part.offset, part.bytes);
      if (regions.find(part.region).gpu != Region::no_gpu) return std::nullopt;
    }
    wanted.push_back({*place, std::string(part.region), part.offset, part.bytes,
                      as_bytes.value_or(request.as_bytes)});
  }
  return wanted;
}

std::int64_t due_ns_of(const Call& call, const InferRequest& request) noexcept {
  if (request.timeout_us == 0) return call.deadline_ns;
  const std::int64_t own_ns =
      call.received_ns + std::min(request.timeout_us, longest_timeout_ns / 1000) * 1000;
  return call.deadline_ns == 0 ? own_ns : std::min(own_ns, call.deadline_ns);
}

std::optional<int> priority_of(std::int64_t level) noexcept {
  constexpr std::int64_t levels = 9, usual = 5;
  if (level == 0) return std::nullopt;
  return static_cast<int>(usual - std::min(level, levels));
}

}  // namespace engine::frontend
