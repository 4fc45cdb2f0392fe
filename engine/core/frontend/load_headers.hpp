// How who asks says that it wants to know a server's load, and how that is said.
#pragma once

#include <string_view>

namespace engine::frontend {

/// Open Request Cost Aggregation, as Triton's clients ask for it: a header of the request with the
/// format, one behind the answer with what was asked for.
inline constexpr std::string_view load_format_header = "endpoint-load-metrics-format",
                                  load_header = "endpoint-load-metrics", load_format = "TEXT";

}  // namespace engine::frontend
