#include <tern/autograd/backward.h>
#include <tern/autograd/record.h>

namespace tern {

void SavedTensor::report_change() const {
  check(false, running_backward_of(), ": a tensor of shape ", tensor_.shape(),
        " that backward needs was changed in place: it is at version ", tensor_.version(),
        ", backward needs version ", version_,
        "; change a clone() or use the form that returns a new tensor");
  __builtin_unreachable();
}

namespace detail {

void attach(const Tensor& output, const Ref<Node>& node) {
  output.impl()->origin = node;
  output.impl()->requires_grad = true;
}

void check_recordable(const char* operation, const Tensor& output) {
  check(is_floating_point(output.dtype()), operation, ": a result of dtype ", output.dtype(),
        " has no gradient");
  check(output.is_leaf() && !output.requires_grad(), operation,
        ": record() was given a tensor that has a past of its own; compute it from detach()ed inputs");
}

}  // namespace detail

void check_writable(const char* operation, const Tensor& x, const Tensor& source) {
  check(!x.layout().overlaps_itself(), operation, ": shape ", x.shape(), " with strides ", x.strides(),
        " is an expanded view, several of its elements share one place; clone() it first");
  if (!is_grad_enabled()) return;
  if (!x.requires_grad()) {
    check(!source.defined() || !source.requires_grad() || x.storage()->references() == 1, operation,
          ": a source that requires a gradient cannot be written into memory that another tensor shares (a "
          "view, or what it is a view of), which would not learn of the gradient; clone() it first, or use "
          "cat()");
    return;
  }
  check(!x.is_leaf(), operation,
        ": a leaf that requires a gradient cannot be changed in place while recording");
  check(!static_cast<Node*>(x.impl()->origin.get())->is_view && !x.impl()->has_views, operation,
        ": a recorded tensor with views (or a view of one) cannot be changed in place while recording; "
        "clone() it first");
}

}  // namespace tern
