#include <tern/nn/layers.h>

#include <fmt/format.h>

namespace tern::nn {

std::string LogSoftmax::describe() const { return fmt::format("LogSoftmax(dim={})", dim_); }

std::string Flatten::describe() const {
  return fmt::format("Flatten(start_dim={}, end_dim={})", start_dim_, end_dim_);
}

std::string MaxPool2d::describe() const {
  const Size2 stride = options_.stride.value_or(kernel_size_);
  return fmt::format(
      "MaxPool2d(kernel_size=({}, {}), stride=({}, {}), padding=({}, {}), dilation=({}, {}), ceil_mode={})",
      kernel_size_.h, kernel_size_.w, stride.h, stride.w, options_.padding.h, options_.padding.w,
      options_.dilation.h, options_.dilation.w, options_.ceil_mode);
}

bool MaxPool2d::is_halving() const {
  return kernel_size_ == Size2(2) && options_.stride.value_or(kernel_size_) == Size2(2) &&
         options_.padding == Size2(0) && options_.dilation == Size2(1) && !options_.ceil_mode;
}

std::string MaxPool1d::describe() const {
  return fmt::format("MaxPool1d(kernel_size={}, stride={}, padding={}, dilation={}, ceil_mode={})",
                     kernel_size_, options_.stride.value_or(kernel_size_), options_.padding,
                     options_.dilation, options_.ceil_mode);
}

std::string AvgPool2d::describe() const {
  const Size2 stride = options_.stride.value_or(kernel_size_);
  return fmt::format("AvgPool2d(kernel_size=({}, {}), stride=({}, {}), padding=({}, {}))", kernel_size_.h,
                     kernel_size_.w, stride.h, stride.w, options_.padding.h, options_.padding.w);
}

std::string AdaptiveAvgPool2d::describe() const {
  const auto text = [](const std::optional<int64_t>& size) {
    return size ? fmt::format("{}", *size) : "none";
  };
  return fmt::format("AdaptiveAvgPool2d(output_size=({}, {}))", text(output_size_.h), text(output_size_.w));
}

Dropout::Dropout(double p) : p_(p) { check(p >= 0 && p <= 1, "Dropout: p must be from 0 to 1, got ", p); }

std::string Dropout::describe() const { return fmt::format("Dropout(p={})", p_); }

}  // namespace tern::nn
