// Which column of a device starts next for a service: as policies/surplus/choice.py.
#pragma once

#include <optional>
#include <variant>
#include <vector>

#include "batch_times.hpp"
#include "market.hpp"
#include "queue.hpp"
#include "rooms.hpp"
#include "types.hpp"
#include "windows.hpp"

namespace colocation {

using Found = std::variant<Column, Wish, Hopeless>;

/// Weighs columns. One thread; the market and the times outlive it.
class ColumnChoice {
 public:
  ColumnChoice(const Params& params, const Market& market, BatchTimes& times)
      : params_(params), market_(market), times_(times) {}

  /// The best column of a queue that is not empty, of a service that has a place in the room.
  [[nodiscard]] Found of_service(Count service, const Queue& queue, const DeviceRoom& room,
                                 Ns now_ns);
  /// Until when a batch that is not full waits for more queries.
  [[nodiscard]] std::optional<Ns> wait_until(const Queue& queue, const Column& column, Ns now_ns);
  /// Until when a batch waits that holds too much for its queries.
  [[nodiscard]] std::optional<Ns> too_dear_until(const Column& column, Ns now_ns) const;

 private:
  struct Fastest {
    const SharePlace* place = nullptr;
    std::optional<Count> partition;
    FittingBatch fitting;
  };

  [[nodiscard]] Fastest fastest_for_its_share(Count service, const Queue& queue, const Waiter& head,
                                              const DeviceRoom& room, double limit_ns);
  /// Of the best windows on the places that are free the one that is worth most for its share.
  [[nodiscard]] std::optional<Column> regrouped(Count service, const Queue& queue,
                                                const Waiter& head, const DeviceRoom& room,
                                                Ns now_ns);
  [[nodiscard]] Column column(Count service, const Queue& queue, const Waiter& head,
                              const DeviceRoom& room, const Fastest& found, Ns now_ns);
  /// A window, or less of it: not so long that it makes others late who are worth more.
  [[nodiscard]] Column sized(Count service, const Queue& queue, const Waiter& head,
                             const DeviceRoom& room, const SharePlace& place, Count partition,
                             const QueueWindow& window, Ns now_ns);
  /// A run of queries that is worth more than the first ones, if time has a price.
  [[nodiscard]] std::optional<QueueWindow> window(Count service, const Queue& queue,
                                                  const Waiter& head, const SharePlace& place,
                                                  Ns now_ns);
  /// More than some times of what its queries hold in a good batch.
  [[nodiscard]] bool holds_much(Count service, Count share, const QueueWindow& window) const;
  [[nodiscard]] bool pressed(Count service) const;
  /// Times of the first 1, 2, ... queries together, up to the largest batch, into row_.
  void prefixes(Count service, const Queue& queue, const Waiter& head, Count most_items,
                Count share);
  [[nodiscard]] double loss(Count service, const FittingBatch& fitting, Count left_percent) const;
  [[nodiscard]] WaitingBatch task(Count service, Ns deadline_ns, const SharePlace& place,
                                  const FittingBatch& fitting) const;
  [[nodiscard]] double score(Count service, Count share, const FittingBatch& fitting, Ns slack_ns,
                             double loss) const;

  const Params& params_;
  const Market& market_;
  BatchTimes& times_;
  std::vector<Ns> row_;
};

}  // namespace colocation
