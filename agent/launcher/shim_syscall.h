// SPDX-License-Identifier: Apache-2.0
// System calls for two processes that share their memory, where errno, the C library's locks and its record of who this
// process is are not to be relied on. No C++ library.
#pragma once

#include <errno.h>
#include <linux/sched.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace sinew::launcher {

#if defined(__x86_64__)
#define SINEW_SHARED_FORK 1

// Returns -errno where it fails; sets no errno.
inline long Raw(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
  register long r10 asm("r10") = d;
  register long r8 asm("r8") = e;
  long result;
  asm volatile("syscall"
               : "=a"(result)
               : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8)
               : "rcx", "r11", "memory");
  return result;
}

// clone3 with CLONE_VM and a stack: the child runs body(data) on it and must not return. Returns the pid, or -errno.
inline long RawClone(const clone_args* args, void (*body)(void*), void* data) {
  long result;
  register void (*fn)(void*) asm("r12") = body;
  register void* argument asm("r13") = data;
  asm volatile(
      "syscall\n\t"
      "test %%rax, %%rax\n\t"
      "jnz 1f\n\t"
      "xor %%ebp, %%ebp\n\t"
      "mov %%r13, %%rdi\n\t"
      "call *%%r12\n\t"
      "hlt\n"
      "1:"
      : "=a"(result)
      : "a"(SYS_clone3), "D"(args), "S"(sizeof(*args)), "r"(fn), "r"(argument)
      : "rcx", "r11", "memory");
  return result;
}

#elif defined(__aarch64__)
#define SINEW_SHARED_FORK 1

inline long Raw(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
  register long x8 asm("x8") = number;
  register long x0 asm("x0") = a;
  register long x1 asm("x1") = b;
  register long x2 asm("x2") = c;
  register long x3 asm("x3") = d;
  register long x4 asm("x4") = e;
  asm volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "memory");
  return x0;
}

inline long RawClone(const clone_args* args, void (*body)(void*), void* data) {
  register long x8 asm("x8") = SYS_clone3;
  register long x0 asm("x0") = reinterpret_cast<long>(args);
  register long x1 asm("x1") = sizeof(*args);
  register void (*fn)(void*) asm("x20") = body;
  register void* argument asm("x21") = data;
  asm volatile(
      "svc #0\n\t"
      "cbnz x0, 1f\n\t"
      "mov x29, xzr\n\t"
      "mov x0, x21\n\t"
      "blr x20\n\t"
      "brk #1\n"
      "1:"
      : "+r"(x0)
      : "r"(x8), "r"(x1), "r"(fn), "r"(argument)
      : "memory");
  return x0;
}

#else
#define SINEW_SHARED_FORK 0

inline long Raw(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0) {
  const long result = syscall(number, a, b, c, d, e);
  return result < 0 ? -errno : result;
}
inline long RawClone(const clone_args*, void (*)(void*), void*) { return -ENOSYS; }

#endif

template <typename T>
long Word(T* pointer) {
  return reinterpret_cast<long>(pointer);
}

}  // namespace sinew::launcher
