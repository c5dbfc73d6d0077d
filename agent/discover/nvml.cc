// SPDX-License-Identifier: Apache-2.0
#include "agent/discover/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <memory>
#include <sstream>
#include <utility>

#include "absl/status/status.h"
#include "base/files.h"
#include "base/status_macros.h"

namespace sinew::agent {
namespace {

// nvml.h, as far as it is used here.
using Handle = void*;
constexpr int kSuccess = 0;
constexpr unsigned kNvlink = 2;  // NVML_P2P_CAPS_INDEX_NVLINK
constexpr size_t kText = 96;

struct Memory {
  unsigned long long total, free, used;
};

struct Pci {
  char legacy[16];
  unsigned domain, bus, device, id, subsystem;
  char bus_id[32];
};

class Library {
 public:
  ~Library() {
    if (started_) Call<int()>("nvmlShutdown", "");
    if (handle_ != nullptr) ::dlclose(handle_);
  }

  // "" or why not.
  std::string Load(const std::string& name) {
    handle_ = ::dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    if (handle_ != nullptr) return "";
    const char* why = ::dlerror();
    return why == nullptr ? "it cannot be loaded" : why;
  }

  int Start() {
    const int status = Call<int()>("nvmlInit_v2", "nvmlInit");
    started_ = status == kSuccess;
    return status;
  }

  // A function that this version of the library does not have answers as one that fails.
  template <typename Signature, typename... Args>
  int Call(const char* name, const char* older, Args... args) const {
    void* symbol = ::dlsym(handle_, name);
    if (symbol == nullptr && *older != '\0') symbol = ::dlsym(handle_, older);
    return symbol == nullptr ? -1 : reinterpret_cast<Signature*>(symbol)(args...);
  }

  template <typename Signature>
  std::string Text(const char* name, Handle device) const {
    char text[kText] = "";
    if (Call<Signature>(name, "", device, text, static_cast<unsigned>(kText)) != kSuccess) return "";
    text[kText - 1] = '\0';
    return text;
  }

  std::string Why(int status) const {
    void* symbol = ::dlsym(handle_, "nvmlErrorString");
    const char* text = symbol == nullptr || status < 0 ? nullptr : reinterpret_cast<const char* (*)(int)>(symbol)(status);
    return text == nullptr ? "error " + std::to_string(status) : text;
  }

 private:
  void* handle_ = nullptr;
  bool started_ = false;
};

using TextFunction = int(Handle, char*, unsigned);

// "00000000:07:00.0" is 0000:07:00.0 in sysfs.
int32_t NumaOf(const std::string& bus_id, const std::string& sysroot) {
  std::string name;
  for (const char c : bus_id) name += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const size_t colon = name.find(':');
  if (colon == std::string::npos || name.find('/') != std::string::npos) return -1;
  if (colon > 4) name = name.substr(colon - 4);
  std::istringstream text(ReadFile(sysroot + "/sys/bus/pci/devices/" + name + "/numa_node").value_or("-1"));
  int32_t numa = -1;
  return text >> numa ? std::max(-1, numa) : -1;
}

struct Gpu {
  v1::DeviceInfo info;
  Handle parent = nullptr;  // the GPU itself, also of a MIG instance
};

class Finder {
 public:
  Finder(const Library& nvml, const std::string& sysroot, const Warn& warn)
      : nvml_(nvml), sysroot_(sysroot), warn_(warn) {}

  std::vector<v1::DeviceInfo> All() {
    unsigned count = 0;
    if (const int status = nvml_.Call<int(unsigned*)>("nvmlDeviceGetCount_v2", "nvmlDeviceGetCount", &count);
        status != kSuccess) {
      warn_("NVML does not count its GPUs: " + nvml_.Why(status) + "; this node offers none");
      return {};
    }
    for (unsigned i = 0; i < std::min(count, 1024u); ++i) {
      Handle device = nullptr;
      const int status = nvml_.Call<int(unsigned, Handle*)>("nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex",
                                                            i, &device);
      if (status != kSuccess) Skip(i, nvml_.Why(status));
      else Add(i, device);
    }
    Islands();
    std::vector<v1::DeviceInfo> found;
    for (Gpu& gpu : gpus_) {
      gpu.info.set_index(static_cast<int32_t>(found.size()));
      found.push_back(std::move(gpu.info));
    }
    return found;
  }

 private:
  void Skip(unsigned index, const std::string& why) {
    warn_("GPU " + std::to_string(index) + " does not answer: " + why + "; it is not offered");
  }

  void Add(unsigned index, Handle device) {
    unsigned current = 0, pending = 0;
    if (nvml_.Call<int(Handle, unsigned*, unsigned*)>("nvmlDeviceGetMigMode", "", device, &current, &pending) == kSuccess &&
        current == 1) {
      unsigned instances = 0;
      nvml_.Call<int(Handle, unsigned*)>("nvmlDeviceGetMaxMigDeviceCount", "", device, &instances);
      for (unsigned i = 0; i < std::min(instances, 64u); ++i) {
        Handle mig = nullptr;
        // Numbers of instances that were not made are holes.
        if (nvml_.Call<int(Handle, unsigned, Handle*)>("nvmlDeviceGetMigDeviceHandleByIndex", "", device, i, &mig) ==
            kSuccess) {
          AddOne(index, mig, device);
        }
      }
      return;
    }
    AddOne(index, device, device);
  }

  void AddOne(unsigned index, Handle device, Handle parent) {
    Gpu gpu;
    gpu.parent = parent;
    gpu.info.set_uuid(nvml_.Text<TextFunction>("nvmlDeviceGetUUID", device));
    gpu.info.set_type(NvidiaType(nvml_.Text<TextFunction>("nvmlDeviceGetName", device)));
    Memory memory{};
    const int status = nvml_.Call<int(Handle, Memory*)>("nvmlDeviceGetMemoryInfo", "", device, &memory);
    if (status != kSuccess) return Skip(index, nvml_.Why(status));
    if (gpu.info.uuid().empty()) return Skip(index, "it has no UUID");
    gpu.info.set_memory_bytes(static_cast<int64_t>(memory.total));
    Pci pci{};
    gpu.info.set_numa_node(-1);
    if (nvml_.Call<int(Handle, Pci*)>("nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", parent, &pci) == kSuccess) {
      pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
      gpu.info.set_numa_node(NumaOf(pci.bus_id[0] != '\0' ? pci.bus_id : pci.legacy, sysroot_));
    }
    unsigned limit = 0;
    if (nvml_.Call<int(Handle, unsigned*)>("nvmlDeviceGetEnforcedPowerLimit", "nvmlDeviceGetPowerManagementLimit", parent,
                                           &limit) == kSuccess) {
      gpu.info.set_max_milliwatts(limit);
    }
    gpus_.push_back(std::move(gpu));
  }

  bool Linked(const Gpu& a, const Gpu& b) const {
    if (a.parent == b.parent) return true;
    int linked = -1;
    return nvml_.Call<int(Handle, Handle, unsigned, int*)>("nvmlDeviceGetP2PStatus", "", a.parent, b.parent, kNvlink,
                                                           &linked) == kSuccess && linked == 0;
  }

  // Groups in which all have NVLink to all (a DGX-1 has two of four, though every GPU reaches the other four by one);
  // without NVLink, those of one NUMA node.
  void Islands() {
    std::vector<std::vector<const Gpu*>> islands;
    bool any = false;
    for (Gpu& gpu : gpus_) {
      size_t at = 0;
      while (at < islands.size() && !std::all_of(islands[at].begin(), islands[at].end(),
                                                 [&](const Gpu* other) { return Linked(gpu, *other); })) {
        ++at;
      }
      if (at == islands.size()) islands.emplace_back();
      any |= std::any_of(islands[at].begin(), islands[at].end(), [&](const Gpu* o) { return o->parent != gpu.parent; });
      islands[at].push_back(&gpu);
      gpu.info.set_island(static_cast<int32_t>(at));
    }
    if (any) return;
    for (Gpu& gpu : gpus_) gpu.info.set_island(std::max(0, gpu.info.numa_node()));
  }

  const Library& nvml_;
  const std::string& sysroot_;
  const Warn& warn_;
  std::vector<Gpu> gpus_;
};

}  // namespace

std::string NvidiaType(const std::string& name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    if (c == ' ' || c == '-') {
      if (!words.back().empty()) words.emplace_back();
    } else if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '_') {
      words.back() += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
  }
  std::erase_if(words, [](const std::string& w) { return w.empty() || w == "nvidia" || w == "tesla" || w == "geforce" || w == "quadro"; });
  if (words.empty()) return "gpu";
  std::string type = words[0];
  size_t next = 1;
  if ((type == "rtx" || type == "gtx" || type == "titan") && words.size() > next) type += "-" + words[next++];
  if (words.size() > next && (words[next] == "ti" || words[next] == "super")) type += "-" + words[next];
  const auto mig = std::find(words.begin(), words.end(), "mig");
  if (mig != words.end() && mig + 1 != words.end()) type += "-" + mig[1];
  return type.substr(0, 63);
}

absl::StatusOr<std::vector<v1::DeviceInfo>> NvidiaDevices(const std::string& library, const std::string& sysroot,
                                                          const Warn& warn) {
  Library nvml;
  const std::string name = library.empty() ? "libnvidia-ml.so.1" : library;
  if (const std::string why = nvml.Load(name); !why.empty()) {
    if (library.empty()) return std::vector<v1::DeviceInfo>();
    return absl::FailedPreconditionError("--nvml " + library + ": " + why);
  }
  if (const int status = nvml.Start(); status != kSuccess) {
    warn(name + " does not start: " + nvml.Why(status) + "; this node offers no GPU");
    return std::vector<v1::DeviceInfo>();
  }
  return Finder(nvml, sysroot, warn).All();
}

}  // namespace sinew::agent
