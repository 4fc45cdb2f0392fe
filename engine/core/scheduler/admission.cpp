#include "scheduler/admission.hpp"

#include <algorithm>
#include <mutex>

#include "scheduler/plan.hpp"
#include "scheduler/run.hpp"
#include "scheduler/waiting_room.hpp"

namespace engine {

namespace {

LaneOutlook::Work work_of(const Plan& plan, const RunOrder& order, std::uint32_t executor,
                          const Outlook& room, double spreads) {
  const TimeSpent time = plan.times().of_executor(executor);
  LaneOutlook::Work work;
  work.order = order;
  work.left_ns = time.mean_ns;
  work.margin_ns = static_cast<std::int64_t>(spreads * static_cast<double>(time.spread_ns));
  work.width = plan.parallelism();
  work.least_start_ns = room.start_ns;
  work.least_end_ns = room.end_ns;
  return work;
}

/// What its room says of a run that is about to enter; nothing where that refuses nobody.
Outlook in_room(const Plan& plan, const std::optional<int>& priority, std::int64_t now_ns) {
  WaitingRoom* const room = plan.admission().any() ? plan.room() : nullptr;
  return room == nullptr ? Outlook{} : room->forecast(plan, priority, now_ns);
}

}  // namespace

std::string Admission::Verdict::text() const {
  const std::int64_t tenths = (by_ns + 99'999) / 100'000;
  const std::string ms = std::to_string(tenths / 10) + "." + std::to_string(tenths % 10) + " ms";
  return is_late ? "the query, or one that was promised, would have been " + ms + " late"
                 : "the query would have waited " + ms + " longer than it may";
}

Admission::Admission(const std::vector<std::unique_ptr<Device>>& devices, broker::Broker& broker)
    : broker_(broker) {
  for (const auto& device : devices) {
    if (device->helper() != nullptr) host_ = static_cast<int>(outlooks_.size());
    outlooks_.emplace_back(device->lanes());
  }
}

/// What other processes have before them, which changes from query to query.
void Admission::look_elsewhere(std::int64_t now_ns) {
  if (host_ < 0 || (!broker_.is_shared() && elsewhere_.empty())) return;
  broker_.look_ahead(elsewhere_, now_ns);
  LaneOutlook& outlook = outlooks_[static_cast<std::size_t>(host_)];
  outlook.share(elsewhere_, broker_.cores() - outlook.lanes());
}

/// It begins when the last of its devices has lanes for it, and ends when that has done its part
/// and its longest path is over.
Admission::Prediction Admission::predict(const Plan& plan, const RunOrder& order,
                                         const Outlook& room, std::int64_t now_ns) {
  look_elsewhere(now_ns);
  Prediction found;
  int parts = 0;
  works_.clear();
  const double spreads = margins_.of(&plan.share());
  for (std::uint32_t i = 0; i < outlooks_.size(); ++i) {
    const LaneOutlook::Work& work = works_.emplace_back(work_of(plan, order, i, room, spreads));
    if (work.left_ns == 0) continue;
    ++parts;
    const LaneOutlook::Forecast part = outlooks_[i].forecast(work, now_ns);
    Outlook& whole = found.outlook;
    whole.start_ns = std::max(whole.start_ns, part.outlook.start_ns);
    whole.end_ns = std::max(whole.end_ns, part.outlook.end_ns);
    whole.margin_ns = std::max(whole.margin_ns, part.outlook.margin_ns);
    found.harms_ns = std::max(found.harms_ns, part.harms_ns);
    if (!order.is_due()) continue;
    const int lanes = outlooks_[i].lanes();
    found.kept_ns =
        std::max(found.kept_ns,
                 demand_.kept_ns(&plan.share(), order.due_ns - now_ns, lanes, now_ns) / lanes);
  }
  if (parts > 1)
    found.outlook.end_ns =
        std::max(found.outlook.end_ns, found.outlook.start_ns + plan.expected_ns());
  return found;
}

Admission::Verdict Admission::judge(const Plan& plan, const RunOrder& order,
                                    const Prediction& found, std::int64_t now_ns) const {
  const AdmissionRules rules = plan.admission();
  if (order.is_due()) {
    const std::int64_t end_ns =
        rules.refuses_late ? found.outlook.surely_ns() : found.outlook.end_ns;
    const std::int64_t late_ns = end_ns + found.kept_ns - order.due_ns;
    return {std::max({late_ns, found.harms_ns, std::int64_t{0}}), true};
  }
  if (rules.max_wait_ns == 0) return {};
  return {std::max<std::int64_t>(found.outlook.start_ns - now_ns - rules.max_wait_ns, 0), false};
}

Admission::Verdict Admission::admit(Run& run, std::int64_t now_ns) {
  const Plan& plan = run.plan();
  const std::int64_t work_ns = plan.times().work_ns();
  if (work_ns == 0) return {};  // nothing is known of it yet
  const Outlook room = in_room(plan, run.asked_priority(), now_ns);
  const std::lock_guard lock(lock_);
  const bool is_due = run.order().may_be_late();
  if (is_due)
    demand_.ask(&plan.share(), plan.share().weight(), run.order().due_ns - now_ns, work_ns, now_ns);
  const Prediction found = predict(plan, run.order(), room, now_ns);
  const Verdict verdict = judge(plan, run.order(), found, now_ns);
  const Promise promised = promise(plan, run.order(), found, verdict, now_ns);
  if (verdict.refuses() && promised == Promise::none) {
    if ((!is_due || plan.admission().refuses_late) && !is_asked(plan, run.order(), found, now_ns)) {
      ++counts_.refused;
      return verdict;
    }
    run.come_late();
    static_cast<void>(predict(plan, run.order(), room, now_ns));  // its place is another one
  }
  if (promised == Promise::chance) margins_.take_chance(&plan.share(), now_ns);
  add(promised != Promise::none);
  run.count(work_ns, promised);
  if (is_due) demand_.queue(&plan.share(), work_ns, now_ns);
  counts_.promised += promised != Promise::none ? 1U : 0U;
  return {};
}

/// What begins at once takes nobody's time: to refuse it for its margin alone helps nobody.
Promise Admission::promise(const Plan& plan, const RunOrder& order, const Prediction& found,
                           const Verdict& verdict, std::int64_t now_ns) const {
  if (!order.may_be_late() || !plan.admission().refuses_late) return Promise::none;
  if (!verdict.refuses()) return Promise::sure;
  const bool is_expected =
      found.harms_ns == 0 && found.outlook.end_ns + found.kept_ns <= order.due_ns;
  const bool may_be = found.outlook.start_ns <= now_ns || margins_.has_chance(&plan.share());
  return is_expected && may_be ? Promise::chance : Promise::none;
}

/// Whether one that would be refused is answered, late, to see what it takes by now.
bool Admission::is_asked(const Plan& plan, const RunOrder& order, const Prediction& found,
                         std::int64_t now_ns) noexcept {
  if (!found.is_for_its_time(order, now_ns) || !plan.times().doubts()) return false;
  margins_.forget(&plan.share());
  return true;
}

Admission::Verdict Admission::foresee(const Plan& plan, const RunOrder& order,
                                      const std::optional<int>& priority, std::int64_t now_ns) {
  const std::int64_t work_ns = plan.times().work_ns();
  if (work_ns == 0 || !plan.admission().any()) return {};
  const Outlook room = in_room(plan, priority, now_ns);
  const std::lock_guard lock(lock_);
  const Prediction found = predict(plan, order, room, now_ns);
  const Verdict verdict = judge(plan, order, found, now_ns);
  if (!verdict.refuses() || (order.is_due() && !plan.admission().refuses_late)) return {};
  if (promise(plan, order, found, verdict, now_ns) != Promise::none) return {};
  if (found.is_for_its_time(order, now_ns) && plan.times().will_doubt())
    return {};  // admit() wants it answered
  ++counts_.refused;
  if (order.is_due())
    demand_.ask(&plan.share(), plan.share().weight(), order.due_ns - now_ns, work_ns, now_ns);
  return verdict;
}

/// The run of the last predict().
void Admission::add(bool is_promised) {
  for (std::size_t i = 0; i < outlooks_.size(); ++i) {
    LaneOutlook::Work& work = works_[i];
    if (work.left_ns == 0) continue;
    if (is_promised) work.due_ns = work.order.due_ns;
    outlooks_[i].add(work);
  }
}

void Admission::leave(const Run& run, std::int64_t now_ns) noexcept {
  const std::lock_guard lock(lock_);
  LaneOutlook::Work last;
  for (LaneOutlook& outlook : outlooks_) {
    const LaneOutlook::Work work = outlook.remove(run.order());
    if (work.outlook.end_ns >= last.outlook.end_ns) last = work;
  }
  if (run.order().is_due()) demand_.queue(&run.plan().share(), -run.counted_ns(), now_ns);
  if (!run.is_promised()) return;
  const bool is_kept = run.ended_well() && now_ns <= run.order().due_ns;
  ++(is_kept ? counts_.kept : counts_.broken);
  const FairShare* const share = &run.plan().share();
  if (run.ended_well()) margins_.learn(share, now_ns > last.outlook.surely_ns(), now_ns);
  if (is_kept) margins_.keep(share, run.promise() == Promise::chance, now_ns);
}

void Admission::begin_node(const Run& run, std::uint32_t executor, int lanes,
                           std::int64_t expected_ns, std::int64_t now_ns) noexcept {
  const std::lock_guard lock(lock_);
  outlooks_[executor].begin(run.order(), lanes, expected_ns, now_ns);
}

void Admission::end_node(const Run& run, std::uint32_t executor, int lanes,
                         std::int64_t expected_ns, std::int64_t began_ns) noexcept {
  const std::lock_guard lock(lock_);
  outlooks_[executor].end(run.order(), lanes, expected_ns, began_ns);
}

std::int64_t Admission::wait_ns(std::int64_t now_ns) {
  const std::lock_guard lock(lock_);
  std::int64_t longest_ns = 0;
  for (LaneOutlook& outlook : outlooks_) longest_ns = std::max(longest_ns, outlook.wait_ns(now_ns));
  return longest_ns;
}

Admission::Counts Admission::counts() const noexcept {
  const std::lock_guard lock(lock_);
  return counts_;
}

}  // namespace engine
