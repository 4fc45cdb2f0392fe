// Plays one query of a placement, by the rules at the head of placement/simulator.py.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "lanes.hpp"
#include "moment.hpp"
#include "query.hpp"
#include "streams.hpp"
#include "wire.hpp"

namespace placement {

struct Copy {
  Index tensor, link;
  Ns ready_ns, start_ns, end_ns;
};

/// Used again, query after query, by one thread at a time; it allocates nothing but in its first
/// ones. Of no use any more once it has thrown.
class Simulation {
 public:
  /// The problem must outlive it.
  explicit Simulation(const Problem& problem);
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  /// Throws std::invalid_argument if the placement cannot be run, or its holds cannot be kept,
  /// std::range_error if a time is out of range.
  void run(const Placed& placed);

  /// As far as nothing has ended, of the placement that `query()` holds.
  void rewind();
  /// Plays the next moment; whether there was any.
  bool step();
  [[nodiscard]] Ns now_ns() const noexcept { return now_ns_; }
  /// Tasks that have ended.
  [[nodiscard]] Index ended() const noexcept { return ended_; }
  /// Whether all that happens at this moment has happened.
  [[nodiscard]] bool is_between() const noexcept { return query_.events.next_ns() > now_ns_; }

  /// Remembers the state, which must be between two moments.
  void save(Saved& saved);
  /// Whether all goes on as from there; `scratch` saves allocations.
  [[nodiscard]] bool is_at(const Saved& saved, Moment& scratch);
  /// Goes back to it as if it were now, under the placement that `query()` holds now: what that
  /// changes must not have mattered before. Whatever it was doing is forgotten, even what was left
  /// by an exception. `copies()` has from then on only those that were on their way.
  void restore(const Saved& saved, Ns now_ns);
  /// Needed before that where devices have become used or unused since the last rewind.
  void find_threads();

  /// As Lanes::add_work, and the largest of the devices' bounds; 0 if there is none.
  void add_work(Index device, double lanes_ns) noexcept;
  [[nodiscard]] double least_end_ns() const noexcept;

  /// Placements may be changed in it where nothing is played.
  [[nodiscard]] Query& query() noexcept { return query_; }

  /// Of the last query: its end, what became of its tasks, and its copies in the order of their
  /// starts.
  [[nodiscard]] Ns makespan_ns() const noexcept { return makespan_ns_; }
  [[nodiscard]] const Query& query() const noexcept { return query_; }
  [[nodiscard]] const std::vector<Copy>& copies() const noexcept { return copies_; }

 private:
  void reset();
  [[noreturn]] void throw_never_ready() const;
  /// Events, copies on their way and those that come one after another.
  [[nodiscard]] std::size_t coming() const noexcept;
  void save(Moment& moment);
  void restore_coming(const std::vector<Coming>& all);
  [[nodiscard]] Streams* thread_of(const Link& link) noexcept;
  void book(Event event, Ns now_ns);
  void end(Index task, Ns now_ns);
  void arrive(Index copy, Ns now_ns);
  /// A tensor is there, in the memory that is its home.
  void publish(Index tensor, Index home, Ns now_ns);
  /// Who is held for that tensor, task or copy, waits for it no longer.
  void release(Index tensor, Index home, Ns now_ns);
  void ask_for_copies(Index tensor, Index home, Ns now_ns);
  void deliver(Index task, Ns now_ns);
  void enqueue(Index task, Ns now_ns);
  void launch_copies(Ns now_ns);
  void send(const Copy& copy);
  void expect(Index copy);
  void dispatch(Ns now_ns);

  const Problem& problem_;
  Query query_;
  std::vector<Lanes> lanes_;
  std::vector<std::unique_ptr<Streams>> streams_;  // by device; null where it has none
  std::vector<char> is_used_;                      // by device
  std::vector<Wire> wires_;                        // by link
  std::vector<Index> urgency_;  // by memory: first rank that wants a tensor there; or nobody
  std::vector<Copy> copies_;
  std::vector<Event> listed_;  // within save
  bool is_asked_ = false;
  Ns now_ns_ = 0;
  Ns makespan_ns_ = 0;
  Index ended_ = 0;
  std::uint64_t ended_hash_ = 0;
};

}  // namespace placement
