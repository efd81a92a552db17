#include <tern/nn/layers.h>

#include <fmt/format.h>

namespace tern::nn {

Flatten::Flatten(int64_t start_dim, int64_t end_dim) : start_dim_(start_dim), end_dim_(end_dim) {
  const bool comparable = (start_dim < 0) == (end_dim < 0);
  check(!comparable || start_dim <= end_dim, "Flatten: start_dim ", start_dim, " comes after end_dim ",
        end_dim);
}

std::string Flatten::describe() const {
  return fmt::format("Flatten(start_dim={}, end_dim={})", start_dim_, end_dim_);
}

MaxPool2d::MaxPool2d(Size2 kernel_size, const MaxPool2dOptions& options)
    : kernel_size_(kernel_size), options_(options) {
  const kernels::Windows windows{kernel_size, options.stride.value_or(kernel_size), options.padding,
                                 options.dilation};
  kernels::check_windows("MaxPool2d", windows);
  kernels::check_pool_padding("MaxPool2d", windows);
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

std::string Upsample::describe() const {
  const auto pair = [](const char* name, const auto& two) {
    return fmt::format("{}=({}, {})", name, two.h, two.w);
  };
  return fmt::format("Upsample({}, mode={}{})",
                     options_.size           ? pair("size", *options_.size)
                     : options_.scale_factor ? pair("scale_factor", *options_.scale_factor)
                                             : "",
                     options_.mode == InterpolateMode::nearest ? "nearest" : "bilinear",
                     options_.align_corners ? ", align_corners=true" : "");
}

namespace {
double checked_probability(const char* layer, double p) {
  check(p >= 0 && p <= 1, layer, ": p must be from 0 to 1, got ", p);
  return p;
}
}  // namespace

Dropout::Dropout(double p) : p_(checked_probability("Dropout", p)) {}
Dropout2d::Dropout2d(double p) : p_(checked_probability("Dropout2d", p)) {}

std::string Dropout::describe() const { return fmt::format("Dropout(p={})", p_); }
std::string Dropout2d::describe() const { return fmt::format("Dropout2d(p={})", p_); }

}  // namespace tern::nn
