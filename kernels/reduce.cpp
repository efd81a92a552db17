#include <tern/kernels/reduce.h>

#include <tern/kernels/checks.h>
#include <tern/kernels/convert.h>
#include <tern/kernels/iterate.h>
#include <tern/kernels/reduce_loops.h>

#include <array>
#include <cmath>

namespace tern::kernels {
namespace {

using Mask = std::array<bool, max_dims>;

Mask reduced_dims(const Shape& shape, const Shape& dims, const char* operation) {
  Mask reduced{};
  if (dims.empty()) reduced.fill(true);
  for (const int64_t dim : dims) {
    bool& mark = reduced[static_cast<size_t>(normalize_dim(dim, shape.dim(), operation))];
    check(!mark, operation, ": dimension ", dim, " is listed twice in ", dims);
    mark = true;
  }
  return reduced;
}

// The dimensions of x that stay, or those that go.
Layout part_of(const Layout& x, const Mask& reduced, bool which) {
  Layout part;
  for (int d = 0; d < x.dim(); ++d) {
    if (reduced[static_cast<size_t>(d)] != which) continue;
    part.shape.push_back(x.shape[d]);
    part.strides.push_back(x.strides[d]);
  }
  return part;
}

// Dense strides in the order of `like`'s strides, so that neighbours in x are neighbours in the result.
Strides strides_in_order(const Layout& like) {
  Shape order;
  for (int d = 0; d < like.dim(); ++d) {
    int64_t place = order.dim();
    while (place > 0 && like.strides[d] > like.strides[order[place - 1]] &&
           like.strides[order[place - 1]] > 0) {
      --place;
    }
    order.insert(place, d);
  }
  Strides strides = Shape::filled(like.dim(), 1);
  int64_t step = 1;
  for (int k = like.dim() - 1; k >= 0; --k) {
    strides[order[k]] = step;
    step *= std::max<int64_t>(like.shape[order[k]], 1);
  }
  return strides;
}

// How a reduction is cut into units of work. A unit reduces one chunk of the reduced elements for one block
// of outputs; the chunks of an output are combined afterwards, in order.
struct Cut {
  int64_t outputs, reduced;
  bool columns;          // outputs are neighbours in x: reduce them side by side
  int64_t output_block;  // outputs of a unit; with `columns` within one row of them
  int64_t output_blocks;
  int64_t chunk, chunks;  // of reduced elements
};

constexpr int64_t unit_elements = 65536, unit_columns = 1024;

Cut make_cut(const IteratePlan& kept, const IteratePlan& reduced) {
  Cut cut{kept.numel, reduced.numel, false, 1, 0, 0, 0};
  cut.columns = kept.strides[0][1] == 1 && kept.sizes[0] > 1 && reduced.strides[0][0] != 1;
  if (cut.columns) {
    cut.output_block = std::min(kept.sizes[0], unit_columns);
    cut.output_blocks =
        kept.numel / kept.sizes[0] * ((kept.sizes[0] + cut.output_block - 1) / cut.output_block);
    cut.chunk = std::max<int64_t>(unit_elements / cut.output_block, 64);
  } else {
    cut.output_block = std::max<int64_t>(unit_elements / std::max<int64_t>(reduced.numel, 1), 1);
    cut.output_blocks = (kept.numel + cut.output_block - 1) / cut.output_block;
    cut.chunk = unit_elements;
  }
  cut.chunks = std::max<int64_t>((reduced.numel + cut.chunk - 1) / cut.chunk, 1);
  return cut;
}

struct Reduction {
  ReduceOp op;
  DType dtype;
  const char* x;
  int64_t bytes;  // of an element
  ReduceLoops loops;
  IteratePlan kept, reduced;  // kept: result and x
  Cut cut;
};

void reduce_rows(const Reduction& r, int64_t block, int64_t begin, int64_t end, Accumulator* result) {
  const int64_t first = block * r.cut.output_block;
  const int64_t last = std::min(first + r.cut.output_block, r.cut.outputs);
  visit_rows(r.kept, first, last, [&](const int64_t* offsets, int64_t count, const int64_t* strides) {
    for (int64_t i = 0; i < count; ++i) {
      const int64_t base = offsets[1] + i * strides[1];
      Accumulator* accumulator = result + offsets[0] + i * strides[0];
      if (r.reduced.dims == 1) {  // one run: spare short rows the visit
        const int64_t step = r.reduced.strides[0][0];
        r.loops.row(r.x + (base + begin * step) * r.bytes, step, end - begin, accumulator);
        continue;
      }
      visit_rows(r.reduced, begin, end, [&](const int64_t* from, int64_t n, const int64_t* steps) {
        r.loops.row(r.x + (base + from[0]) * r.bytes, steps[0], n, accumulator);
      });
    }
  });
}

void reduce_columns(const Reduction& r, int64_t block, int64_t begin, int64_t end, Accumulator* result) {
  const int64_t per_row = (r.kept.sizes[0] + r.cut.output_block - 1) / r.cut.output_block;
  const int64_t column = block % per_row * r.cut.output_block;
  const int64_t first = block / per_row * r.kept.sizes[0] + column;
  const int64_t last = first + std::min(r.cut.output_block, r.kept.sizes[0] - column);
  visit_rows(r.kept, first, last, [&](const int64_t* offsets, int64_t count, const int64_t*) {
    visit_rows(r.reduced, begin, end, [&](const int64_t* from, int64_t n, const int64_t* steps) {
      r.loops.columns(r.x + (offsets[1] + from[0]) * r.bytes, steps[0], n, count, result + offsets[0]);
    });
  });
}

// Accumulators of chunk c, output o lie at c * outputs + o; at the end those of chunk 0 hold the results.
void reduce_cpu(const Reduction& r, Accumulator* accumulators) {
  const Cut& cut = r.cut;
  std::fill_n(accumulators, cut.chunks * cut.outputs, reduce_start(r.op, r.dtype));
  const int64_t per_call = std::max<int64_t>(
      unit_elements / (cut.output_block * std::min(cut.chunk, std::max<int64_t>(cut.reduced, 1))), 1);
  parallel_for(cut.output_blocks * cut.chunks, per_call, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t block = unit / cut.chunks, chunk = unit % cut.chunks;
      const int64_t first = chunk * cut.chunk, last = std::min(first + cut.chunk, cut.reduced);
      (cut.columns ? reduce_columns : reduce_rows)(r, block, first, last, accumulators + chunk * cut.outputs);
    }
  });
  const DType accumulator = accumulator_dtype(r.op, r.dtype);
  for (int64_t c = 1; c < cut.chunks; ++c) {
    reduce_merge(r.op, accumulator, accumulators, accumulators + c * cut.outputs, cut.outputs);
  }
}

Layout keep_dims(const Layout& result, const Mask& reduced, int dims) {
  Layout kept = result;
  for (int d = 0; d < dims; ++d) {
    if (reduced[static_cast<size_t>(d)]) kept = kept.unsqueeze(d);
  }
  return kept;
}

// What becomes of an accumulated double, given how many elements it is of.
using Finish = double (*)(double value, double count);

Tensor reduce(const char* operation, ReduceOp op, const Tensor& x, const Shape& dims, bool keepdim, DType to,
              Finish finish = nullptr) {
  check_device_kernels(x.device(), operation);
  const Mask reduced = reduced_dims(x.shape(), dims, operation);
  const Layout kept = part_of(x.layout(), reduced, false), gone = part_of(x.layout(), reduced, true);
  const bool extreme = op == ReduceOp::max || op == ReduceOp::min;
  check(!extreme || gone.numel() > 0, operation, ": the reduced dimensions of shape ", x.shape(),
        " are empty");
  const Tensor y = empty_strided(kept.shape, strides_in_order(kept), to, x.device());
  Reduction r{op,
              x.dtype(),
              static_cast<const char*>(x.data()),
              static_cast<int64_t>(size_of(x.dtype())),
              reduce_loops(op, x.dtype()),
              make_plan(kept.shape, {&y.layout(), &kept}),
              make_plan(gone.shape, {&gone}),
              {}};
  r.cut = make_cut(r.kept, r.reduced);
  if (r.cut.outputs > 0) {
    const Tensor scratch = empty({r.cut.chunks, r.cut.outputs}, int64, x.device());
    auto* accumulators = static_cast<Accumulator*>(scratch.data());
    reduce_cpu(r, accumulators);
    for (int64_t i = 0; finish && i < r.cut.outputs; ++i) {
      accumulators[i].floating = finish(accumulators[i].floating, static_cast<double>(r.cut.reduced));
    }
    convert_row(accumulator_dtype(op, x.dtype()), to)(accumulators, 1, y.data(), 1, r.cut.outputs);
  }
  return keepdim ? y.with_layout(keep_dims(y.layout(), reduced, static_cast<int>(x.dim()))) : y;
}

void check_floating(const char* operation, const Tensor& x) {
  check(is_floating_point(x.dtype()), operation, ": needs a floating-point tensor, got ", x.dtype());
}

DType sum_dtype(const Tensor& x) { return is_floating_point(x.dtype()) ? x.dtype() : int64; }

}  // namespace

Shape reduced_shape(const Shape& shape, const Shape& dims, bool keepdim, const char* operation) {
  const Mask reduced = reduced_dims(shape, dims, operation);
  Shape left;
  for (int d = 0; d < shape.dim(); ++d) {
    const bool goes = reduced[static_cast<size_t>(d)];
    if (!goes || keepdim) left.push_back(goes ? 1 : shape[d]);
  }
  return left;
}

Tensor sum(const Tensor& x, const Shape& dims, bool keepdim) {
  return reduce("sum", ReduceOp::sum, x, dims, keepdim, sum_dtype(x));
}

Tensor prod(const Tensor& x, const Shape& dims, bool keepdim) {
  return reduce("prod", ReduceOp::prod, x, dims, keepdim, sum_dtype(x));
}

Tensor mean(const Tensor& x, const Shape& dims, bool keepdim) {
  check_floating("mean", x);
  return reduce("mean", ReduceOp::sum, x, dims, keepdim, x.dtype(),
                [](double sum, double count) { return sum / count; });
}

Tensor norm(const Tensor& x, const Shape& dims, bool keepdim) {
  check_floating("norm", x);
  return reduce("norm", ReduceOp::sum_of_squares, x, dims, keepdim, x.dtype(),
                [](double sum, double) { return std::sqrt(sum); });
}

double sum_of_squares(const Tensor& x) {
  check_floating("sum_of_squares", x);
  return reduce("sum_of_squares", ReduceOp::sum_of_squares, x, {}, false, float64).item<double>();
}

Tensor max(const Tensor& x, const Shape& dims, bool keepdim) {
  return reduce("max", ReduceOp::max, x, dims, keepdim, x.dtype());
}

Tensor min(const Tensor& x, const Shape& dims, bool keepdim) {
  return reduce("min", ReduceOp::min, x, dims, keepdim, x.dtype());
}

Tensor any(const Tensor& x, const Shape& dims, bool keepdim) {
  return reduce("any", ReduceOp::any, x, dims, keepdim, boolean);
}

Tensor all(const Tensor& x, const Shape& dims, bool keepdim) {
  return reduce("all", ReduceOp::all, x, dims, keepdim, boolean);
}

Tensor sum_to(const Tensor& x, const Shape& shape) {
  if (x.shape() == shape) return x;
  const int lead = static_cast<int>(x.dim()) - shape.dim();
  check(lead >= 0 && broadcast_shapes(x.shape(), shape, "sum_to") == x.shape(), "sum_to: ", shape,
        " does not broadcast to ", x.shape());
  Shape dims;
  for (int d = 0; d < x.dim(); ++d) {
    if (d < lead || (shape[d - lead] == 1 && x.shape()[d] != 1)) dims.push_back(d);
  }
  const Tensor kept = sum(x, dims, true);
  Layout layout = kept.layout();
  for (int d = 0; d < lead; ++d) layout = layout.select(0, 0);
  return kept.with_layout(layout);
}

}  // namespace tern::kernels
