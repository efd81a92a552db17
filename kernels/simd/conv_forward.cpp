#include <tern/kernels/simd/conv_functions.h>
#include <tern/kernels/simd/conv_pack.h>
#include <tern/kernels/simd/conv_pass.h>
#include <tern/kernels/simd/conv_strip.h>

namespace tern::simd::TERN_ISA {
namespace {

/// How the output rows are cut into items, and what an item's strip of x measures.
struct Plan {
  int64_t rows, cols;         // of the output, whole pool windows only
  int64_t item_rows, blocks;  // rows of an item, items of an image
  int64_t strip_rows, strip_cols;
};

Plan plan(const ConvShape& s) {
  Plan p;
  p.rows = s.pool ? s.oh / 2 * 2 : s.oh;
  p.cols = s.pool ? s.ow / 2 * 2 : s.ow;
  p.strip_cols = p.cols > 0 ? (p.cols - 1) * s.stride_w + span_of(s.kw, s.dilation_w) : 0;
  const int64_t span = span_of(s.kh, s.dilation_h);
  p.item_rows = rows_per_item(s.n * s.groups, p.rows, p.cols, s.stride_h, span, p.strip_cols * s.ic);
  if (s.pool) p.item_rows = round_up(p.item_rows, 2);
  p.blocks = p.cols > 0 ? (p.rows + p.item_rows - 1) / p.item_rows : 0;
  p.strip_rows = (p.item_rows - 1) * s.stride_h + span;
  return p;
}

WeightView view(const ConvShape& s, const float* w, const WeightStrides& strides) {
  return {w, s.oc, s.kh, s.kw, s.ic, strides.oc, strides.kh, strides.kw, strides.ic};
}

int64_t strip_floats(const ConvShape& s, const Plan& p) {
  return round_up(p.strip_rows * p.strip_cols * s.ic, 16);
}

int64_t offset_floats(const Plan& p) { return round_up(2 * p.item_rows * p.cols, 16); }

/// The first maximum of a window whose corners lie at x, and `right` and `down` from there: of one vector of
/// channels, of which `valid` are stored.
[[gnu::always_inline]] inline void pool_window(const float* x, int64_t right, int64_t down, int64_t valid,
                                               float* y, uint8_t* argmax) {
  const Vec values[4] = {load(x), load(x + right), load(x + down), load(x + down + right)};
  Vec best = values[0];
  IntVec place = {};
  TERN_UNROLL
  for (int k = 1; k < 4; ++k) {
    const IntVec better = (values[k] > best) | (values[k] != values[k]);
    best = select(better, values[k], best);
    place = better ? IntVec{} + k : place;
  }
  const ByteVec bytes = low_bytes(place);
  if (valid >= vec_floats) {
    store(y, best);
    __builtin_memcpy(argmax, &bytes, sizeof bytes);
    return;
  }
  for (int64_t i = 0; i < valid; ++i) {
    y[i] = best[i];
    argmax[i] = bytes[i];
  }
}

/// Pools one block of channels: x [2 * rows][2 * cols][width] to y and argmax [rows][cols][channels], pixels
/// `pitch` apart.
void pool_block(const float* x, int64_t rows, int64_t cols, int64_t width, int64_t channels, int64_t pitch,
                float* y, uint8_t* argmax) {
  for (int64_t r = 0; r < rows; ++r, x += 2 * cols * width) {
    for (int64_t c = 0; c < cols; ++c, x += 2 * width, y += pitch, argmax += pitch) {
      for (int64_t o = 0; o < channels; o += vec_floats) {
        pool_window(x + o, width, 2 * cols * width, channels - o, y + o, argmax + o);
      }
    }
  }
}

/// Some rows at a time, so that what is pooled is still in the first-level cache.
int64_t pooled_rows_at_once(const Plan& p) {
  constexpr int64_t pixels = 64;
  const int64_t rows = round_up((pixels + p.cols - 1) / p.cols, 2);
  return rows < p.item_rows ? rows : p.item_rows;
}

void run_pooled(ConvPass pass, const ConvForward& args, const Plan& p, int64_t pooled_at, int32_t* offsets,
                float* block) {
  const int64_t rows = pass.rows, most_rows = pooled_rows_at_once(p), oc = pass.channels;
  const float* const x = pass.tile.x;
  for (int64_t channel = 0; channel < oc;) {
    const int vectors = block_vectors(oc - channel);
    const int64_t width = vectors * vec_floats;
    const int64_t valid = oc - channel < width ? oc - channel : width;
    pass.y_col = width;
    pass.y_row = pass.cols * width;
    pass.tile.y = block - channel;
    for (int64_t row = 0; row < rows; row += most_rows) {
      pass.rows = rows - row < most_rows ? rows - row : most_rows;
      pass.tile.x = x + row * pass.x_step_row;
      fill_offsets(pass, offsets);
      run_block(pass, channel, vectors, offsets);
      const int64_t at = (pooled_at + row / 2 * (pass.cols / 2)) * oc + channel;
      pool_block(block, pass.rows / 2, pass.cols / 2, width, valid, oc, args.y + at, args.argmax + at);
    }
    channel += width;
  }
}

void forward_item(const ConvForward& args, const Plan& p, int64_t item, float* scratch) {
  const ConvShape& s = args.shape;
  const int64_t image = item / p.blocks, row = item % p.blocks * p.item_rows;
  const ConvImage x = {
      args.x + image * s.h * s.w * x_pixel(s), nullptr, nullptr, s.h, s.w, x_pixel(s), false};
  ConvPass pass = {};
  pass.rows = p.rows - row < p.item_rows ? p.rows - row : p.item_rows;
  pass.cols = p.cols;
  pass.channels = s.oc;
  pass.packed = args.packed;
  pass.bias = args.bias;
  const ConvWindow window = {row * s.stride_h - s.pad_h,
                             (pass.rows - 1) * s.stride_h + span_of(s.kh, s.dilation_h), -s.pad_w,
                             p.strip_cols};
  const bool direct = inside(x, window);
  if (!direct) gather(x, window, 0, s.ic, s.ic, scratch);
  pass.tile.x = direct ? x.data + window.row * s.w * x_pixel(s) : scratch;
  const int64_t pixel = direct ? x_pixel(s) : s.ic, row_floats = (direct ? s.w : p.strip_cols) * pixel;
  set_taps(pass.tile, {s.kh, s.kw, s.dilation_h * row_floats, s.dilation_w * pixel, s.ic});
  pass.tile.relu = args.relu;
  pass.x_step_row = s.stride_h * row_floats;
  pass.x_step_col = s.stride_w * pixel;
  float* after_strip = scratch + strip_floats(s, p);
  int32_t* offsets = reinterpret_cast<int32_t*>(after_strip);
  if (s.pool) {
    const int64_t pooled_at = (image * (p.rows / 2) + row / 2) * (p.cols / 2);
    return run_pooled(pass, args, p, pooled_at, offsets, after_strip + offset_floats(p));
  }
  pass.tile.y = args.y + (image * s.oh + row) * s.ow * y_pixel(s);
  pass.y_row = s.ow * y_pixel(s);
  pass.y_col = y_pixel(s);
  run_pass(pass, offsets);
}

}  // namespace

int64_t forward_packed(const ConvShape& s) { return packed_floats(s.oc, s.kh * s.kw, s.ic); }

int64_t pack_forward_items(const ConvShape& s) { return groups_of(s.oc); }

void pack_forward(const ConvShape& s, const float* w, const WeightStrides& strides, float* packed,
                  int64_t begin, int64_t end) {
  for (int64_t group = begin; group < end; ++group) pack_group(view(s, w, strides), group, packed);
}

int64_t forward_items(const ConvShape& s) { return s.n * plan(s).blocks; }

int64_t forward_scratch(const ConvShape& s) {
  const Plan p = plan(s);
  const int64_t pool =
      p.blocks > 0 && s.pool ? pooled_rows_at_once(p) * p.cols * max_vectors * vec_floats : 0;
  return strip_floats(s, p) + offset_floats(p) + pool;
}

void forward(const ConvForward& args, int64_t begin, int64_t end, float* scratch) {
  const Plan p = plan(args.shape);
  for (int64_t item = begin; item < end; ++item) forward_item(args, p, item, scratch);
}

}  // namespace tern::simd::TERN_ISA
