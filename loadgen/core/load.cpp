#include "load.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "clock.hpp"
#include "grpc_dialogue.hpp"
#include "grpc_status.hpp"
#include "http1_dialogue.hpp"

namespace loadgen {

namespace {

constexpr std::int64_t ns_per_ms = 1'000'000;

Connection::Speaking speaking(LoadParams& params) {
  Prepared& prepared = params.prepared;
  if (!params.is_grpc)
    return [&prepared](Sink& sink) { return std::make_unique<Http1Dialogue>(prepared, sink); };
  const engine::http2::Api& api = engine::http2::Api::open();
  return
      [&api, &prepared](Sink& sink) { return std::make_unique<GrpcDialogue>(api, prepared, sink); };
}

}  // namespace

Load::Load(LoadParams params)
    : params_(std::move(params)),
      address_(find_server(params_.host, params_.port,
                           static_cast<int>(params_.connect_ns / ns_per_ms))),
      deadlines_(params_.prepared.requests) {
  params_.prepared.first.resize(params_.prepared.requests.size());
  connect();
}

void Load::run_closed(std::int64_t start_ns, std::size_t callers, const Length& length) {
  length_ = length;
  begin(start_ns, length.warmup_ns);
  for (std::size_t k = 0; k < callers; ++k) {
    ++free_callers_;
    follow(*connections_[k % connections_.size()]);
  }
  loop();
}

void Load::run_open(std::int64_t start_ns, std::vector<std::int64_t> offsets_ns,
                    std::int64_t warmup_ns, std::size_t most) {
  is_closed_ = false;
  offsets_ns_ = std::move(offsets_ns);
  most_ = most;
  begin(start_ns, warmup_ns);
  loop();
}

void Load::run_fed(std::int64_t start_ns) {
  is_closed_ = false;
  is_fed_ = true;
  begin(start_ns, 0);
  loop();
  mailbox_.close();
}

void Load::ask(std::uint32_t request) {
  if (request >= params_.prepared.requests.size()) throw std::out_of_range("no such request");
  mailbox_.ask(request);
  poller_.wake();
}

void Load::finish() {
  mailbox_.finish();
  poller_.wake();
}

void Load::begin(std::int64_t start_ns, std::int64_t warmup_ns) {
  if (start_ns_ != 0) throw std::logic_error("a load runs once");
  start_ns_ = up_ns_ = start_ns;
  measure_from_ns_ = start_ns + warmup_ns;
}

void Load::connect() {
  Sink& sink = *this;
  const Connection::Speaking speaks = speaking(params_);
  for (std::size_t k = 0; k < params_.connections; ++k)
    connections_.push_back(std::make_unique<Connection>(poller_, address_, speaks, sink, up_));
  const std::int64_t until_ns = now_ns() + params_.connect_ns;
  while (up_ < connections_.size() && !poller_.is_rung()) {
    for (const epoll_event& event : poller_.wait(until_ns)) handle(event);
    for (const auto& connection : connections_)
      if (!connection->reason().empty()) throw std::runtime_error(connection->reason());
    if (now_ns() >= until_ns)
      throw std::runtime_error("it took " + std::to_string(up_) + " of " +
                               std::to_string(connections_.size()) + " connections in time");
  }
}

void Load::handle(const epoll_event& event) {
  Connection& connection = *static_cast<Connection*>(event.data.ptr);
  connection.handle(event.events);
  follow(connection);
}

void Load::loop() {
  while (!poller_.is_rung() && goes_on()) {
    const std::span<const epoll_event> events = poller_.wait(wake_ns());
    if (up_ > 0) up_ns_ = now_ns();  // until now
    for (const epoll_event& event : events) handle(event);
    const std::int64_t time_ns = now_ns();
    measure(time_ns);
    send_due(time_ns);
    if (is_fed_) send_asked();
    expire(time_ns);
    tend(time_ns);
  }
  if (!is_measuring_) return;
  effort_.wall_ns += now_ns();
  effort_.slept_ns += poller_.slept_ns();
  effort_.cpu_ns += thread_cpu_ns();
}

bool Load::goes_on() noexcept {
  if (in_flight_ > 0 || next_ < offsets_ns_.size()) return true;
  return is_fed_ && !gave_up() && !mailbox_.is_finished();
}

void Load::measure(std::int64_t time_ns) {
  if (is_measuring_ || time_ns < measure_from_ns_) return;
  is_measuring_ = true;
  effort_ = {-time_ns, -poller_.slept_ns(), -thread_cpu_ns()};
}

std::int64_t Load::wake_ns() const noexcept {
  std::int64_t wake = is_measuring_ ? never_ns : measure_from_ns_;
  if (next_ < offsets_ns_.size()) wake = std::min(wake, start_ns_ + offsets_ns_[next_]);
  wake = std::min(wake, deadlines_.next_ns());
  // A connection that is made, but never spoken over, says nothing by itself.
  if (up_ == 0) wake = std::min(wake, up_ns_ + params_.patience_ns);
  if (up_ == connections_.size()) return wake;
  for (const auto& connection : connections_) wake = std::min(wake, connection->retry_ns());
  return wake;
}

std::uint32_t Load::turn() const noexcept {
  const std::size_t row = rows_.kind.size();
  const auto& turns = params_.turns;
  if (!turns.empty()) return turns[row % turns.size()];
  return static_cast<std::uint32_t>(row % params_.prepared.requests.size());
}

void Load::start(Connection& connection, std::uint32_t request, std::int64_t intended_ns,
                 std::int64_t sent_ns) {
  const std::uint32_t row = rows_.begin(intended_ns, sent_ns);
  measured_ += intended_ns >= measure_from_ns_;
  ++in_flight_;
  unheard_ns_ = std::min(unheard_ns_, sent_ns);
  deadlines_.add(request, row, &connection, sent_ns);
  connection.start({row, request});
}

void Load::follow(Connection& connection) {
  do {
    while (free_callers_ > 0) {
      --free_callers_;
      const std::int64_t time_ns = now_ns();
      if (is_closed_ && !is_over(time_ns)) start(connection, turn(), time_ns, time_ns);
    }
    connection.flush();  // which may lose the connection, and so free callers
  } while (free_callers_ > 0);
}

bool Load::is_over(std::int64_t time_ns) const noexcept {
  const std::int64_t elapsed_ns = time_ns - measure_from_ns_;
  return gave_up() || (elapsed_ns >= length_.min_duration_ns && measured_ >= length_.min_count);
}

void Load::send_due(std::int64_t time_ns) {
  for (; next_ < offsets_ns_.size(); ++next_) {
    const std::int64_t intended_ns = start_ns_ + offsets_ns_[next_];
    if (intended_ns > time_ns) return;
    const std::int64_t sent_ns = now_ns();
    if (in_flight_ >= most_) {
      const std::uint32_t row = rows_.begin(intended_ns, sent_ns);
      rows_.finish(row, sent_ns, "overflow", "");
      continue;
    }
    Connection& connection = *connections_[next_ % connections_.size()];
    start(connection, turn(), intended_ns, sent_ns);
    follow(connection);
  }
}

void Load::send_asked() {
  for (const Mailbox::Asked& asked : mailbox_.asked()) {
    Connection& connection = *connections_[rows_.kind.size() % connections_.size()];
    start(connection, asked.request, asked.asked_ns, now_ns());
    follow(connection);
  }
}

void Load::expire(std::int64_t time_ns) {
  bool has_expired = false;
  deadlines_.sweep(
      time_ns, [this](std::uint32_t row) { return rows_.is_finished(row); },
      [this, &has_expired](const Waited& waited) {
        has_expired = true;
        waited.connection->forget(waited.row);
        end(waited.row, now_ns(), "DEADLINE_EXCEEDED", "no answer in time");
        follow(*waited.connection);
      });
  if (is_fed_ && has_expired && time_ns - unheard_ns_ >= params_.patience_ns)
    give_up("it said nothing until queries ran out of time");
}

void Load::tend(std::int64_t time_ns) {
  if (up_ == connections_.size() || gave_up()) return;
  for (const auto& connection : connections_) connection->tick(time_ns);
  if (time_ns - up_ns_ >= params_.patience_ns) give_up(reason());
}

std::string Load::reason() const {
  for (const auto& connection : connections_)
    if (!connection->reason().empty()) return connection->reason();
  return "no connection";
}

void Load::give_up(std::string reason) {
  loss_ = std::move(reason);
  next_ = offsets_ns_.size();
  const std::int64_t time_ns = now_ns();
  for (std::uint32_t row = 0; row < rows_.kind.size(); ++row)
    if (!rows_.is_finished(row)) end(row, time_ns, unavailable, loss_);
}

void Load::answered(std::uint32_t row, std::string_view kind, std::string_view message) {
  const std::int64_t time_ns = now_ns();
  end(row, time_ns, kind, message);
  unheard_ns_ = in_flight_ > 0 ? time_ns : never_ns;
}

void Load::end(std::uint32_t row, std::int64_t done_ns, std::string_view kind,
               std::string_view message) {
  rows_.finish(row, done_ns, kind, message);
  if (is_fed_) mailbox_.put({row, kind.empty()});
  --in_flight_;
  ++free_callers_;
  finished_.fetch_add(1, std::memory_order_relaxed);  // relaxed: for a progress bar
}

}  // namespace loadgen
