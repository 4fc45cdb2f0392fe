#include "replicas/line_answer.hpp"

#include <charconv>

namespace engine::replicas {

std::optional<std::int64_t> whole_number(std::string_view text) noexcept {
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && at == end ? std::optional(number) : std::nullopt;
}

std::optional<std::int64_t> reported_wait_ns(std::string_view report) noexcept {
  constexpr std::string_view wait_metric = "named_metrics.wait_ns=";
  const std::size_t at = report.find(wait_metric);
  if (at == report.npos) return std::nullopt;
  report.remove_prefix(at + wait_metric.size());
  return whole_number(report.substr(0, report.find(',')));
}

}  // namespace engine::replicas
