// One run: queries leave, answers are waited for, rows say when.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "address.hpp"
#include "connection.hpp"
#include "deadlines.hpp"
#include "dialogue.hpp"
#include "mailbox.hpp"
#include "poller.hpp"
#include "prepared.hpp"
#include "rows.hpp"

namespace loadgen {

/// Whom to ask what.
struct LoadParams {
  std::string host;
  std::uint16_t port = 0;
  bool is_grpc = true;           ///< else HTTP/1.1
  std::size_t connections = 1;   ///< at least one
  std::int64_t connect_ns = 0;   ///< how long the first connections may take
  std::int64_t patience_ns = 0;  ///< without a server for so long the run ends
  Prepared prepared;
  /// Which request each query sends, over and over; empty: they take turns.
  std::vector<std::uint32_t> turns;
};

/// How long a load lasts: until both minima are reached, behind the warm-up.
struct Length {
  std::int64_t warmup_ns = 0, min_duration_ns = 0, min_count = 0;
};

/// What the measured part cost the thread that ran it.
struct Effort {
  std::int64_t wall_ns = 0;   ///< of the measured part
  std::int64_t slept_ns = 0;  ///< of that, with nothing to do
  std::int64_t cpu_ns = 0;    ///< of that, computing
};

/// Runs once, in the thread that calls it; stop(), finished() and what feeds it are for others.
class Load final : private Sink {
 public:
  /// Connects. Throws std::runtime_error saying why not, or how many connections the server took.
  explicit Load(LoadParams params);
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  /// Keeps `callers` queries in flight; returns when the last answer is there. Times count from
  /// `start_ns`, as loads that run beside it have it.
  void run_closed(std::int64_t start_ns, std::size_t callers, const Length& length);
  /// Sends queries at these times; those before `warmup_ns` are not measured. While `most` are in
  /// flight, further ones are not sent and count as "overflow".
  void run_open(std::int64_t start_ns, std::vector<std::int64_t> offsets_ns, std::int64_t warmup_ns,
                std::size_t most);

  /// Sends what ask() is told to, until finish() was called and the last answer is there. A server
  /// that has said nothing for `patience_ns` when a query runs out of time counts as gone.
  void run_fed(std::int64_t start_ns);
  /// Sends a query of that request, at once; queries are numbered from 0. Of a fed run.
  void ask(std::uint32_t request);
  /// Waits for queries of a fed run to end. Empty: it is over.
  [[nodiscard]] std::vector<Mailbox::Ended> take() { return mailbox_.take(); }
  /// Nothing more will be asked.
  void finish();
  /// The bytes of the first answer to that request, if answers are kept: over gRPC a message with
  /// its prefix, else a body. Of a fed run, from who took a query of it with success.
  [[nodiscard]] const Compared::First& first_answer(std::uint32_t request) const {
    return params_.prepared.first.at(request);
  }

  /// Ends the run; what is in flight stays unfinished.
  void stop() noexcept { poller_.ring(); }
  /// How many queries have ended so far.
  [[nodiscard]] std::uint64_t finished() const noexcept {
    return finished_.load(std::memory_order_relaxed);  // relaxed: for a progress bar
  }

  [[nodiscard]] const Rows& rows() const noexcept { return rows_; }
  [[nodiscard]] const Effort& effort() const noexcept { return effort_; }
  /// Why it ended before its time, as there was no server any more; empty if it did not.
  [[nodiscard]] const std::string& loss() const noexcept { return loss_; }
  [[nodiscard]] bool gave_up() const noexcept { return !loss_.empty(); }

 private:
  void answered(std::uint32_t row, std::string_view kind, std::string_view message) override;
  void begin(std::int64_t start_ns, std::int64_t warmup_ns);
  void connect();
  void loop();
  void handle(const epoll_event& event);
  [[nodiscard]] std::int64_t wake_ns() const noexcept;
  [[nodiscard]] std::uint32_t turn() const noexcept;
  [[nodiscard]] bool goes_on() noexcept;
  void start(Connection& connection, std::uint32_t request, std::int64_t intended_ns,
             std::int64_t sent_ns);
  void follow(Connection& connection);
  [[nodiscard]] bool is_over(std::int64_t time_ns) const noexcept;
  void send_due(std::int64_t time_ns);
  void send_asked();
  void expire(std::int64_t time_ns);
  void tend(std::int64_t time_ns);
  void end(std::uint32_t row, std::int64_t done_ns, std::string_view kind,
           std::string_view message);
  /// All that is in flight has failed, and nothing more is sent.
  void give_up(std::string reason);
  [[nodiscard]] std::string reason() const;
  void measure(std::int64_t time_ns);

  LoadParams params_;
  const Address address_;
  Poller poller_;
  Rows rows_;
  std::size_t up_ = 0;  ///< connections that are; before them, as they count themselves
  std::vector<std::unique_ptr<Connection>> connections_;
  Deadlines deadlines_;
  Mailbox mailbox_;
  std::int64_t start_ns_ = 0, measure_from_ns_ = never_ns;
  std::int64_t up_ns_ = 0;  ///< when there was a connection the last time
  /// Since when queries are in flight and the server says nothing; never_ns: nobody waits.
  std::int64_t unheard_ns_ = never_ns;
  std::int64_t measured_ = 0;  ///< rows behind the warm-up
  std::size_t in_flight_ = 0;
  std::size_t free_callers_ = 0;  ///< of a closed loop: whose queries have just ended
  bool is_closed_ = true, is_fed_ = false;
  Length length_;
  std::vector<std::int64_t> offsets_ns_;
  std::size_t next_ = 0, most_ = 0;
  std::string loss_;
  bool is_measuring_ = false;
  Effort effort_;
  std::atomic<std::uint64_t> finished_{0};
};

}  // namespace loadgen
