#include <tern/kernels/channel_passes.h>

#include <tern/core/thread_pool.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/simd/normalization.h>

#include <algorithm>

namespace tern::kernels {
namespace {

constexpr int64_t tile_elements = 32768, tile_columns = 512, merged_at_once = 256;

// x as [samples][outer][channels][inner], cut into tiles: rows of channels where these are the innermost
// dimension (inner = 1), otherwise runs of one channel. A statistic is put together from `parts`.
struct Channels {
  int64_t samples, outer, channels, inner;
  int64_t rows = 1, run = 1;  // of a tile
  int64_t row_blocks = 1, column_blocks = 1, runs = 1;

  Channels(const Tensor& x, bool per_sample) : channels(x.size(1)), inner(1) {
    for (int64_t d = 2; d < x.dim(); ++d) inner *= x.size(d);
    samples = per_sample ? x.size(0) : 1;
    outer = per_sample ? 1 : x.size(0);
    if (!x.is_contiguous()) outer *= inner, inner = 1;
    if (by_columns()) {
      const int64_t columns = std::clamp<int64_t>(channels, 1, tile_columns);
      rows = std::clamp<int64_t>(tile_elements / columns, 1, std::max<int64_t>(outer, 1));
      row_blocks = (outer + rows - 1) / rows;
      column_blocks = (channels + tile_columns - 1) / tile_columns;
    } else {
      run = std::min(inner, tile_elements);
      runs = run > 0 ? (inner + run - 1) / run : 0;
    }
  }
  bool by_columns() const { return inner == 1; }
  int64_t parts() const { return by_columns() ? row_blocks : outer * runs; }
  int64_t count(int64_t part) const {
    return by_columns() ? std::min(rows, outer - part * rows) : std::min(run, inner - part % runs * run);
  }
  int64_t tiles() const { return samples * parts() * (by_columns() ? column_blocks : channels); }
  int64_t tiles_per_block() const {
    const int64_t size = by_columns() ? rows * std::min(channels, tile_columns) : run;
    return std::max<int64_t>(1, tile_elements / std::max<int64_t>(size, 1));
  }
};

// One tile: a part's elements of `columns` channels from `channel` on, or a run of a single channel.
struct Tile {
  int64_t sample, part, channel;
  int64_t start;  // its first element
  simd::NormTile area;
};

Tile tile_of(const Channels& c, int64_t number) {
  if (c.by_columns()) {
    const int64_t block = number / c.column_blocks, channel = number % c.column_blocks * tile_columns;
    const int64_t sample = block / c.row_blocks, part = block % c.row_blocks;
    return {sample,
            part,
            channel,
            (sample * c.outer + part * c.rows) * c.channels + channel,
            {c.count(part), std::min(tile_columns, c.channels - channel), c.channels}};
  }
  const int64_t run = number % c.runs, line = number / c.runs;
  const int64_t image = line / c.channels, part = image % c.outer * c.runs + run;
  return {image / c.outer, part, line % c.channels, line * c.inner + run * c.run, {1, c.count(part), 0}};
}

template <class Body>
void for_each_tile(const Channels& channels, Body&& body) {
  parallel_for(channels.tiles(), channels.tiles_per_block(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) body(tile_of(channels, i));
  });
}

template <class S>
auto loops() {
  const simd::NormKernels& kernels = simd::norm_kernels();
  if constexpr (std::is_same_v<S, double>)
    return std::pair(kernels.columns64, kernels.row64);
  else
    return std::pair(kernels.columns32, kernels.row32);
}

// Two float64 statistics: what tile(first, second, tile) writes for each part, joined in order by
// join(part, first, second, all first, all second).
template <class PerTile, class Join>
void two_statistics(const Channels& c, const Tensor& first, const Tensor& second, PerTile&& per_tile,
                    Join&& join) {
  const int64_t parts = c.parts(), half = c.samples * parts * c.channels;
  const Tensor partials = empty({2, half}, float64, first.device());
  double *one = partials.data<double>(), *two = one + half;
  for_each_tile(c, [&](const Tile& t) {
    const int64_t at = (t.sample * parts + t.part) * c.channels + t.channel;
    per_tile(t, one + at, two + at);
  });
  double *a = first.data<double>(), *b = second.data<double>();
  std::fill(a, a + first.numel(), 0.0);
  std::fill(b, b + second.numel(), 0.0);
  const int64_t blocks = (c.channels + merged_at_once - 1) / merged_at_once;
  parallel_for(c.samples * blocks, std::max<int64_t>(1, tile_elements / (merged_at_once * (parts + 1))),
               [&](int64_t begin, int64_t end) {
                 for (int64_t block = begin; block < end; ++block) {
                   const int64_t sample = block / blocks, channel = block % blocks * merged_at_once;
                   const int64_t count = std::min(merged_at_once, c.channels - channel);
                   const int64_t to = sample * c.channels + channel;
                   for (int64_t part = 0; part < parts; ++part) {
                     const int64_t from = (sample * parts + part) * c.channels + channel;
                     for (int64_t i = 0; i < count; ++i)
                       join(part, one[from + i], two[from + i], a[to + i], b[to + i]);
                   }
                 }
               });
}

// Where the statistics of a tile's channels begin in [N, C] or [C].
int64_t statistic(const Channels& c, const Tile& t) { return t.sample * c.channels + t.channel; }

Tensor like_statistic(const Tensor& x, bool per_sample) {
  return empty(per_sample ? Shape{x.size(0), x.size(1)} : Shape{x.size(1)}, float64, x.device());
}

// term + (pivot - mean) factor: what rounding the mean to x's dtype left over, put right in double.
Tensor corrected(const Tensor& term, const Tensor& factor, const Tensor& mean, const Tensor& pivot) {
  const Tensor rounded = to(pivot, float64), result = empty(mean.shape(), float64, mean.device());
  const double *t = term.data<double>(), *f = factor.data<double>(), *m = mean.data<double>(),
               *p = rounded.data<double>();
  double* r = result.data<double>();
  for (int64_t i = 0; i < result.numel(); ++i) r[i] = t[i] + (p[i] - m[i]) * f[i];
  return to(result, pivot.dtype());
}

}  // namespace

Tensor channel_order(const Tensor& x) {
  const Tensor dense = x.is_contiguous() || x.is_channels_last() ? x : contiguous(x);
  return to(dense, computing_dtype(x.dtype()));
}

Tensor channel_order_of(const Tensor& x, const Tensor& like) {
  return channel_order(
      contiguous(x, like.is_contiguous() ? MemoryFormat::contiguous : MemoryFormat::channels_last));
}

int64_t values_per_channel(const Tensor& x, bool per_sample) {
  int64_t count = per_sample ? 1 : x.size(0);
  for (int64_t d = 2; d < x.dim(); ++d) count *= x.size(d);
  return count;
}

ChannelMoments channel_moments(const Tensor& x, bool per_sample) {
  const Channels c(x, per_sample);
  const ChannelMoments result{like_statistic(x, per_sample), like_statistic(x, per_sample)};
  dispatch_computing(x.dtype(), [&]<class S>() {
    const auto [columns, row] = loops<S>();
    const S* data = x.data<S>();
    const auto per_tile = [&, moments = columns.moments, of_row = row.moments](const Tile& t, double* mean,
                                                                               double* m2) {
      c.by_columns() ? moments(t.area, data + t.start, mean, m2)
                     : of_row(data + t.start, t.area.columns, mean, m2);
    };
    // All parts but a run's or batch's last hold as many elements.
    const auto join = [&](int64_t part, double mean, double m2, double& all_mean, double& all_m2) {
      const int64_t whole = c.by_columns() ? part * c.rows : part / c.runs * c.inner + part % c.runs * c.run;
      const auto seen = static_cast<double>(whole), count = static_cast<double>(c.count(part));
      const double delta = mean - all_mean;
      all_mean += delta * (count / (seen + count));
      all_m2 += m2 + delta * delta * (seen * count / (seen + count));
    };
    two_statistics(c, result.mean, result.m2, per_tile, join);
  });
  return result;
}

ChannelSums channel_sums(const Tensor& dy, const Tensor& x, const Tensor& mean) {
  const bool per_sample = mean.dim() == 2;
  const Channels c(x, per_sample);
  const ChannelSums result{like_statistic(x, per_sample), like_statistic(x, per_sample)};
  const Tensor pivots = to(mean, x.dtype());
  dispatch_computing(x.dtype(), [&]<class S>() {
    const auto [columns, row] = loops<S>();
    const S *from = x.data<S>(), *upstream = dy.data<S>(), *pivot = pivots.data<S>();
    const double* exact = mean.data<double>();
    const auto per_tile = [&, sums = columns.sums, of_row = row.sums](const Tile& t, double* sum,
                                                                      double* product) {
      const int64_t at = statistic(c, t);
      const int64_t channels = c.by_columns() ? t.area.columns : 1;
      c.by_columns()
          ? sums(t.area, upstream + t.start, from + t.start, pivot + at, sum, product)
          : of_row(upstream + t.start, from + t.start, nullptr, t.area.columns, pivot[at], sum, product);
      for (int64_t i = 0; i < channels; ++i)
        product[i] += (static_cast<double>(pivot[at + i]) - exact[at + i]) * sum[i];
    };
    two_statistics(c, result.dy, result.dy_offset, per_tile,
                   [](int64_t, double sum, double product, double& all_sum, double& all_product) {
                     all_sum += sum, all_product += product;
                   });
  });
  return result;
}

Tensor channel_normalize(const Tensor& x, const Tensor& mean, const Tensor& scale, const Tensor& shift) {
  const Channels c(x, mean.dim() == 2);
  const Tensor y = empty_like(x), pivots = to(mean, x.dtype()), scales = to(scale, x.dtype()),
               shifts = corrected(shift, scale, mean, pivots);
  dispatch_computing(x.dtype(), [&]<class S>() {
    const auto [columns, row] = loops<S>();
    const S *from = x.data<S>(), *pivot = pivots.data<S>(), *factor = scales.data<S>(),
            *term = shifts.data<S>();
    S* out = y.data<S>();
    for_each_tile(c, [&, all = columns.normalize, one = row.normalize](const Tile& t) {
      const int64_t at = statistic(c, t);
      c.by_columns() ? all(t.area, from + t.start, pivot + at, factor + at, term + at, out + t.start)
                     : one(from + t.start, t.area.columns, pivot[at], factor[at], term[at], nullptr, nullptr,
                           out + t.start);
    });
  });
  return y;
}

Tensor channel_gradient(const Tensor& dy, const Tensor& x, const Tensor& mean, const Tensor& a,
                        const Tensor& b, const Tensor& c) {
  const Channels view(x, mean.dim() == 2);
  const Tensor dx = empty_like(x), pivots = to(mean, x.dtype()), as = to(a, x.dtype()), bs = to(b, x.dtype()),
               cs = corrected(c, b, mean, pivots);
  dispatch_computing(x.dtype(), [&]<class S>() {
    const auto [columns, row] = loops<S>();
    const S *from = x.data<S>(), *upstream = dy.data<S>(), *pivot = pivots.data<S>();
    const S *fa = as.data<S>(), *fb = bs.data<S>(), *fc = cs.data<S>();
    S* out = dx.data<S>();
    for_each_tile(view, [&, all = columns.gradient, one = row.gradient](const Tile& t) {
      const int64_t at = statistic(view, t);
      view.by_columns() ? all(t.area, upstream + t.start, from + t.start, pivot + at, fa + at, fb + at,
                              fc + at, out + t.start)
                        : one(upstream + t.start, from + t.start, nullptr, t.area.columns, pivot[at], fa[at],
                              fb[at], fc[at], out + t.start);
    });
  });
  return dx;
}

}  // namespace tern::kernels
