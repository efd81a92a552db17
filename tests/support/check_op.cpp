#include <tern/tests/support/check_op.h>

#include <tern/autograd/backward.h>
#include <tern/autograd/grad_mode.h>
#include <tern/autograd/gradient_check.h>
#include <tern/autograd/views.h>
#include <tern/core/thread_pool.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/fill.h>
#include <tern/tests/support/layouts.h>

#include <algorithm>
#include <cmath>
#include <sstream>

namespace tern::tests {
namespace {

// Above these, differences are taken of some elements only, and gradients of other layouts are compared with
// those of contiguous inputs.
constexpr int64_t few_elements = 24, many_elements = 300;
constexpr double exact64 = 1e-11;

struct Outcome {
  Tensor y;
  std::vector<Tensor> gradients;  // per input
};

class OpCheck {
 public:
  OpCheck(const std::string& op_name, const Operation& operation, const Shapes& input_shapes,
          const OpOptions& options)
      : name_(op_name), operation_(operation), shapes_(input_shapes), options_(options) {
    for (size_t i = 0; i < shapes_.size(); ++i) {
      // Unlike ranges, so that no two inputs hold equal values.
      const double shift = 1e-3 * static_cast<double>(i);
      values_.push_back(scattered(shapes_[i], options.low + shift, options.high + shift));
      elements_ += values_[i].numel();
    }
  }

  void run() {
    reference_ = outcome(leaves(Lay::contiguous), {});
    check_differences();
    check_layouts();
    check_upstream_layouts();
    check_expanded();
    check_each_alone();
    check_repeatable();
    check_float32();
    check_changes();
    if (elements_ <= 4096) check_other_dtypes();
  }

 private:
  Inputs leaves(Lay lay, DType dtype = float64) const {
    Inputs inputs;
    for (const Tensor& value : values_) {
      inputs.push_back(laid_out(kernels::to(value, dtype), lay));
      if (is_floating_point(dtype)) inputs.back().requires_grad_();
    }
    return inputs;
  }

  // The value, and the gradients of those inputs that require one.
  Outcome outcome(const Inputs& inputs, const Tensor& dy) const {
    Outcome result{operation_(inputs), std::vector<Tensor>(inputs.size())};
    std::vector<Tensor> wanted;
    for (const Tensor& input : inputs) {
      if (input.requires_grad()) wanted.push_back(input);
    }
    if (wanted.empty() || !result.y.requires_grad()) return result;
    const Tensor start = dy.defined() ? dy : upstream(result.y.shape(), result.y.dtype());
    const std::vector<Tensor> gradients = grad(result.y, wanted, {.gradient = start, .allow_unused = true});
    for (size_t i = 0, k = 0; i < inputs.size(); ++i) {
      if (inputs[i].requires_grad()) result.gradients[i] = gradients[k++];
    }
    return result;
  }

  void compare(const char* what, const Outcome& got, const Outcome& want, double tolerance) const {
    const double off = distance(got.y, want.y);
    check(off <= tolerance, what, ": the values differ by ", off);
    for (size_t i = 0; i < got.gradients.size(); ++i) {
      if (!got.gradients[i].defined()) continue;
      check(want.gradients[i].defined(), what, ": input ", i, " has a gradient where there is none");
      const double gradient_off = distance(got.gradients[i], want.gradients[i]);
      check(gradient_off <= tolerance, what, ": the gradients of input ", i, " differ by ", gradient_off);
    }
  }

  void check_differences() const {
    if (elements_ <= many_elements) return gradient_check(operation_, leaves(Lay::contiguous));
    const Inputs inputs = leaves(Lay::contiguous);
    for (size_t k = 0; k < inputs.size(); ++k) {
      for (const double place : {0.0, 0.21, 0.5, 0.77, 0.999}) {
        const auto i = static_cast<int64_t>(place * static_cast<double>(inputs[k].numel()));
        if (i >= inputs[k].numel()) continue;
        const double numeric = difference(inputs, inputs[k].data<double>()[i], inputs[k]);
        const Tensor& gradient = reference_.gradients[k];
        const double analytic = gradient.defined() ? values_of(gradient)[static_cast<size_t>(i)] : 0;
        check(std::abs(analytic - numeric) <= 1e-5 + 1e-3 * std::abs(numeric), "input ", k, ", element ", i,
              ": backward gives ", analytic, ", differences ", numeric);
      }
    }
  }

  double difference(const Inputs& inputs, double& value, const Tensor& changed) const {
    const NoGradGuard no_grad;
    const std::vector<double> dy = values_of(upstream(reference_.y.shape()));
    const double before = value, eps = 1e-6;
    value = before + eps, changed.bump_version();
    const std::vector<double> above = values_of(operation_(inputs));
    value = before - eps, changed.bump_version();
    const std::vector<double> below = values_of(operation_(inputs));
    value = before, changed.bump_version();
    double sum = 0;
    for (size_t i = 0; i < dy.size(); ++i) sum += dy[i] * (above[i] - below[i]);
    return sum / (2 * eps);
  }

  void check_layouts() const {
    if (options_.contiguous_only)
      return compare("offset", outcome(leaves(Lay::offset), {}), reference_, exact64);
    for (const Lay lay : all_lays) {
      const Inputs inputs = leaves(lay);
      if (elements_ <= few_elements) gradient_check(operation_, inputs);
      compare(name(lay), outcome(inputs, {}), reference_, exact64);
      Inputs mixed = leaves(Lay::contiguous);
      for (size_t i = 1; i < mixed.size(); i += 2) mixed[i] = inputs[i];
      compare("inputs of different layouts", outcome(mixed, {}), reference_, exact64);
    }
  }

  void check_upstream_layouts() const {
    if (!reference_.y.requires_grad()) return;
    const Tensor dy = upstream(reference_.y.shape());
    for (const Lay lay : all_lays)
      compare("another layout of dy", outcome(leaves(Lay::contiguous), laid_out(dy, lay)), reference_,
              exact64);
    const Tensor one = upstream({});
    const Tensor repeated = expand(one, reference_.y.shape());
    compare("an expanded dy", outcome(leaves(Lay::contiguous), repeated),
            outcome(leaves(Lay::contiguous), laid_out(repeated, Lay::contiguous)), exact64);
  }

  // Inputs that repeat one slice of their first dimension.
  void check_expanded() const {
    if (options_.jumps || options_.contiguous_only) return;
    Inputs slices, repeated;
    for (size_t i = 0; i < values_.size(); ++i) {
      const bool some = shapes_[i].dim() > 0 && shapes_[i][0] > 0;
      slices.push_back(kernels::clone(some ? narrow(values_[i], 0, 0, 1) : values_[i]).requires_grad_());
      repeated.push_back(laid_out(expand(slices[i].detach(), shapes_[i]), Lay::contiguous).requires_grad_());
    }
    const Operation on_slices = [this](const Inputs& inputs) {
      Inputs full;
      for (size_t i = 0; i < inputs.size(); ++i) full.push_back(expand(inputs[i], shapes_[i]));
      return operation_(full);
    };
    const Outcome want{operation_(repeated), {}};
    compare("expanded inputs", {on_slices(slices), {}}, want, exact64);
    if (elements_ <= few_elements) gradient_check(on_slices, slices);
  }

  void check_each_alone() const {
    for (size_t i = 0; i < values_.size() && values_.size() > 1; ++i) {
      Inputs inputs = leaves(Lay::contiguous);
      for (size_t k = 0; k < inputs.size(); ++k) {
        if (k != i) inputs[k].requires_grad_(false);
      }
      compare("only one input wants a gradient", outcome(inputs, {}), reference_, exact64);
    }
  }

  void check_repeatable() const {
    const int threads = get_num_threads();
    for (const DType dtype : {float64, float32}) {
      set_num_threads(1);
      const Outcome alone = outcome(leaves(Lay::contiguous, dtype), {});
      set_num_threads(3);
      const Outcome three = outcome(leaves(Lay::contiguous, dtype), {});
      const Outcome again = outcome(leaves(Lay::contiguous, dtype), {});
      set_num_threads(threads);
      check(same(alone, three), "the bits for ", dtype, " differ between one thread and three");
      check(same(three, again), "the bits for ", dtype, " differ between two runs");
    }
  }

  static bool same(const Outcome& a, const Outcome& b) {
    bool equal = bits_equal(a.y, b.y);
    for (size_t i = 0; i < a.gradients.size(); ++i) {
      if (a.gradients[i].defined()) equal = equal && bits_equal(a.gradients[i], b.gradients[i]);
    }
    return equal;
  }

  // The same values in `dtype`, and in float64 after they were rounded to it.
  void compare_with_float64(DType dtype, double tolerance) const {
    Outcome got = outcome(leaves(Lay::contiguous, dtype), {});
    if (options_.jumps && is_reduced_floating_point(dtype)) got.gradients.clear();
    Inputs exact = leaves(Lay::contiguous, dtype);
    for (Tensor& x : exact) x = kernels::to(x.detach(), float64).requires_grad_();
    Outcome want = outcome(exact, reference_.y.requires_grad() ? rounded_upstream(got.y) : Tensor());
    if (!is_floating_point(got.y.dtype())) want.y = kernels::to(kernels::to(want.y, int64), got.y.dtype());
    std::ostringstream what;
    what << dtype << " against float64";
    compare(what.str().c_str(), got, want, tolerance);
  }

  static Tensor rounded_upstream(const Tensor& y) {
    return kernels::to(upstream(y.shape(), y.dtype()), float64);
  }

  void check_float32() const {
    compare_with_float64(float32, options_.float32);
    const Outcome dense = outcome(leaves(Lay::contiguous, float32), {});
    if (options_.contiguous_only) return;
    for (const Lay lay : all_lays)
      compare(name(lay), outcome(leaves(lay, float32), {}), dense, options_.float32);
  }

  // Values that every dtype can hold: small, for integers not 0.
  void check_other_dtypes() {
    for (const DType dtype : {float16, bfloat16, int64, int32, uint8, boolean}) {
      const std::vector<Tensor> former = values_;
      if (!is_floating_point(dtype)) {
        for (Tensor& value : values_) value = kernels::to(scattered(value.shape(), 1, 4, int64), float64);
      }
      try {
        compare_with_float64(dtype, dtype == float16 ? 3e-3 : dtype == bfloat16 ? 2.5e-2 : options_.float32);
      } catch (const Error& error) {
        check(names_operation(error, ":"), dtype, " fails without naming the operation: ", error.what());
      }
      values_ = former;
    }
  }

  void check_changes() const {
    const Inputs inputs = leaves(Lay::contiguous);
    const Tensor y = operation_(inputs);
    for (size_t i = 0; i < inputs.size(); ++i)
      check(bits_equal(inputs[i], values_[i]), "input ", i, " was changed");
    if (!y.requires_grad() || y.numel() == 0) return;
    for (size_t i = 0; i <= inputs.size(); ++i) {
      const Inputs fresh = leaves(Lay::contiguous);
      const Tensor result = operation_(fresh);
      const Tensor& victim = i < fresh.size() ? fresh[i] : result;
      if (victim.layout().overlaps_itself()) continue;
      kernels::fill(victim, 0.5);
      victim.bump_version();
      check_refused_or_unneeded(fresh, result, i);
    }
  }

  void check_refused_or_unneeded(const Inputs& inputs, const Tensor& y, size_t changed) const {
    try {
      const auto gradients = grad(y, inputs, {.gradient = upstream(y.shape()), .allow_unused = true});
      for (size_t i = 0; i < inputs.size(); ++i) {
        check(!gradients[i].defined() || distance(gradients[i], reference_.gradients[i]) <= exact64,
              "a change of input ", changed, " (", inputs.size(),
              ": of the result) goes unnoticed and "
              "makes the gradient of input ",
              i, " wrong");
      }
    } catch (const Error& error) {
      check(names_operation(error, ": a tensor of shape"),
            "expected that a change is refused, got: ", error.what());
    }
  }

  bool names_operation(const Error& error, const char* rest) const {
    const std::string text = error.what();
    const auto begins = [&](const std::string& name) { return text.rfind(name + rest, 0) == 0; };
    return begins(name_) || std::any_of(options_.error_names.begin(), options_.error_names.end(), begins);
  }

  std::string name_;
  Operation operation_;
  Shapes shapes_;
  OpOptions options_;
  std::vector<Tensor> values_;
  int64_t elements_ = 0;
  Outcome reference_;
};

}  // namespace

void check_op(const std::string& name, const Operation& operation, const std::vector<Shapes>& samples,
              const OpOptions& options) {
  for (const Shapes& shapes : samples) {
    try {
      OpCheck(name, operation, shapes, options).run();
    } catch (const Error& error) {
      std::ostringstream text;
      text << name << " with inputs";
      for (const Shape& shape : shapes) text << ' ' << shape;
      throw Error(text.str() + ": " + error.what());
    }
  }
}

std::vector<Shapes> one_input() {
  std::vector<Shapes> samples{{{}},     {{3, 5}}, {{2, 3, 4}}, {{2, 3, 4, 5}},
                              {{1, 9}}, {{9, 1}}, {{0, 4}},    {{130, 131}}};
  for (const int64_t size : {0, 1, 2, 7, 8, 9, 15, 16, 17, 31, 33}) samples.push_back({{size}});
  return samples;
}

std::vector<Shapes> two_inputs() {
  std::vector<Shapes> samples{{{}, {}},
                              {{2, 3}, {}},
                              {{}, {5}},
                              {{4, 5}, {5}},
                              {{5}, {2, 1, 5}},
                              {{4, 5}, {4, 1}},
                              {{3, 1}, {1, 4}},
                              {{0}, {1}},
                              {{2, 0}, {2, 0}},
                              {{2, 3, 4, 4}, {3, 1, 1}},
                              {{2, 3, 2, 2}, {2, 3, 2, 2}},
                              {{130, 131}, {131}},
                              {{130, 131}, {130, 1}},
                              {{17000}, {17000}}};
  for (const int64_t size : {1, 7, 8, 9, 15, 16, 17, 31, 33}) samples.push_back({{size}, {size}});
  return samples;
}

}  // namespace tern::tests
