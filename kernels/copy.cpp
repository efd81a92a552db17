#include <tern/kernels/copy.h>

#include <tern/kernels/checks.h>
#include <tern/kernels/convert.h>
#include <tern/kernels/iterate.h>
#include <tern/kernels/simd/copy.h>
#include <tern/kernels/words.h>

#include <cstring>

namespace tern::kernels {
namespace {

template <class Word>
void move_rows(const IteratePlan& plan, Word* dst, const Word* src) {
  const simd::MoveFunctions& functions = simd::move_functions(sizeof(Word));
  for_each_row(plan, [=](const int64_t* offsets, int64_t count, const int64_t* strides) {
    Word* to = dst + offsets[0];
    const Word* from = src + offsets[1];
    if (strides[0] == 1 && strides[1] == 1) {
      std::memcpy(to, from, static_cast<size_t>(count) * sizeof(Word));
    } else if (strides[0] == 1 && strides[1] == 0) {
      functions.repeat(from, to, count);
    } else if (strides[0] == 1 && strides[1] == -1) {
      functions.reverse(from, to, count);
    } else {
      for (int64_t i = 0; i < count; ++i) to[i * strides[0]] = from[i * strides[1]];
    }
  });
}

// The dimension that src's elements lie next to each other in while dst's do in dimension 0, or 0.
int transposed_dim(const IteratePlan& plan) {
  if (plan.strides[0][0] != 1 || plan.strides[0][1] < 2) return 0;
  for (int d = 1; d < plan.dims; ++d) {
    if (plan.strides[d][1] == 1) return d;
  }
  return 0;
}

constexpr int64_t tile = 64;

// A plan over tiles of dimensions 0 and `other`; operands 2 and 3 are the tile's first indices in them.
IteratePlan tile_plan(const IteratePlan& plan, int other) {
  IteratePlan tiles = plan;
  tiles.operands = 4;
  for (int d = 0; d < plan.dims; ++d) tiles.strides[d][2] = tiles.strides[d][3] = 0;
  for (const int d : {0, other}) {
    tiles.numel = tiles.numel / plan.sizes[d] * ((plan.sizes[d] + tile - 1) / tile);
    tiles.sizes[d] = (plan.sizes[d] + tile - 1) / tile;
    tiles.strides[d][0] *= tile, tiles.strides[d][1] *= tile;
    tiles.strides[d][d == 0 ? 2 : 3] = tile;
  }
  return tiles;
}

template <class Word>
void transpose(const IteratePlan& plan, int other, Word* dst, const Word* src) {
  const IteratePlan tiles = tile_plan(plan, other);
  const int64_t src_stride = plan.strides[0][1], dst_stride = plan.strides[other][0];
  const auto transpose_tile = simd::move_functions(sizeof(Word)).transpose;
  parallel_for(tiles.numel, 4, [&](int64_t begin, int64_t end) {
    visit_rows(tiles, begin, end, [&](const int64_t* offsets, int64_t count, const int64_t* strides) {
      for (int64_t i = 0; i < count; ++i) {
        const int64_t row = offsets[2] + i * strides[2], column = offsets[3] + i * strides[3];
        const int64_t rows = std::min(tile, plan.sizes[0] - row);
        const int64_t columns = std::min(tile, plan.sizes[other] - column);
        transpose_tile(src + offsets[1] + i * strides[1], src_stride, dst + offsets[0] + i * strides[0],
                       dst_stride, rows, columns);
      }
    });
  });
}

template <class Word>
void move(const IteratePlan& plan, void* dst, const void* src) {
  const int other = transposed_dim(plan);
  if (other)
    transpose(plan, other, static_cast<Word*>(dst), static_cast<const Word*>(src));
  else
    move_rows(plan, static_cast<Word*>(dst), static_cast<const Word*>(src));
}

void copy_cpu(const IteratePlan& plan, DType to, void* dst, DType from, const void* src) {
  if (to == from) return dispatch_words(to, [&]<class Word>() { move<Word>(plan, dst, src); });
  const ConvertRow convert = convert_row(from, to);
  const auto to_bytes = static_cast<int64_t>(size_of(to)), from_bytes = static_cast<int64_t>(size_of(from));
  for_each_row(plan, [=](const int64_t* offsets, int64_t count, const int64_t* strides) {
    convert(static_cast<const char*>(src) + offsets[1] * from_bytes, strides[1],
            static_cast<char*>(dst) + offsets[0] * to_bytes, strides[0], count);
  });
}

}  // namespace

void copy(const Tensor& src, const Tensor& dst) {
  check(broadcast_shapes(src.shape(), dst.shape(), "copy") == dst.shape(), "copy: ", src.shape(),
        " does not broadcast to ", dst.shape());
  check_device_kernels(src.device(), "copy");
  check_device_kernels(dst.device(), "copy");
  check_no_overlap(dst, "copy");
  if (is_read_after_written(src, dst)) return copy(clone(src), dst);
  dst.bump_version();
  const IteratePlan plan = make_plan(dst.shape(), {&dst.layout(), &src.layout()});
  copy_cpu(plan, dst.dtype(), dst.data(), src.dtype(), src.data());
}

Tensor contiguous(const Tensor& x, MemoryFormat format) {
  if (format == MemoryFormat::contiguous ? x.is_contiguous() : x.is_channels_last()) return x;
  const Tensor y = empty(x.shape(), x.dtype(), x.device(), format);
  copy(x, y);
  return y;
}

Tensor to(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  const Tensor y = empty_like(x, dtype);
  copy(x, y);
  return y;
}

Tensor to(const Tensor& x, Device device) {
  if (x.device() == device) return x;
  const Tensor y = empty_strided(x.shape(), x.layout().strides_like(), x.dtype(), device);
  copy(x, y);
  return y;
}

Tensor clone(const Tensor& x) {
  const Tensor y = empty_like(x);
  copy(x, y);
  return y;
}

}  // namespace tern::kernels
