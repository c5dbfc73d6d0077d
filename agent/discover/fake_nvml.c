/* SPDX-License-Identifier: Apache-2.0
   A library with NVML's documented functions over GPUs that are told by SINEW_FAKE_NVML: one word a GPU, of
     v100@I   a V100 in NVLink island I (0-9)     a100mig   an A100 with two MIG instances, the second number a hole
     lost     a GPU that has fallen off the bus   noinit    the library does not start at all. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct { int used; char word[32]; int mig; } Gpu;
static Gpu gpus[16];
static Gpu instances[2];
static unsigned count;

int nvmlInit_v2(void) {
  const char* env = getenv("SINEW_FAKE_NVML");
  char text[256];
  count = 0;
  if (env == NULL) return 0;
  snprintf(text, sizeof text, "%s", env);
  for (char* word = strtok(text, " "); word != NULL && count < 16; word = strtok(NULL, " ")) {
    if (strcmp(word, "noinit") == 0) return 9; /* DRIVER_NOT_LOADED */
    snprintf(gpus[count].word, sizeof gpus[count].word, "%s", word);
    gpus[count].mig = 0;
    ++count;
  }
  for (int i = 0; i < 2; ++i) instances[i].mig = i + 1;
  return 0;
}

int nvmlShutdown(void) { return 0; }

const char* nvmlErrorString(int status) {
  return status == 15 ? "GPU is lost" : status == 9 ? "Driver Not Loaded" : "Unknown Error";
}

int nvmlDeviceGetCount_v2(unsigned* n) { *n = count; return 0; }

int nvmlDeviceGetHandleByIndex_v2(unsigned i, Gpu** gpu) {
  if (strcmp(gpus[i].word, "lost") == 0) return 15;
  *gpu = &gpus[i];
  return 0;
}

int nvmlDeviceGetUUID(Gpu* gpu, char* text, unsigned size) {
  if (gpu->mig) snprintf(text, size, "MIG-%d", gpu->mig);
  else snprintf(text, size, "GPU-%d", (int)(gpu - gpus));
  return 0;
}

int nvmlDeviceGetName(Gpu* gpu, char* text, unsigned size) {
  snprintf(text, size, "%s", gpu->mig ? "NVIDIA A100-SXM4-40GB MIG 1g.5gb"
                             : strcmp(gpu->word, "a100mig") == 0 ? "NVIDIA A100-SXM4-40GB" : "Tesla V100-SXM2-32GB");
  return 0;
}

int nvmlDeviceGetMemoryInfo(Gpu* gpu, unsigned long long* memory) {
  memory[0] = gpu->mig ? 5ull << 30 : 32ull << 30;
  memory[1] = memory[2] = 0;
  return 0;
}

int nvmlDeviceGetEnforcedPowerLimit(Gpu* gpu, unsigned* milliwatts) {
  (void)gpu;
  *milliwatts = 300000;
  return 0;
}

int nvmlDeviceGetMigMode(Gpu* gpu, unsigned* current, unsigned* pending) {
  if (strcmp(gpu->word, "a100mig") != 0) return 3; /* NOT_SUPPORTED */
  *current = *pending = 1;
  return 0;
}

int nvmlDeviceGetMaxMigDeviceCount(Gpu* gpu, unsigned* n) { (void)gpu; *n = 7; return 0; }

int nvmlDeviceGetMigDeviceHandleByIndex(Gpu* gpu, unsigned i, Gpu** mig) {
  (void)gpu;
  if (i != 0 && i != 2) return 6; /* NOT_FOUND */
  *mig = &instances[i / 2];
  return 0;
}

int nvmlDeviceGetP2PStatus(Gpu* a, Gpu* b, unsigned what, int* status) {
  const char* ia = strchr(a->word, '@');
  const char* ib = strchr(b->word, '@');
  *status = what == 2 && ia != NULL && ib != NULL && ia[1] == ib[1] ? 0 : 5;
  return 0;
}


int nvmlDeviceGetPciInfo_v3(Gpu* gpu, void* pci) {
  memset(pci, 0, 68);
  snprintf((char*)pci + 36, 32, "00000000:%02X:00.0", (int)(gpu - gpus) + 10);
  return 0;
}

