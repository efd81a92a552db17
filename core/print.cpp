#include <tern/core/tensor.h>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <string>
#include <vector>

namespace tern {
namespace {

// The rules and numbers are PyTorch's, so that its users find what they know.
constexpr int64_t summary_threshold = 1000, edge_items = 3, line_width = 80;
constexpr std::string_view prefix = "tensor(";

// Dimension `dim` is cut to its first and last items.
bool is_cut(const Shape& shape, int64_t dim, bool summarize) {
  return summarize && shape[dim] > 2 * edge_items;
}

// Calls item(i) for the shown items of a dimension, and gap() where some are left out.
template <class Item, class Gap>
void for_shown(const Shape& shape, int64_t dim, bool summarize, const Item& item, const Gap& gap) {
  const int64_t size = shape[dim];
  const bool cut = is_cut(shape, dim, summarize);
  for (int64_t i = 0; i < (cut ? edge_items : size); ++i) item(i);
  if (!cut) return;
  gap();
  for (int64_t i = size - edge_items; i < size; ++i) item(i);
}

void collect(const Layout& layout, int64_t dim, int64_t place, bool summarize, std::vector<int64_t>& places) {
  if (dim == layout.dim()) return places.push_back(place);
  for_shown(
      layout.shape, dim, summarize,
      [&](int64_t i) { collect(layout, dim + 1, place + i * layout.strides[dim], summarize, places); },
      [] {});
}

std::string non_finite(double value) { return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"; }

// How all values are written: as integers with a point, with four digits after it, or with an exponent.
struct FloatFormat {
  enum { integer, fixed, scientific } kind = integer;

  explicit FloatFormat(const std::vector<double>& values) {
    double smallest = INFINITY, largest = 0;
    bool integers = true;
    for (const double value : values) {
      if (!std::isfinite(value) || value == 0) continue;
      smallest = std::min(smallest, std::abs(value));
      largest = std::max(largest, std::abs(value));
      integers &= value == std::ceil(value);
    }
    if (largest == 0) return;
    const bool wide = largest / smallest > 1000 || largest > 1e8 || (!integers && smallest < 1e-4);
    kind = wide ? scientific : integers ? integer : fixed;
  }

  std::string operator()(double value) const {
    if (!std::isfinite(value)) return non_finite(value);
    if (kind == scientific) return fmt::format("{:.4e}", value);
    return kind == integer ? fmt::format("{:.0f}.", value) : fmt::format("{:.4f}", value);
  }
};

template <class T>
std::vector<std::string> written(const T* data, const std::vector<int64_t>& places) {
  std::vector<std::string> cells;
  if constexpr (std::is_same_v<T, bool>) {
    for (const int64_t place : places) cells.push_back(data[place] ? "True" : "False");
  } else if constexpr (std::is_integral_v<T>) {
    for (const int64_t place : places) cells.push_back(std::to_string(data[place]));
  } else {
    std::vector<double> values;
    for (const int64_t place : places) {
      if constexpr (std::is_same_v<T, double>)
        values.push_back(data[place]);
      else
        values.push_back(static_cast<float>(data[place]));
    }
    const FloatFormat format(values);
    for (const double value : values) cells.push_back(format(value));
  }
  return cells;
}

class Writer {
 public:
  Writer(const Shape& shape, bool summarize, std::vector<std::string> cells)
      : shape_(shape), summarize_(summarize), cells_(std::move(cells)) {
    for (const std::string& cell : cells_) width_ = std::max(width_, cell.size());
  }

  std::string write() {
    text_ = prefix;
    if (shape_.dim() == 0)
      text_ += cells_[0];
    else if (cells_.empty())
      text_ += "[]";
    else
      write_dim(0);
    return std::move(text_);
  }

 private:
  void write_dim(int64_t dim) {
    const auto indent = prefix.size() + static_cast<size_t>(dim) + 1;
    if (dim == shape_.dim() - 1) return write_row(indent);
    const auto newlines = static_cast<size_t>(shape_.dim() - dim - 1);
    const std::string separator = ',' + std::string(newlines, '\n') + std::string(indent, ' ');
    bool first = true;
    const auto separate = [&] { text_ += std::exchange(first, false) ? "" : separator; };
    text_ += '[';
    for_shown(
        shape_, dim, summarize_, [&](int64_t) { separate(), write_dim(dim + 1); },
        [&] { separate(), text_ += "..."; });
    text_ += ']';
  }

  void write_row(size_t indent) {
    const size_t room = line_width > indent ? (line_width - indent + 1) / (width_ + 2) : 0;
    const size_t per_line = std::max<size_t>(1, room);
    size_t count = 0;
    const auto separate = [&] {
      if (count > 0) text_ += count % per_line ? ", " : ",\n" + std::string(indent, ' ');
      ++count;
    };
    text_ += '[';
    for_shown(
        shape_, shape_.dim() - 1, summarize_,
        [&](int64_t) { separate(), text_ += fmt::format("{:>{}}", cells_[next_++], width_); },
        [&] { separate(), text_ += " ..."; });
    text_ += ']';
  }

  const Shape& shape_;
  bool summarize_;
  std::vector<std::string> cells_;
  size_t width_ = 1, next_ = 0;
  std::string text_;
};

// Adds ", suffix", on a new line when the last one is full.
void append_suffix(std::string& text, const std::string& suffix) {
  const size_t newline = text.rfind('\n');
  const size_t last_line = newline == std::string::npos ? text.size() : text.size() - newline - 1;
  const bool fits = last_line + suffix.size() + 3 <= line_width;
  text += (fits ? ", " : ",\n" + std::string(prefix.size(), ' ')) + suffix;
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Tensor& x) {
  if (!x.defined()) return out << prefix << "undefined)";
  check(x.device().is_cpu(), "operator<<: the tensor is on ", x.device(), "; copy it to the CPU first");
  const bool summarize = x.numel() > summary_threshold;
  std::vector<int64_t> places;
  if (x.numel() > 0) collect(x.layout(), 0, 0, summarize, places);
  auto cells = dispatch(x.dtype(), [&]<class T>() { return written(x.data<T>(), places); });

  std::string text = Writer(x.shape(), summarize, std::move(cells)).write();
  if (x.numel() == 0 && x.dim() != 1) {
    std::ostringstream shape;
    shape << "shape=" << x.shape();
    append_suffix(text, shape.str());
  }
  append_suffix(text, "dtype=" + std::string(name(x.dtype())));
  if (x.device() != Device{}) append_suffix(text, "device=" + to_string(x.device()));
  if (x.requires_grad()) append_suffix(text, "requires_grad=True");
  return out << text << ')';
}

}  // namespace tern
