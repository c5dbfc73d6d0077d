// SPDX-License-Identifier: Apache-2.0
// Which samples a rank trains on in which step. Each epoch deals a fresh permutation of the whole set to the ranks,
// like cards: every sample is used exactly once an epoch, at any number of workers, and each rank can compute its own
// part without asking the others. Pure functions of their arguments; any thread.
#pragma once

#include <cstdint>
#include <vector>

namespace sinew::trainer {

// Steps of an epoch, the same for all ranks: until the rank with the most samples has used them.
int64_t StepsPerEpoch(int64_t samples, int workers, int batch_size);

// The samples of `rank` in that epoch (from 0), in order; batch k is the k-th run of batch_size of them, and the last
// may be shorter or, for some ranks, empty.
std::vector<int64_t> DealEpoch(uint64_t seed, int64_t epoch, int64_t samples, int rank, int workers);

}  // namespace sinew::trainer
