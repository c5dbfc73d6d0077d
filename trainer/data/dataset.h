// SPDX-License-Identifier: Apache-2.0
// Labelled images, in memory as bytes; normalised when a batch is made.
//
// Threads: const calls from any.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

namespace sinew::trainer {

// Pixels p become (p / 255 - mean) / deviation.
struct Normalisation {
  float mean = 0;
  float deviation = 1;
};

class ImageSet {
 public:
  // images: labels.size() x rows x columns.
  ImageSet(int rows, int columns, std::vector<uint8_t> images, std::vector<uint8_t> labels);

  int64_t size() const { return static_cast<int64_t>(labels_.size()); }
  int rows() const { return rows_; }
  int columns() const { return columns_; }

  // Of all pixels, from exact integer sums: the same bits everywhere. The deviation is 1 where all are equal.
  Normalisation Measure() const;

  // The samples of those indices, one after another. pixels: items.size() x rows x columns; labels: items.size().
  void Batch(std::span<const int64_t> items, Normalisation n, std::span<float> pixels, std::span<uint8_t> labels) const;

 private:
  int rows_, columns_;
  std::vector<uint8_t> images_, labels_;
};

struct Dataset {
  ImageSet train;
  ImageSet test;
  Normalisation normalisation;  // measured on train
};

// `folder` holds {train,t10k}-{images-idx3,labels-idx1}-ubyte, each plain or with .gz. Errors are ReadIdx's, and
// INVALID_ARGUMENT for files that do not fit each other or a model of rows x columns and `classes` labels.
absl::StatusOr<Dataset> ReadIdxDataset(const std::string& folder, int rows, int columns, int classes);

}  // namespace sinew::trainer
