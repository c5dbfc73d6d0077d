// SPDX-License-Identifier: Apache-2.0
#include "policies/place/fit.h"

#include <algorithm>
#include <map>

namespace sinew {
namespace {

constexpr int64_t kUnlimited = 1'000'000'000;

const DeviceDemand* Wanted(const JobSpec& spec, size_t alternative) {
  return alternative < spec.demand.devices.size() ? &spec.demand.devices[alternative] : nullptr;
}

bool Matches(const Room& room, int32_t device, const DeviceDemand& wanted) {
  return wanted.type.empty() || room.node->devices[device].type == wanted.type;
}

int64_t FreeDevices(const Room& room, const DeviceDemand& wanted) {
  return std::count_if(room.devices.begin(), room.devices.end(),
                       [&](int32_t d) { return Matches(room, d, wanted); });
}

int64_t Share(int64_t free, int64_t each) { return each <= 0 ? kUnlimited : std::max<int64_t>(0, free / each); }

// Workers that still fit on the node.
int64_t Capacity(const Room& room, const JobSpec& spec, size_t alternative) {
  if (!PoolFits(spec, *room.node)) return 0;
  int64_t workers = std::min(Share(room.cpus.value, spec.demand.cpus.value),
                             Share(room.memory.value, spec.demand.memory.value));
  if (const DeviceDemand* wanted = Wanted(spec, alternative); wanted && wanted->count > 0) {
    workers = std::min(workers, Share(FreeDevices(room, *wanted), wanted->count));
  }
  return workers;
}

// Devices for one worker out of the room, from one island when one has enough.
std::vector<int32_t> TakeDevices(Room& room, const DeviceDemand& wanted) {
  std::map<int32_t, std::vector<int32_t>> islands;
  for (const int32_t d : room.devices) {
    if (Matches(room, d, wanted)) islands[room.node->devices[d].island].push_back(d);
  }
  std::vector<int32_t> taken;
  const size_t need = wanted.count;
  const std::vector<int32_t>* best = nullptr;
  for (const auto& [island, devices] : islands) {
    if (devices.size() >= need && (!best || devices.size() < best->size())) best = &devices;
  }
  if (best) {
    taken.assign(best->begin(), best->begin() + need);
  } else {
    std::vector<const std::vector<int32_t>*> by_size;
    for (const auto& [island, devices] : islands) by_size.push_back(&devices);
    std::stable_sort(by_size.begin(), by_size.end(), [](auto* a, auto* b) { return a->size() > b->size(); });
    for (const auto* devices : by_size) {
      for (const int32_t d : *devices) {
        if (taken.size() < need) taken.push_back(d);
      }
    }
    std::sort(taken.begin(), taken.end());
  }
  std::vector<int32_t> left;
  std::set_difference(room.devices.begin(), room.devices.end(), taken.begin(), taken.end(), std::back_inserter(left));
  room.devices = std::move(left);
  return taken;
}

// How many workers go to which room; empty when they do not all fit.
std::map<size_t, int64_t> Distribute(const std::vector<int64_t>& capacity, const JobSpec& spec, int64_t workers,
                                     Preference preference) {
  std::vector<size_t> order;
  for (size_t i = 0; i < capacity.size(); ++i) {
    if (capacity[i] > 0) order.push_back(i);
  }
  std::map<size_t, int64_t> plan;
  const int64_t at_most = spec.colocation == Colocation::kDistinctNodes ? 1 : workers;
  const bool one_node = spec.colocation == Colocation::kOneNode;

  if (preference == Preference::kPack || one_node) {
    std::optional<size_t> whole;
    for (const size_t i : order) {
      if (at_most < workers || capacity[i] < workers) continue;
      const bool better = !whole || (preference == Preference::kPack ? capacity[i] < capacity[*whole]
                                                                     : capacity[i] > capacity[*whole]);
      if (better) whole = i;
    }
    if (whole) return {{*whole, workers}};
    if (one_node) return {};
  }
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return capacity[a] > capacity[b]; });
  int64_t left = workers;
  if (preference == Preference::kPack) {
    for (const size_t i : order) {
      const int64_t n = std::min({capacity[i], left, at_most});
      if (n > 0) plan[i] = n;
      left -= n;
    }
  } else {
    std::vector<int64_t> room = capacity;
    for (; left > 0; --left) {
      std::optional<size_t> best;
      for (const size_t i : order) {
        if (room[i] > 0 && plan[i] < at_most && (!best || room[i] > room[*best])) best = i;
      }
      if (!best) break;
      --room[*best];
      ++plan[*best];
    }
    std::erase_if(plan, [](const auto& entry) { return entry.second == 0; });
  }
  if (left > 0) plan.clear();
  return plan;
}

}  // namespace

Room EmptyRoom(NodePtr node) {
  Room room;
  room.cpus = node->cpus;
  room.memory = node->memory;
  for (const Device& d : node->devices) room.devices.push_back(d.index);
  room.node = std::move(node);
  return room;
}

Room RoomNow(NodePtr node, const NodeUsage& usage) {
  Room room;
  room.cpus = node->cpus - usage.cpus;
  room.memory = node->memory - usage.memory;
  for (size_t i = 0; i < usage.device_holder.size() && i < node->devices.size(); ++i) {
    if (usage.device_holder[i].value == 0) room.devices.push_back(static_cast<int32_t>(i));
  }
  room.node = std::move(node);
  return room;
}

bool PoolFits(const JobSpec& spec, const Node& node) {
  return std::find(spec.pools.begin(), spec.pools.end(), node.pool) != spec.pools.end();
}

std::optional<Fitted> Fit(std::vector<Room>& rooms, const JobSpec& spec, int32_t workers, Preference preference) {
  const size_t alternatives = std::max<size_t>(1, spec.demand.devices.size());
  for (size_t alternative = 0; alternative < alternatives; ++alternative) {
    std::vector<int64_t> capacity(rooms.size());
    for (size_t i = 0; i < rooms.size(); ++i) capacity[i] = Capacity(rooms[i], spec, alternative);
    const auto plan = Distribute(capacity, spec, workers, preference);
    if (plan.empty()) continue;
    Fitted fitted;
    fitted.device_alternative = alternative;
    int32_t rank = 0;
    for (const auto& [i, count] : plan) {
      Room& room = rooms[i];
      for (int64_t k = 0; k < count; ++k) {
        TaskPlacement task;
        task.rank = rank++;
        task.node = room.node->id;
        if (const DeviceDemand* wanted = Wanted(spec, alternative)) task.devices = TakeDevices(room, *wanted);
        room.cpus -= spec.demand.cpus;
        room.memory -= spec.demand.memory;
        fitted.tasks.push_back(std::move(task));
      }
    }
    return fitted;
  }
  return std::nullopt;
}

std::vector<Reason> WhyNot(const std::vector<Room>& rooms, const JobSpec& spec, int32_t workers) {
  struct Tally {
    int64_t each = 0, best = 0, total = 0, fitting = 0, excluded = 0;
  };
  const auto tally = [&](int64_t each, auto free_of) {
    Tally t{.each = each};
    for (const Room& room : rooms) {
      if (!PoolFits(spec, *room.node)) continue;
      const int64_t free = std::max<int64_t>(0, free_of(room));
      t.best = std::max(t.best, free);
      t.total += free;
      const int64_t here = Share(free, each);
      if (here < 1) ++t.excluded;
      const int64_t counted = spec.colocation == Colocation::kDistinctNodes ? std::min<int64_t>(here, 1) : here;
      t.fitting = spec.colocation == Colocation::kOneNode ? std::max(t.fitting, counted) : t.fitting + counted;
    }
    return t;
  };
  std::vector<Reason> reasons;
  const auto add = [&](ReasonCode code, const Tally& t, const std::string& type) {
    Reason reason;
    reason.code = code;
    reason.needed = t.each * workers;
    reason.best_node_free = t.best;
    reason.total_free = t.total;
    reason.nodes_excluded = t.excluded;
    reason.device_type = type;
    reasons.push_back(std::move(reason));
  };
  const DeviceDemand* wanted = Wanted(spec, 0);
  std::optional<Tally> devices;
  if (wanted && wanted->count > 0) {
    devices = tally(wanted->count, [&](const Room& room) { return FreeDevices(room, *wanted); });
    if (devices->fitting < workers) add(ReasonCode::kInsufficientDevices, *devices, wanted->type);
  }
  const Tally cpus = tally(spec.demand.cpus.value, [](const Room& room) { return room.cpus.value; });
  if (cpus.each > 0 && cpus.fitting < workers) add(ReasonCode::kInsufficientCpus, cpus, "");
  const Tally memory = tally(spec.demand.memory.value, [](const Room& room) { return room.memory.value; });
  if (memory.each > 0 && memory.fitting < workers) add(ReasonCode::kInsufficientMemory, memory, "");
  if (reasons.empty()) {
    // Each is there, but not together on the same nodes.
    devices ? add(ReasonCode::kInsufficientDevices, *devices, wanted->type)
            : add(ReasonCode::kInsufficientCpus, cpus, "");
  }
  return reasons;
}

}  // namespace sinew
