// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/dataset.h"

#include <cmath>
#include <utility>

#include "base/status_macros.h"
#include "trainer/data/idx.h"

namespace sinew::trainer {
namespace {

absl::StatusOr<ImageSet> ReadPart(const std::string& prefix, int rows, int columns, int classes) {
  const std::string images_path = prefix + "-images-idx3-ubyte", labels_path = prefix + "-labels-idx1-ubyte";
  ASSIGN_OR_RETURN(IdxArray labels, ReadIdx(labels_path, 1));
  ASSIGN_OR_RETURN(IdxArray images, ReadIdx(images_path, 3));
  if (images.dimensions[0] != labels.dimensions[0]) {
    return absl::InvalidArgumentError(images_path + " holds " + std::to_string(images.dimensions[0]) +
                                      " images, but " + labels_path + " holds " +
                                      std::to_string(labels.dimensions[0]) + " labels");
  }
  if (images.dimensions[1] != static_cast<uint32_t>(rows) || images.dimensions[2] != static_cast<uint32_t>(columns)) {
    return absl::InvalidArgumentError(images_path + " holds images of " + std::to_string(images.dimensions[1]) + "x" +
                                      std::to_string(images.dimensions[2]) + "; the model takes " +
                                      std::to_string(rows) + "x" + std::to_string(columns));
  }
  for (std::size_t i = 0; i < labels.bytes.size(); ++i) {
    if (labels.bytes[i] < classes) continue;
    return absl::InvalidArgumentError(labels_path + ": label " + std::to_string(i) + " is " +
                                      std::to_string(labels.bytes[i]) + "; the model knows 0 to " +
                                      std::to_string(classes - 1));
  }
  return ImageSet(rows, columns, std::move(images.bytes), std::move(labels.bytes));
}

}  // namespace

ImageSet::ImageSet(int rows, int columns, std::vector<uint8_t> images, std::vector<uint8_t> labels)
    : rows_(rows), columns_(columns), images_(std::move(images)), labels_(std::move(labels)) {}

Normalisation ImageSet::Measure() const {
  uint64_t sum = 0, squares = 0;
  for (const uint8_t p : images_) {
    sum += p;
    squares += uint64_t{p} * p;
  }
  if (images_.empty()) return {};
  const double n = static_cast<double>(images_.size()), mean = static_cast<double>(sum) / n;
  const double variance = static_cast<double>(squares) / n - mean * mean;
  return {static_cast<float>(mean / 255), variance > 0 ? static_cast<float>(std::sqrt(variance) / 255) : 1.0f};
}

void ImageSet::Batch(std::span<const int64_t> items, Normalisation n, std::span<float> pixels,
                     std::span<uint8_t> labels) const {
  float value[256];
  for (int p = 0; p < 256; ++p) value[p] = (static_cast<float>(p) / 255 - n.mean) / n.deviation;
  const std::size_t size = static_cast<std::size_t>(rows_) * static_cast<std::size_t>(columns_);
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::size_t item = static_cast<std::size_t>(items[i]);
    labels[i] = labels_[item];
    const uint8_t* from = images_.data() + item * size;
    float* to = pixels.data() + i * size;
    for (std::size_t k = 0; k < size; ++k) to[k] = value[from[k]];
  }
}

absl::StatusOr<Dataset> ReadIdxDataset(const std::string& folder, int rows, int columns, int classes) {
  ASSIGN_OR_RETURN(ImageSet train, ReadPart(folder + "/train", rows, columns, classes));
  ASSIGN_OR_RETURN(ImageSet test, ReadPart(folder + "/t10k", rows, columns, classes));
  const Normalisation normalisation = train.Measure();
  return Dataset{std::move(train), std::move(test), normalisation};
}

}  // namespace sinew::trainer
