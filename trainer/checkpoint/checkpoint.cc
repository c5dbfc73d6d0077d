// SPDX-License-Identifier: Apache-2.0
#include "trainer/checkpoint/checkpoint.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <tuple>

#include "absl/strings/numbers.h"
#include "base/errno_status.h"
#include "base/files.h"
#include "base/status_macros.h"
#include "base/unique_fd.h"

namespace sinew::trainer {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;
constexpr char kManifest[] = "manifest.json";

std::string StepName(int64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "step-%010lld", static_cast<long long>(step));
  return name;
}

// The number after `prefix`; -1 for other names.
int64_t NumberOf(const std::string& name, const std::string& prefix) {
  int64_t number = -1;
  if (!name.starts_with(prefix) || !absl::SimpleAtoi(name.substr(prefix.size()), &number)) return -1;
  return number;
}

struct Place {
  int64_t run = 0, step = 0;
  std::string path;
};

// Newest first: a later run went on from an earlier one's steps.
std::vector<Place> AllBelow(const std::string& folder) {
  std::vector<Place> places;
  const auto runs = ListDir(folder);
  if (!runs.ok()) return places;
  for (const std::string& run : *runs) {
    const int64_t number = NumberOf(run, "run-");
    const auto steps = number < 0 ? absl::StatusOr<std::vector<std::string>>(std::vector<std::string>())
                                  : ListDir(folder + "/" + run);
    if (!steps.ok()) continue;
    for (const std::string& step : *steps) {
      if (const int64_t at = NumberOf(step, "step-"); at >= 0) {
        places.push_back({number, at, folder + "/" + run + "/" + step});
      }
    }
  }
  std::sort(places.begin(), places.end(),
            [](const Place& a, const Place& b) { return std::tie(a.run, a.step) > std::tie(b.run, b.step); });
  return places;
}

void RemoveTree(const std::string& path) {
  // Without its manifest it is no checkpoint, however far the removal comes.
  ::unlink((path + "/" + kManifest).c_str());
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

uint32_t Crc(uint32_t crc, std::span<const float> data) {
  return static_cast<uint32_t>(crc32_z(crc, reinterpret_cast<const Bytef*>(data.data()), data.size_bytes()));
}

absl::StatusOr<Found> ReadManifest(const std::string& folder) {
  const std::string path = folder + "/" + kManifest;
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path));
  try {
    const Json json = Json::parse(text);
    if (json.at("format").get<int>() != kFormat) {
      return absl::FailedPreconditionError(path + " is of format " + json.at("format").dump() + "; this trainer reads " +
                                           std::to_string(kFormat));
    }
    Found found;
    found.folder = folder;
    Position& p = found.position;
    p.model = json.at("model").get<std::string>();
    p.algorithm = json.at("algorithm").get<std::string>();
    p.parameters = json.at("parameters").get<int64_t>();
    p.samples = json.at("samples").get<int64_t>();
    p.seed = json.at("seed").get<uint64_t>();
    p.batch_size = json.at("batch_size").get<int>();
    p.workers = json.at("workers").get<int>();
    p.step = json.at("step").get<int64_t>();
    p.epoch = json.at("epoch").get<int64_t>();
    p.epoch_step = json.at("epoch_step").get<int64_t>();
    p.accuracy = json.at("accuracy").is_null() ? -1 : json.at("accuracy").get<double>();
    for (const Json& file : json.at("files")) {
      found.files.push_back({file.at("name").get<std::string>(), file.at("bytes").get<uint64_t>(),
                             file.at("crc32").get<uint32_t>()});
    }
    return found;
  } catch (const Json::exception& e) {
    return absl::DataLossError(path + " cannot be read: " + e.what());
  }
}

// Reads `file` in order into what `next` gives, and compares size and sum.
template <typename Sink>
absl::Status ReadChecked(const std::string& folder, const FileSum& file, const Sink& sink) {
  const std::string path = folder + "/" + file.name;
  if (file.name.find('/') != std::string::npos) return absl::DataLossError(path + " is no name of a part");
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (fd.get() < 0) return ErrnoStatus("open", path);
  struct stat info {};
  if (::fstat(fd.get(), &info) != 0) return ErrnoStatus("stat", path);
  if (static_cast<uint64_t>(info.st_size) != file.bytes) {
    return absl::DataLossError(path + " holds " + std::to_string(info.st_size) + " bytes; its manifest says " +
                               std::to_string(file.bytes));
  }
  std::vector<unsigned char> chunk(1 << 20);
  uint32_t crc = 0;
  while (true) {
    const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return ErrnoStatus("read", path);
    if (got == 0) break;
    crc = static_cast<uint32_t>(crc32_z(crc, chunk.data(), static_cast<std::size_t>(got)));
    sink(chunk.data(), static_cast<std::size_t>(got));
  }
  if (crc != file.crc) return absl::DataLossError(path + " is damaged: its CRC-32 is not the manifest's");
  return absl::OkStatus();
}

}  // namespace

absl::Status BeginCheckpoint(const std::string& run_folder, int64_t step) {
  const std::string path = run_folder + "/" + StepName(step) + ".tmp";
  RemoveTree(path);
  return MakeFolders(path);
}

absl::StatusOr<FileSum> WritePart(const std::string& run_folder, int64_t step, const std::string& name,
                                  std::span<const std::span<const float>> parts) {
  const std::string path = run_folder + "/" + StepName(step) + ".tmp/" + name;
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (fd.get() < 0) return ErrnoStatus("create", path);
  FileSum sum{name, 0, 0};
  for (const std::span<const float> part : parts) {
    const char* at = reinterpret_cast<const char*>(part.data());
    std::size_t left = part.size_bytes();
    while (left > 0) {
      const ssize_t wrote = ::write(fd.get(), at, left);
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return ErrnoStatus("write", path);
      at += wrote;
      left -= static_cast<std::size_t>(wrote);
    }
    sum.bytes += part.size_bytes();
    sum.crc = Crc(sum.crc, part);
  }
  if (::fsync(fd.get()) != 0) return ErrnoStatus("flush", path);
  return sum;
}

absl::StatusOr<std::string> CommitCheckpoint(const std::string& run_folder, const Position& p,
                                             const std::vector<FileSum>& files, int keep) {
  const std::string whole = run_folder + "/" + StepName(p.step), partial = whole + ".tmp";
  Json json = {{"format", kFormat},
               {"model", p.model},
               {"algorithm", p.algorithm},
               {"parameters", p.parameters},
               {"samples", p.samples},
               {"seed", p.seed},
               {"batch_size", p.batch_size},
               {"workers", p.workers},
               {"step", p.step},
               {"epoch", p.epoch},
               {"epoch_step", p.epoch_step},
               {"accuracy", p.accuracy < 0 ? Json(nullptr) : Json(p.accuracy)}};
  for (const FileSum& file : files) {
    json["files"].push_back({{"name", file.name}, {"bytes", file.bytes}, {"crc32", file.crc}});
  }
  RETURN_IF_ERROR(WriteFileAtomic(partial + "/" + kManifest, json.dump(2) + "\n"));
  RETURN_IF_ERROR(FsyncDir(partial));
  RemoveTree(whole);  // of a process that went on from an older checkpoint within the same run
  if (::rename(partial.c_str(), whole.c_str()) != 0) return ErrnoStatus("rename", partial);
  RETURN_IF_ERROR(FsyncDir(run_folder));

  const auto slash = run_folder.find_last_not_of('/');
  const std::string tidy = run_folder.substr(0, slash + 1);
  const int64_t run = NumberOf(tidy.substr(tidy.rfind('/') + 1), "run-");
  int seen = 0;
  for (const Place& place : AllBelow(tidy.substr(0, tidy.rfind('/')))) {
    if (place.run > run) continue;
    if (++seen > keep) RemoveTree(place.path);
  }
  return whole;
}

absl::StatusOr<Found> FindCheckpoint(const std::string& folder, std::vector<std::string>* skipped) {
  for (const Place& place : AllBelow(folder)) {
    absl::StatusOr<Found> found = ReadManifest(place.path);
    absl::Status whole = found.status();
    for (std::size_t i = 0; whole.ok() && i < found->files.size(); ++i) {
      whole = ReadChecked(place.path, found->files[i], [](const unsigned char*, std::size_t) {});
    }
    if (whole.ok()) return found;
    skipped->push_back(place.path + ": " + std::string(whole.message()));
  }
  return absl::NotFoundError("there is no whole checkpoint below " + folder);
}

absl::Status ReadPart(const Found& from, const std::string& name, std::span<const std::span<float>> parts) {
  const auto file = std::find_if(from.files.begin(), from.files.end(), [&](const FileSum& f) { return f.name == name; });
  if (file == from.files.end()) return absl::DataLossError(from.folder + " holds no " + name);
  std::size_t expected = 0;
  for (const std::span<float> part : parts) expected += part.size_bytes();
  if (file->bytes != expected) {
    return absl::DataLossError(from.folder + "/" + name + " holds " + std::to_string(file->bytes) +
                               " bytes; the model needs " + std::to_string(expected));
  }
  std::size_t part = 0, offset = 0;  // in bytes, in that part
  return ReadChecked(from.folder, *file, [&](const unsigned char* data, std::size_t size) {
    while (size > 0 && part < parts.size()) {
      const std::size_t count = std::min(size, parts[part].size_bytes() - offset);
      std::copy_n(data, count, reinterpret_cast<unsigned char*>(parts[part].data()) + offset);
      data += count;
      size -= count;
      offset += count;
      if (offset == parts[part].size_bytes()) {
        ++part;
        offset = 0;
      }
    }
  });
}

absl::Status CheckSameTraining(const Position& then, const Position& now) {
  const auto differ = [](const std::string& field, const std::string& a, const std::string& b) {
    return absl::FailedPreconditionError("the checkpoint was made with " + field + " " + a + ", this job has " + b +
                                         "; give the old value, or start anew with checkpoint.resume: false");
  };
  if (then.model != now.model) return differ("model", then.model, now.model);
  if (then.parameters != now.parameters) {
    return differ("parameters", std::to_string(then.parameters), std::to_string(now.parameters));
  }
  if (then.samples != now.samples) return differ("samples", std::to_string(then.samples), std::to_string(now.samples));
  if (then.seed != now.seed) return differ("seed", std::to_string(then.seed), std::to_string(now.seed));
  if (then.algorithm != now.algorithm) return differ("algorithm.name", then.algorithm, now.algorithm);
  if (then.batch_size != now.batch_size) {
    return differ("batch_size", std::to_string(then.batch_size), std::to_string(now.batch_size));
  }
  return absl::OkStatus();
}

}  // namespace sinew::trainer
