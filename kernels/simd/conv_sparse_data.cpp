#include <tern/kernels/simd/conv_pass.h>
#include <tern/kernels/simd/conv_sparse.h>

namespace tern::simd::TERN_ISA {
namespace {

// A gradient g of output pixel (p, q), channel o, adds g * w[o, r, :, :] to a run of kw * ic neighbours in
// row p * stride_h + r of the padded dx. Of a pooled pixel the channels are sorted by the place of their
// maximum; what is then summed per place and r are runs of w.

struct Plan {
  int64_t item_rows, blocks;  // rows of dx of an item, items of an image
  int64_t strip_cols;         // columns of the padded dx
  int64_t pooled_h, pooled_w;
  int64_t run, tile, tiles;  // floats of a run and of its tiles, number of tiles
};

Plan plan(const ConvShape& s) {
  Plan p;
  const int64_t reached = (s.ow - 1) * s.stride_w + s.kw;
  p.strip_cols = reached > s.w + s.pad_w ? reached : s.w + s.pad_w;
  p.item_rows = rows_per_item(s.n, s.h, s.w, 1, 0, p.strip_cols * s.ic);
  p.blocks = (s.h + p.item_rows - 1) / p.item_rows;
  p.pooled_h = s.oh / 2;
  p.pooled_w = s.ow / 2;
  p.run = s.kw * s.ic;
  p.tile = sparse_tile_vectors(p.run) * vec_floats;
  p.tiles = (p.run + p.tile - 1) / p.tile;
  return p;
}

/// The entries of a row of pooled pixels: [pooled_w][4][oc], and how many of the oc are used.
struct Lists {
  SparseEntry* entries;
  int32_t* counts;
  float* values;  // scratch for one pixel
};

void fill_lists(const ConvShape& s, const Plan& p, const ConvOutputGradient& g, int64_t row,
                const Lists& lists) {
  for (int64_t q = 0; q < p.pooled_w; ++q) {
    const int64_t at = (row * p.pooled_w + q) * s.oc;
    live_values(g.dy + at, g.y ? g.y + at : nullptr, s.oc, lists.values, nullptr);
    SparseEntry* const entries = lists.entries + q * 4 * s.oc;
    uint64_t counts = 0;  // four of 16 bits: as variables in memory they would wait for each other
    for (int64_t o = 0; o < s.oc; ++o) {
      const float value = lists.values[o];
      const int64_t place = g.argmax[at + o];
      const int64_t shift = 16 * place;
      entries[place * s.oc + static_cast<int64_t>(counts >> shift & 0xffff)] = {
          value, static_cast<int32_t>(o * p.tile)};
      counts += static_cast<uint64_t>(!(value == 0.0f)) << shift;
    }
    for (int k = 0; k < 4; ++k) lists.counts[q * 4 + k] = static_cast<int32_t>(counts >> (16 * k) & 0xffff);
  }
}

/// What one tile of the weight's row r adds to a row of the strip: from the maxima in the upper (half 0) or
/// lower row of the pool's windows.
void add_row(const ConvShape& s, const Plan& p, const Lists& lists, int64_t half, const float* weight,
             int64_t floats, float* strip_row) {
  const SparseFunction add = sparse_sum((floats + vec_floats - 1) / vec_floats);
  for (int64_t i = 0; i < 2 * p.pooled_w; ++i) {
    const int64_t list = i / 2 * 4 + half * 2 + i % 2;
    add({lists.entries + list * s.oc, lists.counts[list], weight, strip_row + i * s.stride_w * s.ic, floats});
  }
}

void store_rows(const ConvShape& s, const Plan& p, const float* strip, int64_t rows, const float* mask,
                float* dx) {
  const int64_t count = s.w * s.ic;
  for (int64_t r = 0; r < rows; ++r, dx += count) {
    const float* const from = strip + (r * p.strip_cols + s.pad_w) * s.ic;
    if (mask == nullptr) {
      __builtin_memcpy(dx, from, static_cast<size_t>(count) * sizeof(float));
      continue;
    }
    int64_t i = 0;
    for (; i + vec_floats <= count; i += vec_floats)
      store(dx + i, select(load(mask + i) <= 0, Vec{}, load(from + i)));
    for (; i < count; ++i) dx[i] = mask[i] <= 0 ? 0.0f : from[i];
    mask += count;
  }
}

/// Adds the gradients of a row of pooled pixels to rows [first, first + rows) of dx.
void add_pooled_row(const ConvBackwardData& args, const Plan& p, int64_t pooled_row, const Lists& lists,
                    int64_t first, int64_t rows, float* strip) {
  const ConvShape& s = args.shape;
  for (int64_t r = 0; r < s.kh; ++r) {
    for (int64_t t = 0; t < p.tiles; ++t) {
      const float* const weight = args.packed + (r * p.tiles + t) * s.oc * p.tile;
      const int64_t floats = p.run - t * p.tile < p.tile ? p.run - t * p.tile : p.tile;
      for (int64_t half = 0; half < 2; ++half) {
        const int64_t row = (pooled_row * 2 + half) * s.stride_h - s.pad_h + r - first;
        if (row < 0 || row >= rows) continue;
        add_row(s, p, lists, half, weight, floats, strip + row * p.strip_cols * s.ic + t * p.tile);
      }
    }
  }
}

int64_t strip_floats(const ConvShape& s, const Plan& p) {
  return round_up(p.item_rows * p.strip_cols * s.ic, 16);
}

int64_t entry_floats(const ConvShape& s, const Plan& p) { return round_up(p.pooled_w * 4 * s.oc * 2, 16); }

int64_t count_floats(const Plan& p) { return round_up(p.pooled_w * 4, 16); }

void item(const ConvBackwardData& args, const Plan& p, int64_t number, float* scratch) {
  const ConvShape& s = args.shape;
  const int64_t image = number / p.blocks, first = number % p.blocks * p.item_rows;
  const int64_t rows = s.h - first < p.item_rows ? s.h - first : p.item_rows;
  float* const entries = scratch + strip_floats(s, p);
  float* const counts = entries + entry_floats(s, p);
  const Lists lists = {reinterpret_cast<SparseEntry*>(entries), reinterpret_cast<int32_t*>(counts),
                       counts + count_floats(p)};
  __builtin_memset(scratch, 0, static_cast<size_t>(rows * p.strip_cols * s.ic) * sizeof(float));
  for (int64_t row = 0; row < p.pooled_h; ++row) {
    const int64_t top = row * 2 * s.stride_h - s.pad_h, bottom = top + s.stride_h + s.kh;
    if (bottom <= first || top >= first + rows) continue;
    fill_lists(s, p, args.gradient, image * p.pooled_h + row, lists);
    add_pooled_row(args, p, row, lists, first, rows, scratch);
  }
  const int64_t at = (image * s.h + first) * s.w * s.ic;
  store_rows(s, p, scratch, rows, args.mask ? args.mask + at : nullptr, args.dx + at);
}

}  // namespace

int64_t sparse_backward_data_packed(const ConvShape& s) {
  const Plan p = plan(s);
  return s.kh * p.tiles * s.oc * p.tile;
}

int64_t sparse_pack_backward_data_items(const ConvShape& s) { return s.kh; }

void sparse_pack_backward_data(const ConvShape& s, const float* w, const WeightStrides& strides,
                               float* packed, int64_t begin, int64_t end) {
  const Plan p = plan(s);
  for (int64_t row = begin * p.tiles * s.oc; row < end * p.tiles * s.oc; ++row) {
    const int64_t o = row % s.oc, tile = row / s.oc % p.tiles, r = row / s.oc / p.tiles;
    for (int64_t k = 0; k < p.tile; ++k) {
      const int64_t at = tile * p.tile + k, c = at / s.ic, i = at % s.ic;
      packed[row * p.tile + k] =
          at < p.run ? w[o * strides.oc + i * strides.ic + r * strides.kh + c * strides.kw] : 0.0f;
    }
  }
}

int64_t sparse_backward_data_items(const ConvShape& s) { return s.n * plan(s).blocks; }

int64_t sparse_backward_data_scratch(const ConvShape& s) {
  const Plan p = plan(s);
  return strip_floats(s, p) + entry_floats(s, p) + count_floats(p) + s.oc;
}

void sparse_backward_data(const ConvBackwardData& args, int64_t begin, int64_t end, float* scratch) {
  const Plan p = plan(args.shape);
  for (int64_t number = begin; number < end; ++number) item(args, p, number, scratch);
}

}  // namespace tern::simd::TERN_ISA
