#include <tern/distributed/bucket_plan.h>

#include <algorithm>

namespace tern::nn::parallel {

std::vector<std::vector<size_t>> plan_buckets(const std::vector<Tensor>& tensors,
                                              const std::vector<size_t>& order, double first_capacity,
                                              double capacity) {
  struct Plan {
    std::vector<size_t> members;
    double bytes = 0;
    size_t last = 0;  // place of the last member in `order`
    bool is_full = false;
  };
  std::vector<Plan> plans;
  double limit = first_capacity;
  for (size_t place = 0; place < order.size(); ++place) {
    const Tensor& tensor = tensors[order[place]];
    auto plan = std::find_if(plans.begin(), plans.end(), [&](const Plan& known) {
      const Tensor& member = tensors[known.members[0]];
      return !known.is_full && member.dtype() == tensor.dtype() && member.device() == tensor.device();
    });
    if (plan == plans.end()) plan = plans.insert(plan, Plan());
    plan->members.push_back(order[place]);
    plan->bytes += static_cast<double>(tensor.numel()) * static_cast<double>(size_of(tensor.dtype()));
    plan->last = place;
    plan->is_full = plan->bytes >= limit;
    if (plan->is_full) limit = capacity;
  }
  std::sort(plans.begin(), plans.end(), [](const Plan& a, const Plan& b) { return a.last < b.last; });
  std::vector<std::vector<size_t>> buckets;
  buckets.reserve(plans.size());
  for (Plan& plan : plans) buckets.push_back(std::move(plan.members));
  return buckets;
}

}  // namespace tern::nn::parallel
