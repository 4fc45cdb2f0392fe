#include "thread_budget.hpp"

#include "cores.hpp"

namespace engine {

ThreadBudget::ThreadBudget(int limit) : limit_(limit > 0 ? limit : available_cores()) {}

}  // namespace engine
