// Which batch starts next, on the devices where one may: as policies/surplus/weighed_starts.py.
#pragma once

#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

#include "batch_times.hpp"
#include "columns.hpp"
#include "lookahead.hpp"
#include "market.hpp"
#include "queue.hpp"
#include "rooms.hpp"
#include "types.hpp"

namespace colocation {

/// The column that starts is columns()[best], on a device; who has no place for less than all of it
/// is undivided.
struct Start {
  Count device = 0;
  std::size_t best = 0;
  bool undivided = false;
};

using Choice = std::variant<std::monostate, Start, Hopeless>;

/// What happened: a group ended on a device, or a query of a service came, or neither.
struct Happening {
  std::optional<Count> device;
  std::optional<Count> came;
};

/// One thread. Each choice costs some tens of nanoseconds for each service that waits, place and
/// device; memory is taken in the first ones, and when a size of query is seen for the first time.
class Chooser {
 public:
  /// As many services as values of queries.
  Chooser(Params params, std::vector<double> values, Alone alone);
  Chooser(const Chooser&) = delete;
  Chooser& operator=(const Chooser&) = delete;

  /// Serve on other devices; what they wished is forgotten.
  void set_rooms(std::vector<DeviceRoom> rooms);
  /// Sorted by wait.
  void set_patiences(std::vector<Patience> patiences, Count slots);
  void set_works(std::vector<double> works);
  void set_prices(double per_work, std::vector<double> per_ns);
  void set_ratios(Count service, double mean, double bound);
  void set_given_up(Count service, double part);
  void set_value(Count service, double value);
  /// Ask for the times of the batches of a place beforehand.
  void warm(Count service, Count items, Count share, Count most_items);

  [[nodiscard]] Choice next(Queues& queues, const Happening& happening, Ns now_ns);
  /// Those among which the last choice was made.
  [[nodiscard]] const std::vector<Column>& columns() const noexcept { return columns_; }

  void started(Count device, const HeldShare& held, Ns took_ns);
  void ended(Count partition);
  /// When to ask again, if nothing happens before.
  [[nodiscard]] std::optional<Ns> wake_ns(Ns now_ns) const;

 private:
  [[nodiscard]] Choice on(DeviceRoom& room, Queues& queues, const Happening& happening, Ns now_ns);
  [[nodiscard]] std::optional<Hopeless> weigh(Count service, DeviceRoom& room, Queues& queues,
                                              Ns now_ns);
  [[nodiscard]] bool waits(const Queue& queue, const DeviceRoom& room, const Column& column,
                           Ns now_ns);
  /// The column of the best score, unless another one has to go first to be in time.
  [[nodiscard]] std::optional<std::size_t> best(DeviceRoom& room, Ns now_ns);
  void reserve(const DeviceRoom& room, Ns now_ns);
  [[nodiscard]] std::optional<std::size_t> ahead(const DeviceRoom& room, std::size_t best,
                                                 Ns now_ns);
  /// Of the columns that are left, those stay that leave a batch room at the latest time for it.
  template <typename Keeps>
  void keep_out_of_the_way(const WaitingBatch& wish, const DeviceRoom& room, Ns now_ns,
                           Keeps keeps);
  [[nodiscard]] std::size_t most_of_left() const;
  void fill_bins(const DeviceRoom& room, Count share_percent);

  const Params params_;
  Market market_;
  BatchTimes times_;
  ColumnChoice choice_;
  Lookahead lookahead_;
  std::vector<DeviceRoom> rooms_;
  std::vector<std::optional<Ns>> wakes_;
  std::vector<Patience> patiences_;
  std::vector<Column> columns_;
  std::vector<Wish> wishes_;
  std::vector<std::size_t> left_, order_;
  std::vector<WaitingBatch> rivals_;
};

}  // namespace colocation
