// All operations, each with a call that shows which dtypes it serves.
#pragma once

#include <tern/core/tensor.h>

#include <functional>
#include <string>
#include <vector>

namespace tern::tests {

struct OperationEntry {
  std::string name;                 ///< as users call it
  std::string pytorch;              ///< PyTorch's name for it
  std::function<void(DType)> call;  ///< with tensors of a dtype; throws Error where that is not served
};

struct OperationSection {
  std::string title, header;
  std::vector<OperationEntry> operations;
};

std::vector<OperationSection> operation_list();

}  // namespace tern::tests
