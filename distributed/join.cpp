#include <tern/distributed/join.h>

#include <tern/distributed/same_on_all_ranks.h>

#include <exception>
#include <sstream>
#include <utility>

namespace tern::distributed {
namespace {

std::string outline_of(const TensorMap& state) {
  std::ostringstream text;
  for (const auto& [name, tensor] : state) {
    text << name << ' ' << static_cast<int>(tensor.dtype()) << ' ' << tensor.dim();
    for (const int64_t size : tensor.shape()) text << ' ' << size;
    text << '\n';
  }
  return text.str();
}

TensorMap made_after(const std::string& outline) {
  std::istringstream text(outline);
  TensorMap state;
  std::string name;
  int dtype = 0, dim = 0;
  while (text >> name >> dtype >> dim) {
    std::vector<int64_t> sizes(static_cast<size_t>(dim));
    for (int64_t& size : sizes) text >> size;
    state.emplace(name, empty(Shape(sizes), static_cast<DType>(dtype)));
  }
  return state;
}

void broadcast_state(optim::Optimizer& optimizer, int root, const Group& group) {
  const bool is_root = group->rank() == root;
  TensorMap state;
  if (is_root) state = optimizer.state_dict();
  const std::string outline = broadcast_text(outline_of(state), root, group);
  if (!is_root) state = made_after(outline);
  std::vector<Tensor> tensors;
  for (const auto& [name, tensor] : state) tensors.push_back(tensor);
  broadcast_all(tensors, root, group);
  if (!is_root) optimizer.load_state_dict(state);
}

}  // namespace

Join::Join(std::shared_ptr<nn::parallel::Reducer> reducer, JoinOptions options)
    : options_(std::move(options)), exceptions_(std::uncaught_exceptions()) {
  if (!options_.enable) return;
  for (const optim::Optimizer* optimizer : options_.optimizers)
    check(optimizer, "Join: an optimizer is null");
  reducer->enter_join(options_.divide_by_initial_world_size, options_.throw_on_early_termination);
  reducer_ = std::move(reducer);
}

Join::~Join() noexcept(false) {
  if (!reducer_) return;
  if (std::uncaught_exceptions() > exceptions_)
    reducer_->leave_join();
  else
    finish();
}

void Join::finish() {
  const std::shared_ptr<nn::parallel::Reducer> reducer = std::move(reducer_);
  if (!reducer) return;
  struct Leaving {
    nn::parallel::Reducer& reducer;
    ~Leaving() { reducer.leave_join(); }
  } const leaving{*reducer};
  const int root = reducer->shadow();
  if (root < 0) return;
  for (optim::Optimizer* optimizer : options_.optimizers) broadcast_state(*optimizer, root, reducer->group());
}

}  // namespace tern::distributed
