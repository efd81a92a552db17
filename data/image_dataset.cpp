#include <tern/data/image_dataset.h>

namespace tern::data {

ImageDataset::ImageDataset(Tensor images, Tensor labels, Compose transform, std::vector<std::string> classes)
    : images_(std::move(images)),
      labels_(std::move(labels)),
      transform_(std::move(transform)),
      classes_(std::move(classes)) {
  check(images_.dim() == 4 && images_.dtype() == uint8 && images_.is_contiguous(),
        "ImageDataset: images must be contiguous uint8 [N, C, H, W], got ", images_.shape(), " of ",
        images_.dtype());
  check(labels_.shape() == Shape{images_.shape()[0]} && labels_.dtype() == int64 && labels_.is_contiguous(),
        "ImageDataset: labels must be int64 [", images_.shape()[0], "], got ", labels_.shape(), " of ",
        labels_.dtype());
  check(images_.device().is_cpu() && labels_.device().is_cpu(),
        "ImageDataset: images and labels must lie on the CPU");
  Shape source = images_.shape();
  source.erase(0);
  pipeline_ = ImagePipeline::make(transform_, source);
}

Example ImageDataset::get(int64_t index, PhiloxStream& random) const {
  check(index >= 0 && index < size(), "ImageDataset: there is no sample ", index, " among ", size());
  return {transform_(images_.with_layout(images_.layout().select(0, index)), random),
          scalar(labels_.data<int64_t>()[index])};
}

void ImageDataset::get_batch(BatchWriter& batch) const {
  if (!pipeline_) return stack_samples(*this, batch);
  Shape shape = pipeline_->shape();
  const int64_t pixels = shape.numel(), source_pixels = images_.layout().strides[0];
  shape.insert(0, batch.size());
  float* images = batch.make(0, Layout(shape, MemoryFormat::channels_last), float32).data<float>();
  int64_t* labels = batch.make(1, Layout({batch.size()}), int64).data<int64_t>();
  const uint8_t* source = images_.data<uint8_t>();
  const int64_t* source_labels = labels_.data<int64_t>();
  for (int64_t row = 0; row < batch.size(); ++row) {
    PhiloxStream random = batch.start(row);
    const int64_t index = batch.index(row);
    pipeline_->write(source + index * source_pixels, random, images + row * pixels);
    labels[row] = source_labels[index];
  }
}

ImageDataset ImageDataset::take(int64_t count) const {
  check(count >= 0 && count <= size(), "take: ", count, " of ", size(), " images");
  return {images_.with_layout(images_.layout().slice(0, 0, count, 1)),
          labels_.with_layout(labels_.layout().slice(0, 0, count, 1)), transform_, classes_};
}

}  // namespace tern::data
