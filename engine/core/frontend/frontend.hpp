// The front end: a thread that listens, speaks gRPC and REST, and answers queries without Python.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <vector>

#include "frontend/access.hpp"
#include "frontend/asked_query.hpp"
#include "frontend/client_counts.hpp"
#include "frontend/connection.hpp"
#include "frontend/front_model.hpp"
#include "frontend/infer_query.hpp"
#include "frontend/load_report.hpp"
#include "frontend/opening_connection.hpp"
#include "frontend/python_queue.hpp"
#include "frontend/python_side.hpp"
#include "frontend/readiness.hpp"
#include "frontend/recent_queries.hpp"
#include "http2/api.hpp"
#include "isolation/worker_link.hpp"
#include "scheduler/completion_queue.hpp"
#include "tls/context.hpp"

namespace engine::frontend {

/// A socket that listens.
struct Listener {
  int socket = -1;
  Speaks speaks = Speaks::grpc;
};

struct FrontendParams {
  std::vector<Listener> listeners;      ///< they are the front end's from now on
  std::size_t most_connections = 4096;  ///< of those that speak the same
  std::size_t most_of_a_client = 0;     ///< connections of one address; 0: as many as there may be
  std::int64_t handshake_ns = 5'000'000'000;  ///< for who connects and says nothing
  std::int64_t idle_ns = 0;                   ///< for a connection without calls; 0: no limit
  std::shared_ptr<const Regions> regions;     ///< where clients may have put tensors
  isolation::WorkerEnds server;               ///< for whom it runs models, if it does
  std::shared_ptr<const tls::Context> tls;    ///< null: nothing is encrypted
  ConnectionParams connection;
};

/// Of connections: so many are closed at once for new ones, and stay free of queries.
[[nodiscard]] constexpr std::size_t part_of(std::size_t connections) noexcept {
  return connections < 16 ? 1 : connections / 8;
}

/// One epoll thread. ModelInfer, ModelStreamInfer and REST's infer of plain tensors are parsed into
/// the core's values, submitted, and answered as the run ends. All the rest is handed to Python as
/// bytes: what is not plain, other RPCs and paths, models that need more than a Route. So there is
/// one place that knows the whole protocol and says what is wrong.
///
/// A small query that is expected to take less than a hand-over costs is computed by this thread,
/// on a lane that is free (Machine::submit_here), unless its values may decide otherwise; where one
/// took long all the same, its model's are handed over for a while. A query whose answer is kept
/// (AnswerCache) is answered at once.
///
/// Public functions are thread-safe; the thread takes no lock of Python's.
class Frontend final : private CallHandler, private isolation::AnswerSink {
 public:
  /// Begins to accept. Throws std::runtime_error without the library, std::system_error without
  /// descriptors.
  explicit Frontend(const FrontendParams& params);
  Frontend(const Frontend&) = delete;
  Frontend& operator=(const Frontend&) = delete;
  ~Frontend() override;

  [[nodiscard]] FrontModels& models() noexcept { return models_; }
  /// What health checks are answered from.
  [[nodiscard]] Readiness& readiness() noexcept { return readiness_; }
  /// What was answered here lately.
  [[nodiscard]] RecentQueries& recent() noexcept { return recent_; }
  /// Whether durations are counted by buckets, and queries remembered; at first they are.
  void observe(bool wanted) noexcept {
    is_observed_.store(wanted, std::memory_order_relaxed);  // relaxed: soon enough
  }
  /// For Python.
  [[nodiscard]] PythonQueue& events() noexcept { return events_; }
  void reply(Reply reply) { replies_.put(std::move(reply)); }

  /// Hears of answers of a worker from now on, until that is gone.
  void add_worker(std::shared_ptr<isolation::QueryLink> worker);

  /// Answers no further query here: Python says why.
  void drain() noexcept {
    draining_.store(true, std::memory_order_relaxed);  // relaxed: the next query, or soon
    readiness_.drain();
  }
  /// Is not ready any more; answers queries all the same, until it drains.
  void leave() noexcept { readiness_.drain(); }
  /// Asks it from now on who may do what; whoever may do all, where it was never told.
  void set_access(std::shared_ptr<const Access> access);
  /// Cancels what is in flight here; its callers get UNAVAILABLE.
  void abandon() noexcept;
  /// Ends calls whose messages are still to come: the process holds all that it may.
  void end_receipts() noexcept;
  /// Queries in flight here.
  [[nodiscard]] std::size_t in_flight() const noexcept {
    return in_flight_.load(std::memory_order_relaxed);  // relaxed: a number to look at
  }
  /// Accepts no more, lets what is answered be written for up to `grace_ns`, closes all and joins
  /// the thread. Again: nothing.
  void stop(std::int64_t grace_ns) noexcept;
  /// Who connects from now on is shown these certificates; connections that are there stay. Only
  /// where it began with some.
  void renew(std::shared_ptr<const tls::Context> tls);

 private:
  /// A query whose run has not ended.
  struct Flight {
    RunPtr run = {};  ///< null: a worker runs it, or its answer was there
    std::shared_ptr<isolation::QueryLink> worker = {};  ///< with the number that it has there
    std::uint64_t worker_tag = 0;
    std::int64_t deadline_ns = 0;
    std::uint64_t token = 0;
    std::uint64_t item = 0;
    bool in_stream = false;
    FrontModelPtr model = {};
    std::string id = {}, trace_parent = {};
    std::vector<Delivery> wanted = {};
    std::int64_t received_ns = 0, started_ns = 0;
    std::unique_ptr<AskedQuery> asked = {};  ///< null: its answer is not kept
    KeptAnswerPtr kept = {};                 ///< its answer, if that was there
  };
  struct Place {
    Connection* connection = nullptr;
    Call* call = nullptr;
  };

  [[nodiscard]] std::uint64_t next_token() override { return ++last_token_; }
  void on_call(Connection& connection, Call& call) override;
  void on_message(Connection& connection, Call& call, Message message) override;
  void on_complete(Connection& connection, Call& call) override;
  void on_gone(Call& call) override;
  void on_answer(std::uint64_t number, const isolation::WorkerAnswer& answer) override;

  void serve() noexcept;
  void wait_for_events();
  void connect_to_server();
  void watch_worker(const isolation::QueryLink& worker, std::uint64_t number) const;
  void forget_worker(const isolation::QueryLink& worker) const noexcept;
  void wait_for_handshakes();
  void on_socket(std::uint64_t number, std::uint32_t events);
  void accept_all(const Listener& listener);
  void open_connection(int socket, Speaks speaks, std::string client);
  Connection& enter(std::unique_ptr<Connection> connection, Speaks group);
  [[nodiscard]] std::unique_ptr<Transport> transport_of(int socket, Speaks speaks);
  [[nodiscard]] std::unique_ptr<Connection> made(std::unique_ptr<Transport> transport,
                                                 std::uint64_t number, Speaks speaks);
  void go_on_as(OpeningConnection& opening, Speaks speaks);
  [[nodiscard]] std::size_t& open_of(Speaks group) noexcept {
    return open_[static_cast<std::size_t>(group)];
  }
  [[nodiscard]] bool make_room(Speaks group);
  void close_listeners() noexcept;
  void sweep(std::int64_t now_ns);
  void take_replies();
  void take_finished();
  void flush_dirty();
  void close_connection(Connection& connection);
  void touch(Connection& connection);
  [[nodiscard]] Place find(std::uint64_t token) noexcept;

  [[nodiscard]] bool try_answer(Call& call, const Message& message, std::uint64_t item);
  [[nodiscard]] bool submit(Call& call, FrontModelPtr model, std::vector<Delivery> wanted,
                            std::uint64_t item);
  [[nodiscard]] bool answer_kept(const Call& call, Flight& flight);
  void keep(const Flight& flight);
  [[nodiscard]] RunPtr begin(FrontModel& model, const Route::Way& way, const RunOptions& options);
  [[nodiscard]] bool forward(Call& call, FrontModelPtr model, const Message& message,
                             std::uint64_t item, const isolation::RestAsked* rest = nullptr);
  [[nodiscard]] bool forward_rest(Call& call, FrontModelPtr model, const Message& message);
  void pass_on(const Flight& flight, const isolation::WorkerAnswer& answer);
  void take_workers();
  void pump(std::uint64_t number);
  void end_late(std::int64_t now_ns);
  void cancel_all();
  [[nodiscard]] bool turn_away(const Flight& flight);
  void enter(Call& call, std::int64_t tag, Flight flight);
  [[nodiscard]] Flight leave(std::int64_t tag);
  void count(const Flight& flight, std::int64_t ended_ns, std::int64_t waited_ns);
  void count_failure(const Flight& flight, Trouble trouble);
  void finish(Flight flight);
  void tell_load(const Flight& flight);
  void finish_item(Place place, std::uint64_t number, std::vector<OutPart> parts);
  void remember(const Flight& flight, std::optional<Trouble> trouble, std::int64_t ended_ns,
                std::int64_t answered_ns, std::int64_t waited_ns);
  void note_refusal(const Flight& flight, isolation::Refusal refusal);
  void fail(const Flight& flight, Status status, Trouble trouble, const std::string& text);
  [[nodiscard]] bool turn_away_stranger(const Call& call, std::uint64_t item);
  void answer_why(const Flight& flight, Status status, const std::string& text);
  void send_ready_items(Place place);
  bool begin_items(Call& call);
  void tell_python(Call& call, Event event);
  void hand_over(Connection& connection, Call& call);
  void hand_over_item(Call& call, std::uint64_t number, Message message);
  [[nodiscard]] std::optional<std::string> readiness_answer(const Call& call) const;
  void answer_shortly(Connection& connection, Call& call, std::string_view message);
  void on_request(Connection& connection, Call& call);
  void answer_document(Connection& connection, Call& call, int status, std::string document);
  [[nodiscard]] bool leaves_room(Connection& connection, Call& call);
  void hand_over_request(Connection& connection, Call& call);
  void take_answer(Place place, Reply& reply);
  [[nodiscard]] bool delivered(const Flight& flight, const std::vector<ValuePtr>& outputs);
  void deliver(Place place, const Flight& flight, const std::vector<ValuePtr>& outputs);
  [[nodiscard]] bool read_request(const Call& call, const Message& message);
  void look_at_caller(Connection& connection, Call& call);
  [[nodiscard]] Access::Verdict verdict_on(const Call& call, Right right,
                                           std::optional<std::string_view> model) const;

  const FrontendParams params_;
  const http2::Api* const api_;  ///< null: nobody connects
  FrontModels models_;
  Readiness readiness_;
  RecentQueries recent_;
  std::atomic<bool> is_observed_{true};
  PythonQueue events_;
  Mailbox<Reply> replies_;
  Mailbox<std::shared_ptr<isolation::QueryLink>> new_workers_;
  const std::shared_ptr<CompletionQueue> finished_ = std::make_shared<CompletionQueue>();
  std::atomic<bool> draining_{false}, abandons_{false}, stopping_{false}, ends_receipts_{false};
  std::atomic<std::int64_t> stop_by_ns_{0};
  std::atomic<std::size_t> in_flight_{0};
  std::mutex tls_mutex_;
  std::shared_ptr<const tls::Context> tls_;  // guarded by tls_mutex_
  mutable std::mutex access_mutex_;
  std::shared_ptr<const Access> access_;  // guarded by access_mutex_; null: whoever may do all

  // Of the thread alone.
  int epoll_ = -1;
  int handshakes_ = -1;  ///< another epoll, within the first, of connections that have not agreed
  int spare_ = -1;       ///< a descriptor to turn away clients with when there is none left
  std::uint64_t last_token_ = 0, last_connection_ = 0, last_worker_ = 0, last_use_ = 0;
  std::array<std::size_t, 3> open_{};  ///< connections, by what their listeners speak
  std::size_t rest_queries_ = 0;       ///< connections whose query is being answered
  std::int64_t last_tag_ = 0, swept_ns_ = 0;
  bool listens_ = true;
  ClientCounts clients_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Connection>> connections_;
  std::unordered_map<std::uint64_t, Place> places_;  ///< of calls, by token
  std::unordered_map<std::int64_t, Flight> flights_;
  std::unordered_map<std::uint64_t, std::shared_ptr<isolation::QueryLink>> workers_;
  std::vector<Connection*> dirty_;
  std::unique_ptr<std::byte[]> buffer_;
  InferRequest request_;
  std::vector<ValuePtr> values_;
  LoadReport load_;

  std::thread thread_;  // last: it uses all of the above
};

}  // namespace engine::frontend
