// SPDX-License-Identifier: Apache-2.0
#include "trainer/data/idx.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <memory>

#include "base/errno_status.h"

namespace sinew::trainer {
namespace {

constexpr uint8_t kUnsignedByte = 0x08;
constexpr int kMaxDimensions = 4;
constexpr std::size_t kChunk = 1 << 20;

struct Close {
  void operator()(gzFile file) const { gzclose_r(file); }
};
using Reader = std::unique_ptr<gzFile_s, Close>;

absl::Status Bad(const std::string& path, const std::string& what) {
  return absl::InvalidArgumentError(path + ": " + what);
}

// Exactly `size` bytes, or an error.
absl::Status ReadExactly(gzFile file, const std::string& path, void* to, std::size_t size, std::size_t so_far,
                         std::size_t expected) {
  const int got = gzread(file, to, static_cast<unsigned>(size));
  if (got == static_cast<int>(size)) return absl::OkStatus();
  int code = Z_OK;
  const std::string why = gzerror(file, &code);
  if (code == Z_ERRNO) return ErrnoStatus("read", path);
  if (code != Z_OK && code != Z_BUF_ERROR) return Bad(path, "the compressed data is damaged (" + why + ")");
  return Bad(path, "ends after " + std::to_string(so_far + static_cast<std::size_t>(std::max(got, 0))) +
                       " bytes; its header asks for " + std::to_string(expected));
}

}  // namespace

absl::StatusOr<IdxArray> ReadIdx(const std::string& path, int dimensions) {
  std::string name = path;
  Reader file(gzopen(name.c_str(), "rbe"));
  if (!file && errno == ENOENT) {
    name = path + ".gz";
    file.reset(gzopen(name.c_str(), "rbe"));
    if (!file && errno == ENOENT) return absl::NotFoundError("neither " + path + " nor " + name + " exists");
  }
  if (!file) return ErrnoStatus("open", name);
  gzbuffer(file.get(), 1 << 17);

  uint8_t magic[4];
  if (absl::Status s = ReadExactly(file.get(), name, magic, 4, 0, 4); !s.ok()) return s;
  if (magic[0] != 0 || magic[1] != 0) return Bad(name, "is not an IDX file: it does not begin with two zero bytes");
  if (magic[2] != kUnsignedByte) {
    return Bad(name, "holds elements of type " + std::to_string(magic[2]) + "; only unsigned bytes (8) are read");
  }
  if (magic[3] != dimensions || dimensions > kMaxDimensions) {
    return Bad(name, "has " + std::to_string(magic[3]) + " dimensions; expected " + std::to_string(dimensions));
  }
  IdxArray array;
  const std::size_t header = 4 + 4 * static_cast<std::size_t>(dimensions);
  std::size_t elements = 1;
  for (int i = 0; i < dimensions; ++i) {
    uint8_t big[4];
    if (absl::Status s = ReadExactly(file.get(), name, big, 4, 4 + 4 * static_cast<std::size_t>(i), header); !s.ok()) {
      return s;
    }
    const uint32_t size = uint32_t{big[0]} << 24 | uint32_t{big[1]} << 16 | uint32_t{big[2]} << 8 | big[3];
    if (size == 0) return Bad(name, "dimension " + std::to_string(i) + " is 0");
    if (elements > kMaxIdxBytes / size) {
      return Bad(name, "asks for more than " + std::to_string(kMaxIdxBytes) + " bytes");
    }
    elements *= size;
    array.dimensions.push_back(size);
  }
  while (array.bytes.size() < elements) {
    const std::size_t at = array.bytes.size(), count = std::min(kChunk, elements - at);
    array.bytes.resize(at + count);
    if (absl::Status s =
            ReadExactly(file.get(), name, array.bytes.data() + at, count, header + at, header + elements);
        !s.ok()) {
      return s;
    }
  }
  uint8_t more;
  const int extra = gzread(file.get(), &more, 1);
  if (extra > 0) return Bad(name, "is longer than the " + std::to_string(header + elements) + " bytes of its header");
  if (extra < 0) return Bad(name, "the compressed data is damaged at its end");
  return array;
}

}  // namespace sinew::trainer
