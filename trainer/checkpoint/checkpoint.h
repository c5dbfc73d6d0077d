// SPDX-License-Identifier: Apache-2.0
// Checkpoints on a file system that all ranks share:
//
//   <folder>/run-<N>/step-<S>/center.bin       the center variable, n floats
//                             worker-<r>.bin   rank r's parameters and velocity, 2 * n floats
//                             manifest.json    what it is, with the size and CRC-32 of each file; written last
//
// A checkpoint is whole when its manifest is there and every file agrees with it. Files are written under step-<S>.tmp,
// flushed, and renamed with their folder, so that a crash or a full disk leaves the one before as it was. Floats are
// little-endian IEEE 754, as the processors are that this runs on.
//
// Any thread; one writer for each file.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace sinew::trainer {

// What must be the same for training to go on from a checkpoint, and where it stood.
struct Position {
  std::string model;
  std::string algorithm;
  int64_t parameters = 0;
  int64_t samples = 0;     // of the training set
  uint64_t seed = 0;
  int batch_size = 0;
  int workers = 0;
  int64_t step = 0;        // steps finished, over all epochs
  int64_t epoch = 0;       // epochs finished
  int64_t epoch_step = 0;  // steps finished of the epoch after those
  double accuracy = -1;    // of the center on the test set at the last evaluation; below 0 = none
};

struct FileSum {
  std::string name;
  uint64_t bytes = 0;
  uint32_t crc = 0;
};

// Makes `run_folder`/step-<S>.tmp, empty also if an earlier process left one. Call on one rank, before the others write.
absl::Status BeginCheckpoint(const std::string& run_folder, int64_t step);
// Writes one file of it and flushes it to the disk.
absl::StatusOr<FileSum> WritePart(const std::string& run_folder, int64_t step, const std::string& name,
                                  std::span<const std::span<const float>> parts);
// Once all parts are written, on one rank: the manifest, and the name that makes it whole. Then removes all but the
// newest `keep` of this run, and those of earlier runs once this run has `keep`. Returns its folder.
absl::StatusOr<std::string> CommitCheckpoint(const std::string& run_folder, const Position& position,
                                             const std::vector<FileSum>& files, int keep);

struct Found {
  std::string folder;
  Position position;
  std::vector<FileSum> files;
};
// The newest whole checkpoint below `folder` (of any run), every file of it read and compared; those that are not whole
// are passed over, and each is told of in `skipped`. NOT_FOUND when there is none.
absl::StatusOr<Found> FindCheckpoint(const std::string& folder, std::vector<std::string>* skipped);

// The floats of one of its files, checked against size and CRC: DATA_LOSS names the file.
absl::Status ReadPart(const Found& from, const std::string& name, std::span<const std::span<float>> parts);

// OK when training described by `now` can go on from `then`; otherwise the field that differs, with both values.
// The number of workers may differ.
absl::Status CheckSameTraining(const Position& then, const Position& now);

}  // namespace sinew::trainer
