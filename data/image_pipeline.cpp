#include <tern/data/image_pipeline.h>

#include <algorithm>

namespace tern::data {
namespace {

constexpr int64_t byte_values = 256;

Window place_by(const std::vector<Transform>& placing, const Shape& source, PhiloxStream& random) {
  Window window(source[0], source[1], source[2]);
  for (const Transform& step : placing) std::get<Transform::Placing>(step.step()).place(window, random);
  return window;
}

std::vector<float> make_table(const std::vector<Transform::Mapped>& mapping, int64_t channels) {
  DType dtype = uint8;
  for (const Transform::Mapped& step : mapping) step.require(dtype, channels), dtype = float32;
  std::vector<float> table;
  for (int64_t c = 0; c < channels; ++c) {
    for (int64_t byte = 0; byte < byte_values; ++byte) {
      float value = static_cast<float>(byte);
      for (const Transform::Mapped& step : mapping) value = step.map(value, c);
      table.push_back(value);
    }
  }
  return table;
}

// One row of an image: columns [begin, end) come from the source, the rest is 0.
struct Row {
  const uint8_t* source;  // of column `begin`, channel 0
  int64_t step;           // from column to column: 1, or -1 when flipped
  int64_t plane;          // from channel to channel; 0 repeats the one there is
  int64_t begin, end, width;
};

template <int64_t fixed_channels>
void write_row(const Row& row, const float* table, int64_t channels, float* target) {
  if constexpr (fixed_channels > 0) channels = fixed_channels;
  const auto blank = [&](int64_t begin, int64_t end) {
    for (int64_t x = begin; x < end; ++x) {
      for (int64_t c = 0; c < channels; ++c) target[x * channels + c] = table[c * byte_values];
    }
  };
  blank(0, row.begin);
  const uint8_t* source = row.source;
  for (int64_t x = row.begin; x < row.end; ++x, source += row.step) {
    for (int64_t c = 0; c < channels; ++c)
      target[x * channels + c] = table[c * byte_values + source[c * row.plane]];
  }
  blank(row.end, row.width);
}

}  // namespace

std::optional<ImagePipeline> ImagePipeline::make(const Compose& chain, const Shape& source) {
  std::vector<Transform> placing;
  std::vector<Transform::Mapped> mapping;
  for (const Transform& step : chain.steps()) {
    if (std::holds_alternative<Transform::General>(step.step())) return std::nullopt;
    if (const auto* mapped = std::get_if<Transform::Mapped>(&step.step())) {
      mapping.push_back(*mapped);
    } else {
      if (!mapping.empty()) return std::nullopt;  // zeros put in after a mapping are not the table's
      placing.push_back(step);
    }
  }
  if (mapping.empty()) return std::nullopt;
  PhiloxStream any(0, 0);
  const Window window = place_by(placing, source, any);
  return ImagePipeline(source, {window.channels, window.height, window.width}, std::move(placing),
                       make_table(mapping, window.channels));
}

Window ImagePipeline::place(PhiloxStream& random) const {
  const Window window = place_by(placing_, source_, random);
  check(Shape{window.channels, window.height, window.width} == shape_,
        "transform: images of a batch must have one shape, got ", shape_, " and ",
        Shape{window.channels, window.height, window.width});
  return window;
}

void ImagePipeline::write(const uint8_t* source, PhiloxStream& random, float* target) const {
  const Window window = place(random);
  const int64_t channels = shape_[0], width = shape_[2], source_width = source_[2];
  const int64_t first = std::clamp<int64_t>(window.seen.left - window.left, 0, width);
  const int64_t last = std::clamp<int64_t>(window.seen.right - window.left, first, width);
  Row row{nullptr, window.flipped ? -1 : 1, source_[0] == 1 ? 0 : source_[1] * source_width, first, last,
          width};
  if (window.flipped) row.begin = width - last, row.end = width - first;
  const int64_t start = window.left + (window.flipped ? last - 1 : first);
  for (int64_t y = 0; y < shape_[1]; ++y, target += width * channels) {
    Row this_row = row;
    const int64_t source_y = window.top + y;
    if (source_y < window.seen.top || source_y >= window.seen.bottom || first == last)
      this_row.begin = this_row.end = width;
    else
      this_row.source = source + source_y * source_width + start;
    if (channels == 3)
      write_row<3>(this_row, table_.data(), channels, target);
    else if (channels == 1)
      write_row<1>(this_row, table_.data(), channels, target);
    else
      write_row<0>(this_row, table_.data(), channels, target);
  }
}

}  // namespace tern::data
