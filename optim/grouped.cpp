#include <tern/optim/grouped.h>

#include <tern/kernels/creation.h>

namespace tern::optim {

void check_not_negative(const char* optimizer, const char* option, double value) {
  check(value >= 0, optimizer, ": ", option, " must not be negative, got ", value);
}

void check_betas(const char* optimizer, double beta1, double beta2) {
  check(beta1 >= 0 && beta1 < 1 && beta2 >= 0 && beta2 < 1, optimizer,
        ": betas must be from 0 to below 1, got ", beta1, " and ", beta2);
}

const Tensor& zeros_once(Tensor& tensor, const Tensor& parameter) {
  if (!tensor.defined()) tensor = zeros_like(parameter);
  return tensor;
}

}  // namespace tern::optim
