#include <tern/kernels/optimizer.h>

#include <tern/kernels/checks.h>
#include <tern/kernels/convert.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/iterate.h>
#include <tern/kernels/simd/optimizer.h>

#include <cmath>
#include <vector>

namespace tern::kernels {
namespace {

// Tensors of an entry: parameter, gradient, then the state.
constexpr int most_tensors = 5;
static_assert(most_tensors <= max_operands);

// What stays the same over the elements of one entry.
template <class Step>
struct Job {
  Step step;
  int64_t start;  // elements of all entries before this one
  IteratePlan plan;
  bool half;                 // computed in float32 through buffers
  char* data[most_tensors];  // null for absent ones, which are the last
  DType dtypes[most_tensors];
  Tensor gradient;  // keeps a copy alive
};

void check_tensor(const char* operation, const char* what, const Tensor& parameter, const Tensor& x) {
  check(x.defined(), operation, ": the ", what, " of a parameter of shape ", parameter.shape(),
        " is undefined");
  check(x.shape() == parameter.shape(), operation, ": the ", what, " of a parameter of shape ",
        parameter.shape(), " has shape ", x.shape());
  check_same_device(parameter, x, operation);
}

void check_gradient(const char* operation, const Tensor& parameter, const Tensor& gradient) {
  check(parameter.defined(), operation, ": a parameter is undefined");
  check(is_floating_point(parameter.dtype()), operation, ": parameters must be floating-point, got ",
        parameter.dtype());
  check_no_overlap(parameter, operation);
  check_tensor(operation, "gradient", parameter, gradient);
  check_same_dtype(parameter, gradient, operation);
}

void check_state(const char* operation, const char* what, const Tensor& parameter, const Tensor& state) {
  check_tensor(operation, what, parameter, state);
  const bool wider = is_reduced_floating_point(parameter.dtype()) && state.dtype() == float32;
  check(state.dtype() == parameter.dtype() || wider, operation, ": the ", what, " of a parameter of dtype ",
        parameter.dtype(), " has dtype ", state.dtype());
  check_no_overlap(state, operation);
}

IteratePlan plan_of(const Tensor* const (&x)[most_tensors], int count) {
  const Layout* layouts[most_tensors];
  for (int k = 0; k < most_tensors; ++k) layouts[k] = &(k < count ? x[k] : x[0])->layout();
  return make_plan(x[0]->shape(), {layouts[0], layouts[1], layouts[2], layouts[3], layouts[4]});
}

bool is_flat(const IteratePlan& plan, int count) {
  return plan.dims == 1 &&
         std::all_of(plan.strides[0], plan.strides[0] + count, [](int64_t s) { return s == 1; });
}

// A gradient of another order is copied to its parameter's: copy() transposes in blocks.
Tensor in_order_of(const Tensor& parameter, const Tensor& gradient) {
  const Tensor y = empty_like(parameter);
  copy(gradient, y);
  return y;
}

template <class Step>
void add_job(std::vector<Job<Step>>& jobs, int64_t start, const Step& step,
             const Tensor* const (&tensors)[most_tensors], int count) {
  Job<Step>& job = jobs.emplace_back();
  job.step = step;
  job.start = start;
  job.gradient = *tensors[1];
  const Tensor* x[most_tensors] = {tensors[0], &job.gradient, tensors[2], tensors[3], tensors[4]};
  job.plan = plan_of(x, count);
  if (!is_flat(job.plan, count) && tensors[0]->layout().is_dense()) {
    job.gradient = in_order_of(*tensors[0], *tensors[1]);
    job.plan = plan_of(x, count);
  }
  job.half = is_reduced_floating_point(x[0]->dtype());
  for (int k = 0; k < most_tensors; ++k) {
    job.data[k] = k < count ? static_cast<char*>(x[k]->data()) : nullptr;
    job.dtypes[k] = k < count ? x[k]->dtype() : x[0]->dtype();
    if (k < count && k != 1) x[k]->bump_version();
  }
}

template <class T>
const simd::OptimizerFunctions<T>& functions() {
  if constexpr (std::is_same_v<T, double>)
    return simd::optimizer_kernels().f64;
  else
    return simd::optimizer_kernels().f32;
}

template <class T>
void run_step(const simd::SgdStep& step, T* const (&x)[most_tensors], int64_t count) {
  functions<T>().sgd(step, x[0], x[1], x[2], count);
}

template <class T>
void run_step(const simd::AdamStep& step, T* const (&x)[most_tensors], int64_t count) {
  functions<T>().adam(step, x[0], x[1], x[2], x[3], x[4], count);
}

template <class T>
void run_step(const simd::RmspropStep& step, T* const (&x)[most_tensors], int64_t count) {
  T* const mean = step.centered ? x[3] : nullptr;
  T* const momentum = step.momentum == 0 ? nullptr : step.centered ? x[4] : x[3];
  functions<T>().rmsprop(step, x[0], x[1], x[2], mean, momentum, count);
}

template <class T>
void run_step(const simd::AdagradStep& step, T* const (&x)[most_tensors], int64_t count) {
  functions<T>().adagrad(step, x[0], x[1], x[2], count);
}

template <class T>
void run_step(const simd::LionStep& step, T* const (&x)[most_tensors], int64_t count) {
  functions<T>().lion(step, x[0], x[1], x[2], count);
}

constexpr int64_t buffer_size = 512;

// Elements that are strided, or computed in another type than they are stored in.
template <class T, class Step>
void run_buffered(const Job<Step>& job, const int64_t* offsets, int64_t count, const int64_t* strides) {
  T buffers[most_tensors][buffer_size];
  T* x[most_tensors];
  for (int k = 0; k < most_tensors; ++k) x[k] = job.data[k] ? buffers[k] : nullptr;
  for (int64_t i = 0; i < count; i += buffer_size) {
    const int64_t part = std::min(buffer_size, count - i);
    const auto place = [&](int k) {
      return job.data[k] + (offsets[k] + i * strides[k]) * static_cast<int64_t>(size_of(job.dtypes[k]));
    };
    for (int k = 0; k < most_tensors && x[k]; ++k) {
      convert_row(job.dtypes[k], dtype_of<T>())(place(k), strides[k], x[k], 1, part);
    }
    run_step<T>(job.step, x, part);
    for (int k = 0; k < most_tensors && x[k]; ++k) {
      if (k != 1) convert_row(dtype_of<T>(), job.dtypes[k])(x[k], 1, place(k), strides[k], part);
    }
  }
}

template <class T, class Step>
void run_range(const Job<Step>& job, int64_t begin, int64_t end) {
  visit_rows(job.plan, begin, end, [&](const int64_t* offsets, int64_t count, const int64_t* strides) {
    const bool dense = std::all_of(strides, strides + most_tensors, [](int64_t s) { return s == 1; });
    if (job.half || !dense) return run_buffered<T>(job, offsets, count, strides);
    T* x[most_tensors];
    for (int k = 0; k < most_tensors; ++k) {
      x[k] = job.data[k] ? reinterpret_cast<T*>(job.data[k]) + offsets[k] : nullptr;
    }
    run_step<T>(job.step, x, count);
  });
}

// Elements [begin, end) of all jobs' together.
template <class Step>
void run_jobs(const std::vector<Job<Step>>& jobs, int64_t begin, int64_t end) {
  auto job = std::upper_bound(jobs.begin(), jobs.end(), begin,
                              [](int64_t at, const Job<Step>& other) { return at < other.start; }) -
             1;
  for (; begin < end; ++job) {
    const int64_t stop = std::min(end, job->start + job->plan.numel);
    if (job->dtypes[0] == float64)
      run_range<double>(*job, begin - job->start, stop - job->start);
    else
      run_range<float>(*job, begin - job->start, stop - job->start);
    begin = stop;
  }
}

// All entries in one parallel pass; `add` makes an entry's job. The list keeps its memory from step to step.
template <class Step, class Entry, class Add>
void run(std::span<const Entry> entries, const Add& add) {
  static thread_local std::vector<Job<Step>> jobs;
  jobs.clear();
  int64_t total = 0;
  for (const Entry& entry : entries) {
    const int64_t numel = entry.parameter.numel();
    if (numel > 0) add(jobs, total, entry);
    total += numel;
  }
  const std::vector<Job<Step>>& list = jobs;
  parallel_for(total, iterate_block, [&list](int64_t begin, int64_t end) { run_jobs(list, begin, end); });
  jobs.clear();
}

}  // namespace

void sgd_step(std::span<const SgdEntry> entries, const SgdOptions& o) {
  const bool keeps = o.momentum != 0;
  for (const SgdEntry& e : entries) {
    check_gradient("sgd_step", e.parameter, e.gradient);
    if (keeps) check_state("sgd_step", "momentum buffer", e.parameter, e.momentum);
  }
  run<simd::SgdStep>(entries, [&](auto& jobs, int64_t start, const SgdEntry& e) {
    const simd::SgdStep step{o.lr,       o.momentum, o.dampening, o.weight_decay,
                             o.nesterov, o.maximize, e.first_step};
    add_job(jobs, start, step, {&e.parameter, &e.gradient, &e.momentum, nullptr, nullptr}, keeps ? 3 : 2);
  });
}

void adam_step(std::span<const AdamEntry> entries, const AdamOptions& o) {
  for (const AdamEntry& e : entries) {
    check_gradient("adam_step", e.parameter, e.gradient);
    check_state("adam_step", "running mean", e.parameter, e.mean);
    check_state("adam_step", "running square", e.parameter, e.square);
    if (o.amsgrad) check_state("adam_step", "largest square", e.parameter, e.max_square);
    check(e.step >= 1, "adam_step: steps count from 1, got ", e.step);
  }
  run<simd::AdamStep>(entries, [&](auto& jobs, int64_t start, const AdamEntry& e) {
    const auto number = static_cast<double>(e.step);
    const simd::AdamStep step{o.decoupled ? 1 - o.lr * o.weight_decay : 1,
                              o.decoupled ? 0 : o.weight_decay,
                              o.beta1,
                              o.beta2,
                              o.eps,
                              o.lr / (1 - std::pow(o.beta1, number)),
                              std::sqrt(1 - std::pow(o.beta2, number)),
                              o.maximize};
    add_job(jobs, start, step, {&e.parameter, &e.gradient, &e.mean, &e.square, &e.max_square},
            o.amsgrad ? 5 : 4);
  });
}

void rmsprop_step(std::span<const RmspropEntry> entries, const RmspropOptions& o) {
  const bool keeps = o.momentum != 0;
  for (const RmspropEntry& e : entries) {
    check_gradient("rmsprop_step", e.parameter, e.gradient);
    check_state("rmsprop_step", "running square", e.parameter, e.square);
    if (o.centered) check_state("rmsprop_step", "running mean", e.parameter, e.mean);
    if (keeps) check_state("rmsprop_step", "momentum buffer", e.parameter, e.momentum);
  }
  const simd::RmspropStep step{o.lr, o.alpha, o.eps, o.weight_decay, o.momentum, o.centered, o.maximize};
  run<simd::RmspropStep>(entries, [&](auto& jobs, int64_t start, const RmspropEntry& e) {
    add_job(jobs, start, step,
            {&e.parameter, &e.gradient, &e.square, o.centered ? &e.mean : &e.momentum, &e.momentum},
            3 + o.centered + keeps);
  });
}

void adagrad_step(std::span<const AdagradEntry> entries, const AdagradOptions& o) {
  for (const AdagradEntry& e : entries) {
    check_gradient("adagrad_step", e.parameter, e.gradient);
    check_state("adagrad_step", "sum of squares", e.parameter, e.sum);
    check(e.step >= 1, "adagrad_step: steps count from 1, got ", e.step);
  }
  run<simd::AdagradStep>(entries, [&](auto& jobs, int64_t start, const AdagradEntry& e) {
    const double lr = o.lr / (1 + static_cast<double>(e.step - 1) * o.lr_decay);
    add_job(jobs, start, simd::AdagradStep{lr, o.weight_decay, o.eps, o.maximize},
            {&e.parameter, &e.gradient, &e.sum, nullptr, nullptr}, 3);
  });
}

void lion_step(std::span<const LionEntry> entries, const LionOptions& o) {
  for (const LionEntry& e : entries) {
    check_gradient("lion_step", e.parameter, e.gradient);
    check_state("lion_step", "running mean", e.parameter, e.mean);
  }
  const simd::LionStep step{1 - o.lr * o.weight_decay, o.lr, o.beta1, o.beta2, o.maximize};
  run<simd::LionStep>(entries, [&](auto& jobs, int64_t start, const LionEntry& e) {
    add_job(jobs, start, step, {&e.parameter, &e.gradient, &e.mean, nullptr, nullptr}, 3);
  });
}

}  // namespace tern::kernels
