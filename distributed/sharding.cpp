#include <tern/distributed/sharding.h>

#include <tern/distributed/collective_checks.h>
#include <tern/distributed/same_on_all_ranks.h>
#include <tern/kernels/creation.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <numeric>
#include <sstream>

namespace tern::optim::detail {
namespace {

// Sends what it is shown: numbers one by one, for a tensor first its dtype (-1: there is none).
class SendState : public StateVisitor {
 public:
  SendState(distributed::Group group, int to) : group_(std::move(group)), to_(to) {}
  void number(const std::string&, double& value) override { send(full({}, value, float64)); }
  void flag(const std::string&, bool& value) override { send(full({}, value, boolean)); }
  void count(const std::string&, int64_t& value) override { send(full({}, value, int64)); }
  void tensor(const std::string&, Tensor& value) override {
    send(full({}, value.defined() ? static_cast<int64_t>(value.dtype()) : -1, int64));
    if (value.defined()) send(value);
  }

 private:
  void send(const Tensor& x) { distributed::send(x, to_, {.group = group_}); }

  distributed::Group group_;
  int to_;
};

// Receives what SendState sends, for state of `parameter`'s shape.
class ReceiveState : public StateVisitor {
 public:
  ReceiveState(distributed::Group group, int from, const Tensor& parameter)
      : group_(std::move(group)), from_(from), parameter_(parameter) {}
  void number(const std::string&, double& value) override { value = receive(float64).item<double>(); }
  void flag(const std::string&, bool& value) override { value = receive(boolean).item<bool>(); }
  void count(const std::string&, int64_t& value) override { value = receive(int64).item<int64_t>(); }
  void tensor(const std::string&, Tensor& value) override {
    const auto dtype = receive(int64).item<int64_t>();
    value = dtype < 0 ? Tensor() : empty_like(parameter_, static_cast<DType>(dtype));
    if (value.defined()) distributed::recv(value, from_, {.group = group_});
  }

 private:
  Tensor receive(DType dtype) {
    Tensor x = empty({}, dtype);
    distributed::recv(x, from_, {.group = group_});
    return x;
  }

  distributed::Group group_;
  int from_;
  const Tensor& parameter_;
};

Tensor room_for(const std::vector<Tensor>& list) {
  int64_t count = 0;
  for (const Tensor& x : list) count += x.numel();
  return empty({count}, list[0].dtype(), list[0].device());
}

}  // namespace

Shards::Shards(const std::vector<Tensor>& parameters, const distributed::Group& group)
    : group_(distributed::chosen(group)), owners_(parameters.size()) {
  if (!is_alone()) {
    std::vector<std::string> lines;
    for (const Tensor& x : parameters) {
      std::ostringstream line;
      line << "a parameter " << x.shape() << " of " << x.dtype();
      lines.push_back(line.str());
    }
    distributed::check_same_lines(lines, "ZeroRedundancyOptimizer: the ranks' parameters differ", group_);
  }
  std::vector<size_t> order(parameters.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return parameters[a].numel() > parameters[b].numel(); });
  std::vector<int64_t> load(static_cast<size_t>(group_->size()));
  for (const size_t i : order) {
    const auto least = std::min_element(load.begin(), load.end());
    owners_[i] = static_cast<int>(least - load.begin());
    *least += parameters[i].numel();
  }
}

bool Shards::saves(const std::string& name) const {
  const std::string prefix = "state.";
  if (!name.starts_with(prefix)) return group_->rank() == 0;
  size_t i = 0;
  std::from_chars(name.data() + prefix.size(), name.data() + name.size(), i);
  return owns(i);
}

void Shards::share(const std::vector<Tensor>& parameters) const {
  if (is_alone()) return;
  for (int owner = 0; owner < group_->size(); ++owner) {
    std::map<std::pair<DType, std::pair<DeviceType, int>>, std::vector<Tensor>> alike;
    for (size_t i = 0; i < parameters.size(); ++i) {
      const Tensor& x = parameters[i];
      if (owners_[i] == owner) alike[{x.dtype(), {x.device().type, x.device().index}}].push_back(x.detach());
    }
    for (const auto& [key, list] : alike) {
      const Tensor flat = owner == group_->rank() ? distributed::joined(list) : room_for(list);
      distributed::broadcast(flat, group_->ranks()[static_cast<size_t>(owner)], {.group = group_});
      if (owner != group_->rank()) distributed::deliver(flat, list);
    }
  }
}

bool Shards::collect(const std::vector<Tensor>& parameters, int to, const Visit& visit) const {
  const int root = group_->rank_of(to, "consolidate_state_dict"), rank = group_->rank();
  for (size_t i = 0; i < parameters.size(); ++i) {
    const int owner = owners_[i];
    if (owner == root) continue;
    if (rank == root) {
      ReceiveState receive(group_, group_->ranks()[static_cast<size_t>(owner)], parameters[i]);
      visit(i, receive);
    } else if (rank == owner) {
      SendState send(group_, to);
      visit(i, send);
    }
  }
  return rank == root;
}

}  // namespace tern::optim::detail
