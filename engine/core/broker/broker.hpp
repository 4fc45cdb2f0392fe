// One budget of cores for all processes of a user: who computes what, and whose turn it is.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "broker/place.hpp"
#include "broker/table.hpp"
#include "broker/table_file.hpp"
#include "broker/view.hpp"
#include "scheduler/clock.hpp"
#include "scheduler/lane_outlook.hpp"

namespace engine::broker {

/// What a lane is about to compute.
struct Claim {
  RunOrder order = {};
  std::int64_t arrival_ns = 0;  ///< of its query
  std::int64_t service_ns = 0;  ///< predicted
  std::int64_t left_ns = 0;     ///< what its query takes yet, at least
  int width = 1;
  bool waits = true;  ///< whether it may have to wait for its turn
  std::string_view what = {};
};

/// How a lane came to compute.
struct Turn {
  int beside = -1;            ///< the CPU of what it computes beside; -1: it has a core
  int waited_for = -1;        ///< the slot of a process that was in its way; -1: none was
  std::int64_t since_ns = 0;  ///< when it began to wait
};

/// A lease as it is shown.
struct Listed {
  int slot = 0;
  std::int32_t process = 0;          ///< its number, where it sees itself
  bool is_in_our_space = false;      ///< so that the number is ours, too
  std::string name = {}, what = {};  ///< of the process, of what is computed
  std::uint64_t device = 0;          ///< 0: CPUs
  bool computes = false;             ///< else it waits for its turn
  RunOrder order = {};
  int width = 1;
  std::int64_t since_ns = 0, end_ns = 0;
};

/// This process's part in the table that all processes map (table.hpp). Each writes its own slot
/// and rings others; nobody waits for another longer than `news_ns` without that anything happens
/// before it, or `longest_ns` in all: it is advice, and no lock.
///
/// The rule is that of a machine of one process (RunOrder, LeastUrgent), over all of them: who is
/// about to compute and finds no core free waits for its turn, unless it is more urgent than what
/// computes, and cannot afford to wait until any of that is predicted to end: then it begins beside
/// the least urgent one, and the kernel divides the core. Nobody's weight is changed. What is best
/// effort waits for nobody whom the kernel weighs against it: its threads run when no other wants
/// to.
///
/// Thread-safe. While no other process is there, all of it costs a load.
class Broker {
 public:
  static constexpr std::int64_t worth_leasing_ns = 50'000;
  static constexpr std::int64_t news_ns = 100'000'000;
  static constexpr std::int64_t longest_ns = 1'000'000'000;
  static constexpr std::int64_t look_ns = 20'000'000;  ///< how often who waits looks for the dead

  /// Takes part in nothing yet.
  Broker() noexcept = default;
  Broker(const Broker&) = delete;
  Broker& operator=(const Broker&) = delete;
  ~Broker() { leave(); }

  /// The process's, never destroyed. A forked child is in none.
  [[nodiscard]] static Broker& of_process();

  /// Takes a slot of the table, `name` says of what process; once it has one, says anew where it
  /// runs. Throws std::runtime_error saying why there is no part in it for us.
  void join(const std::string& path, const std::string& name);
  /// Gives the slot back. Its lanes hold no leases.
  void leave() noexcept;
  [[nodiscard]] bool has_joined() const noexcept { return table() != nullptr; }

  /// Whether other processes are there.
  [[nodiscard]] bool is_shared() const noexcept {
    // relaxed, both: who comes is seen a segment later
    return (live_.load(std::memory_order_relaxed)->load(std::memory_order_relaxed) &
            ~own_.load(std::memory_order_relaxed)) != 0;
  }
  /// Lanes that other processes lease of our cores, about; 10 ns and 1 a process.
  [[nodiscard]] int leased_elsewhere() noexcept;

  // --- lanes ---
  /// A place for the leases of a lane; -1: there is none left, it goes without.
  [[nodiscard]] int take_row() noexcept;
  void give_back_row(int row) noexcept;
  /// Says that a lane computes from now on, and waits for its turn until it comes or `gives_up`
  /// says so. About 100 ns where there are cores for all.
  [[nodiscard]] Turn begin(int row, const Claim& claim, const std::function<bool()>& gives_up);
  void end(int row) noexcept;

  // --- models ---
  /// Queries that are due may come.
  void expect_asked() noexcept;
  /// One came.
  void note_asked(std::int64_t now_ns) noexcept;
  /// When one came to another process last; `may_be_asked`: none did, but one may; 0: none will.
  [[nodiscard]] std::int64_t asked_elsewhere() noexcept;
  /// What other processes have before them on our cores, as far as it is leased: what computes
  /// first, then what waits, in its order; best effort excluded.
  void look_ahead(std::vector<LaneOutlook::Elsewhere>& found, std::int64_t now_ns);
  /// Our cores, of those that we may use.
  [[nodiscard]] int cores() const noexcept { return cores_; }

  /// Frees what processes left that are not there any more; how many. Looks no sooner than
  /// `unless_since_ns` after the last time.
  int sweep(std::int64_t unless_since_ns = 0) noexcept;
  [[nodiscard]] std::vector<Listed> list();
  /// Name and number of a slot's process, for people.
  [[nodiscard]] std::string who(int slot);

 private:
  friend class DeviceLease;

  [[nodiscard]] Table* table() const noexcept {
    return table_.load(std::memory_order_acquire);  // acquire: who sees it sees it whole
  }
  [[nodiscard]] Slot& own_slot(Table& table) const noexcept {
    return table.slots[static_cast<std::size_t>(slot_)];
  }
  void take_slot(const std::string& path);
  void describe(const std::string& name);
  static void show(Row& row, const Claim& claim, std::int64_t now_ns) noexcept;
  void use(Slot& slot, int row) const noexcept;
  void count(Table& table, bool best_effort, int lanes) noexcept;
  [[nodiscard]] int leased(Table& table) noexcept;
  [[nodiscard]] bool is_among_strangers(const Table& table) const noexcept;
  [[nodiscard]] std::uint64_t rivals(const Table& table) noexcept;
  Turn settle(Table& table, int row, const Claim& claim, const std::function<bool()>& gives_up);
  static void start(Row& row, const Claim& claim) noexcept;
  Turn await_turn(Table& table, int row, const Claim& claim, const std::function<bool()>& gives_up);
  [[nodiscard]] static std::int64_t patience_ends(const Claim& claim, const Standing& standing,
                                                  std::int64_t began_ns,
                                                  std::int64_t last_ns) noexcept;
  void give_way_if_late(Table& table, Row& row, const Claim& claim, std::int64_t now_ns) noexcept;
  void ring_waiting(Table& table) noexcept;
  void ring_those(Table& table, std::uint64_t slots) noexcept;
  [[nodiscard]] bool bury(Table& table, int slot) noexcept;
  void forget() noexcept;

  static inline const std::atomic<std::uint64_t> nobody_{0};

  std::atomic<const std::atomic<std::uint64_t>*> live_{&nobody_};
  std::atomic<std::uint64_t> own_{0};  ///< the bit of our slot
  std::atomic<Table*> table_{nullptr};
  int slot_ = -1;
  int cpus_ = 1, cores_ = 1;
  std::mutex mutex_;  // guards file_ and its locks
  std::unique_ptr<TableFile> file_;
  std::unique_ptr<TableFile> left_;  ///< of a forked child: its parent's, mapped as long as we live
  std::atomic<std::int64_t> swept_ns_{0};
  std::atomic<std::uint64_t> free_rows_{~std::uint64_t{0}};
  std::atomic<std::uint64_t> rivals_{0}, known_changes_{0};
};

}  // namespace engine::broker
