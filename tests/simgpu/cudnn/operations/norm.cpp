#include <tern/tests/simgpu/cudnn/operations/norm.h>

namespace simdnn {

Sizes statistics_sizes(cudnnBackendNormMode_t mode, const Tensor& x, const Tensor& scale,
                       std::string& missing) {
  demand(mode >= CUDNN_LAYER_NORM && mode <= CUDNN_ADA_LAYER_NORM,
         "there is no norm " + std::to_string(mode));
  demand(scale.rank() == x.rank(), describe(scale) + " is no scale of " + describe(x));
  for (size_t d = 0; d < x.rank(); d++) {
    demand(scale.dims[d] == 1 || scale.dims[d] == x.dims[d],
           describe(scale) + " is no scale of " + describe(x));
  }
  Sizes sizes(x.rank(), 1);
  switch (mode) {
    case CUDNN_BATCH_NORM:
      sizes[1] = x.dims[1];
      break;
    case CUDNN_INSTANCE_NORM:
      sizes[0] = x.dims[0], sizes[1] = x.dims[1];
      break;
    case CUDNN_LAYER_NORM:
    case CUDNN_RMS_NORM:
      for (size_t d = 0; d < x.rank(); d++) sizes[d] = scale.dims[d] == x.dims[d] ? 1 : x.dims[d];
      break;
    default:
      missing = "group norm and adaptive layer norm are not simulated";
  }
  return sizes;
}

Array mean_of(const Array& values, const Sizes& statistics) {
  Array mean(statistics);
  size_t next = 0;
  for_each_index(values.dims, [&](const Sizes& index) {
    mean.x[static_cast<size_t>(broadcast_offset(mean, index))] += values.x[next++];
  });
  for (double& value : mean.x)
    value *= static_cast<double>(mean.x.size()) / static_cast<double>(values.x.size());
  return mean;
}

void for_each_element(const Sizes& x, const Sizes& statistics, const Sizes& weights,
                      const std::function<void(size_t, size_t, size_t)>& body) {
  const Array of_statistics(statistics), of_weights(weights);
  size_t next = 0;
  for_each_index(x, [&](const Sizes& index) {
    body(next++, static_cast<size_t>(broadcast_offset(of_statistics, index)),
         static_cast<size_t>(broadcast_offset(of_weights, index)));
  });
}

void check_sizes(const std::shared_ptr<const Tensor>& tensor, const Sizes& expected) {
  if (tensor != nullptr) demand(tensor->dims == expected, describe(*tensor) + " should be " + list(expected));
}

}  // namespace simdnn
