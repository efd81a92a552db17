#include <tern/kernels/simd/conv_functions.h>
#include <tern/kernels/simd/conv_pack.h>
#include <tern/kernels/simd/conv_pass.h>
#include <tern/kernels/simd/conv_sparse.h>
#include <tern/kernels/simd/conv_strip.h>

namespace tern::simd::TERN_ISA {
namespace {

// With row + pad = stride * q + phase, the taps that reach a row of dx are phase, phase + stride, ..., and
//   dx[row] = sum over j of dy[q - j] * w[phase + stride * j]:
// for each phase a correlation of stride 1 of dy with a part of the flipped weight. With dilation, where
// stride is 1, dx[row] = sum over j of dy[q - j * dilation] * w[j].

/// One dimension, rows or columns.
struct Axis {
  int64_t size, taps, stride, pad, dilation;
  int64_t first() const { return pad / stride; }                             // smallest q
  int64_t count() const { return (size - 1 + pad) / stride - first() + 1; }  // number of q
  /// What is read of dy for one q: of all phases, and how much of it this phase leaves out.
  int64_t span() const { return span_of(taps_of(0), dilation); }
  int64_t before(int64_t phase) const { return span() - span_of(taps_of(phase), dilation); }
  int64_t taps_of(int64_t phase) const { return phase < taps ? (taps - phase + stride - 1) / stride : 0; }
  /// The q in [low, high) of this phase that stand for elements.
  int64_t from(int64_t phase, int64_t low) const {
    const int64_t q = pad > phase ? (pad - phase + stride - 1) / stride : 0;
    return q > low ? q : low;
  }
  int64_t to(int64_t phase, int64_t high) const {
    const int64_t last = size - 1 + pad - phase;
    const int64_t end = last < 0 ? 0 : last / stride + 1;
    return end < high ? end : high;
  }
};

struct Plan {
  Axis y, x;
  int64_t item_rows, blocks;
  int64_t strip_rows, strip_cols;
};

Plan plan(const ConvShape& s) {
  Plan p;
  p.y = {s.h, s.kh, s.stride_h, s.pad_h, s.dilation_h};
  p.x = {s.w, s.kw, s.stride_w, s.pad_w, s.dilation_w};
  p.strip_cols = p.x.count() + p.x.span() - 1;
  p.item_rows = rows_per_item(s.n * s.groups, p.y.count(), p.x.count(), 1, p.y.span(), p.strip_cols * s.oc);
  p.blocks = (p.y.count() + p.item_rows - 1) / p.item_rows;
  p.strip_rows = p.item_rows + p.y.span() - 1;
  return p;
}

int64_t strip_floats(const ConvShape& s, const Plan& p) {
  return round_up(p.strip_rows * p.strip_cols * s.oc, 16);
}

/// Calls body(row phase, column phase, number of floats packed before it).
template <class Body>
void for_each_phase(const ConvShape& s, const Plan& p, const Body& body) {
  int64_t taps = 0;
  for (int64_t a = 0; a < s.stride_h; ++a) {
    for (int64_t b = 0; b < s.stride_w; ++b) {
      body(a, b, packed_floats(s.ic, taps, s.oc));
      taps += p.y.taps_of(a) * p.x.taps_of(b);
    }
  }
}

WeightView phase_view(const ConvShape& s, const Plan& p, int64_t a, int64_t b, const float* w,
                      const WeightStrides& strides) {
  const int64_t rows = p.y.taps_of(a), cols = p.x.taps_of(b);
  const int64_t last_row = a + s.stride_h * (rows - 1), last_col = b + s.stride_w * (cols - 1);
  WeightView view = {
      w, s.ic, rows, cols, s.oc, strides.ic, -s.stride_h * strides.kh, -s.stride_w * strides.kw, strides.oc};
  if (rows > 0 && cols > 0) view.data += last_row * strides.kh + last_col * strides.kw;
  return view;
}

/// Where an item reads dy: `data` is the pixel of the smallest row and column that any tap of it reads.
struct Strip {
  const float* data;
  int64_t row, pixel;  // floats from one to the next
  int64_t low, high;   // its q
};

void run_phase(const ConvBackwardData& args, const Plan& p, int64_t a, int64_t b, int64_t packed_at,
               int64_t image, const Strip& strip, int32_t* offsets) {
  const ConvShape& s = args.shape;
  const int64_t q = p.y.from(a, strip.low), q_end = p.y.to(a, strip.high);
  const int64_t u = p.x.from(b, p.x.first()), u_end = p.x.to(b, p.x.first() + p.x.count());
  ConvPass pass = {};
  pass.rows = q_end - q;
  pass.cols = u_end - u;
  pass.channels = s.ic;
  pass.packed = args.packed + packed_at;
  set_taps(pass.tile,
           {p.y.taps_of(a), p.x.taps_of(b), s.dilation_h * strip.row, s.dilation_w * strip.pixel, s.oc});
  pass.tile.x = strip.data + (q - strip.low + p.y.before(a)) * strip.row +
                (u - p.x.first() + p.x.before(b)) * strip.pixel;
  pass.x_step_row = strip.row;
  pass.x_step_col = strip.pixel;
  const int64_t row = q * s.stride_h + a - s.pad_h, col = u * s.stride_w + b - s.pad_w;
  const int64_t at = ((image * s.h + row) * s.w + col) * x_pixel(s);
  pass.tile.y = args.dx + at;
  pass.tile.mask = args.mask ? args.mask + at : nullptr;
  pass.y_row = s.stride_h * s.w * x_pixel(s);
  pass.y_col = s.stride_w * x_pixel(s);
  run_pass(pass, offsets);
}

void backward_data_item(const ConvBackwardData& args, const Plan& p, int64_t item, float* scratch) {
  const ConvShape& s = args.shape;
  const int64_t image = item / p.blocks;
  const int64_t low = p.y.first() + item % p.blocks * p.item_rows, end = p.y.first() + p.y.count();
  const int64_t high = low + p.item_rows < end ? low + p.item_rows : end;
  const ConvImage dy = output_gradient(s, args.gradient, image);
  const ConvWindow window = {low - p.y.span() + 1, high - low + p.y.span() - 1, p.x.first() - p.x.span() + 1,
                             p.strip_cols};
  const bool direct = dy.mask == nullptr && !dy.pooled && inside(dy, window);
  if (!direct) gather(dy, window, 0, s.oc, s.oc, scratch);
  const int64_t pixel = direct ? y_pixel(s) : s.oc;
  const Strip strip = {direct ? dy.data + (window.row * s.ow + window.col) * pixel : scratch,
                       (direct ? s.ow : p.strip_cols) * pixel, pixel, low, high};
  int32_t* offsets = reinterpret_cast<int32_t*>(scratch + strip_floats(s, p));
  for_each_phase(s, p, [&](int64_t a, int64_t b, int64_t packed_at) {
    run_phase(args, p, a, b, packed_at, image, strip, offsets);
  });
}

}  // namespace

int64_t backward_data_packed(const ConvShape& s) {
  if (sparse_gradient(s)) return sparse_backward_data_packed(s);
  return packed_floats(s.ic, s.kh * s.kw, s.oc);
}

int64_t pack_backward_data_items(const ConvShape& s) {
  if (sparse_gradient(s)) return sparse_pack_backward_data_items(s);
  return groups_of(s.ic);
}

void pack_backward_data(const ConvShape& s, const float* w, const WeightStrides& strides, float* packed,
                        int64_t begin, int64_t end) {
  if (sparse_gradient(s)) return sparse_pack_backward_data(s, w, strides, packed, begin, end);
  const Plan p = plan(s);
  for_each_phase(s, p, [&](int64_t a, int64_t b, int64_t packed_at) {
    const WeightView view = phase_view(s, p, a, b, w, strides);
    for (int64_t group = begin; group < end; ++group) pack_group(view, group, packed + packed_at);
  });
}

int64_t backward_data_items(const ConvShape& s) {
  if (sparse_gradient(s)) return sparse_backward_data_items(s);
  return s.n * plan(s).blocks;
}

int64_t backward_data_scratch(const ConvShape& s) {
  if (sparse_gradient(s)) return sparse_backward_data_scratch(s);
  const Plan p = plan(s);
  return strip_floats(s, p) + round_up(2 * p.item_rows * p.x.count(), 16);
}

void backward_data(const ConvBackwardData& args, int64_t begin, int64_t end, float* scratch) {
  if (sparse_gradient(args.shape)) return sparse_backward_data(args, begin, end, scratch);
  const Plan p = plan(args.shape);
  for (int64_t item = begin; item < end; ++item) backward_data_item(args, p, item, scratch);
}

}  // namespace tern::simd::TERN_ISA
