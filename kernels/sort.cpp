#include <tern/kernels/sort.h>

#include <tern/kernels/checks.h>
#include <tern/kernels/copy.h>
#include <tern/kernels/lines.h>

#include <algorithm>
#include <bit>

namespace tern::kernels {
namespace {

template <size_t bytes>
using Bits = std::conditional_t<
    bytes == 1, uint8_t,
    std::conditional_t<bytes == 2, uint16_t, std::conditional_t<bytes == 4, uint32_t, uint64_t>>>;

// An unsigned number that is ordered as x is: NaN is largest, -0 equals 0.
template <class T>
Bits<sizeof(T)> key_of(T x) {
  using U = Bits<sizeof(T)>;
  constexpr U sign = U(1) << (8 * sizeof(T) - 1);
  if constexpr (std::is_same_v<T, bool> || std::is_same_v<T, uint8_t>) return x;
  const U bits = std::bit_cast<U>(x);
  if constexpr (std::is_integral_v<T>) return bits ^ sign;
  // No branches: compilers turn them into selections, and vectorise.
  const U number = bits == sign ? U(0) : bits;
  const U key = static_cast<U>(number & sign ? ~number : number | sign);
  return x == x ? key : static_cast<U>(-1);
}

// The keys of elements at distance `step`, with all bits turned to descend.
template <class T, class U>
void write_keys(const T* x, int64_t step, U flip, int64_t count, U* keys) {
  for (int64_t i = 0; i < count; ++i) keys[i] = static_cast<U>(key_of(x[i * step]) ^ flip);
}

// An element by its key and its place along the dimension: no two are equal.
template <class U>
struct Entry {
  U key;
  int64_t place;
  bool operator<(const Entry& other) const {
    return key != other.key ? key < other.key : place < other.place;
  }
};

constexpr int64_t few_entries = 512, few_wanted = 64;

// Sorts by one byte of the key after the other, from the lowest up; entries come in order of their places and
// equal keys keep it. `other` is as long as `entries`. Returns which of the two holds the result.
template <class U>
Entry<U>* radix_sort(Entry<U>* entries, Entry<U>* other, int64_t count) {
  int64_t starts[sizeof(U)][256] = {};
  for (int64_t i = 0; i < count; ++i)
    for (size_t byte = 0; byte < sizeof(U); ++byte) ++starts[byte][entries[i].key >> (8 * byte) & 255];
  for (size_t byte = 0; byte < sizeof(U); ++byte) {
    int64_t* start = starts[byte];
    if (start[entries[0].key >> (8 * byte) & 255] == count) continue;  // all have this byte in common
    int64_t sum = 0;
    for (int digit = 0; digit < 256; ++digit) sum += start[digit], start[digit] = sum - start[digit];
    for (int64_t i = 0; i < count; ++i) other[start[entries[i].key >> (8 * byte) & 255]++] = entries[i];
    std::swap(entries, other);
  }
  return entries;
}

template <class U>
Entry<U>* sort_entries(Entry<U>* entries, Entry<U>* other, int64_t count) {
  if (count >= few_entries) return radix_sort(entries, other, count);
  std::sort(entries, entries + count);
  return entries;
}

// Elements whose keys are worked out at a time.
constexpr int64_t key_run = 32;

// The first `wanted` in order. write(start, size, keys) gives the keys of a run.
template <class U, class Write>
Entry<U>* select_entries(Entry<U>* entries, Entry<U>* other, int64_t count, int64_t wanted,
                         const Write& write) {
  for (int64_t start = 0; start < count; start += key_run) {
    const int64_t size = std::min(key_run, count - start);
    U keys[key_run];
    write(start, size, keys);
    for (int64_t i = 0; i < size; ++i) entries[start + i] = {keys[i], start + i};
  }
  if (wanted == count) return sort_entries(entries, other, count);
  std::nth_element(entries, entries + wanted, entries + count);
  std::sort(entries, entries + wanted);
  return entries;
}

// The same for a few of many: the first ones so far in order, into which ever fewer elements are inserted.
template <class U, class Write>
Entry<U>* select_few(Entry<U>* kept, int64_t count, int64_t wanted, const Write& write) {
  int64_t size = 0;
  for (int64_t start = 0; start < count; start += key_run) {
    const int64_t run = std::min(key_run, count - start);
    U keys[key_run];
    write(start, run, keys);
    const U last = size < wanted ? U(0) : kept[wanted - 1].key;
    bool any = size < wanted;
    for (int64_t i = 0; i < run; ++i) any |= keys[i] < last;
    for (int64_t i = 0; any && i < run; ++i) {
      if (size == wanted && keys[i] >= kept[wanted - 1].key) continue;
      int64_t at = size < wanted ? size++ : wanted - 1;
      for (; at > 0 && keys[i] < kept[at - 1].key; --at) kept[at] = kept[at - 1];
      kept[at] = {keys[i], start + i};
    }
  }
  return kept;
}

// The first elements along `dim` of a contiguous x, as many as `result` has.
template <class T>
void order(const Tensor& x, int64_t dim, bool descending, const ValuesAndIndices& result) {
  using U = Bits<sizeof(T)>;
  const Lines from(x.shape(), dim), to(result.values.shape(), dim);
  const T* read = x.data<T>();
  T* values = result.values.data<T>();
  int64_t* indices = result.indices.data<int64_t>();
  const U flip = descending ? static_cast<U>(-1) : U(0);
  const bool few = to.size <= std::min(few_wanted, from.size / 16);
  parallel_for(to.count(), from.per_block(), [&](int64_t begin, int64_t end) {
    const int64_t size = few ? to.size : 2 * from.size;
    const Tensor scratch =
        empty({size, static_cast<int64_t>(sizeof(Entry<U>))}, uint8, result.values.device());
    auto* entries = static_cast<Entry<U>*>(scratch.data());
    for (int64_t line = begin; line < end; ++line) {
      const T* start = read + from.start(line);
      const auto write = [&](int64_t first, int64_t count, U* keys) {
        write_keys(start + first * from.inner, from.inner, flip, count, keys);
      };
      const Entry<U>* sorted = few ? select_few(entries, from.size, to.size, write)
                                   : select_entries(entries, entries + from.size, from.size, to.size, write);
      const int64_t at = to.start(line);
      for (int64_t i = 0; i < to.size; ++i) {
        values[at + i * to.inner] = start[sorted[i].place * from.inner];
        indices[at + i * to.inner] = sorted[i].place;
      }
    }
  });
}

ValuesAndIndices first_in_order(const Tensor& x, int64_t dim, int64_t count, bool descending) {
  const Shape shape = with_size(x.shape(), dim, count);
  const ValuesAndIndices result{empty(shape, x.dtype(), x.device()), empty(shape, int64, x.device())};
  if (shape.numel() == 0) return result;
  const Tensor input = contiguous(x);
  dispatch(x.dtype(), [&]<class T>() { order<T>(input, dim, descending, result); });
  return result;
}

}  // namespace

ValuesAndIndices sort(const Tensor& x, int64_t dim, bool descending) {
  check_device_kernels(x.device(), "sort");
  dim = normalize_dim(dim, x.dim(), "sort");
  return first_in_order(x, dim, size_along(x.shape(), dim), descending);
}

ValuesAndIndices topk(const Tensor& x, int64_t k, int64_t dim, bool largest) {
  check_device_kernels(x.device(), "topk");
  dim = normalize_dim(dim, x.dim(), "topk");
  const int64_t size = size_along(x.shape(), dim);
  check(k >= (x.dim() ? 0 : 1) && k <= size, "topk: k must be from ", x.dim() ? 0 : 1, " to ", size,
        " in dimension ", dim, " of shape ", x.shape(), ", got ", k);
  return first_in_order(x, dim, k, largest);
}

}  // namespace tern::kernels
