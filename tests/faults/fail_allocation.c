// SPDX-License-Identifier: MIT
// A library for LD_PRELOAD: allocation number FAIL_AT fails, and with FAIL_ALL all later ones, too.
// Writes the number of allocations to the file FAIL_COUNT.
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);

static atomic_long count;
static long fail_at;
static int fail_all, started;

__attribute__((constructor)) static void start(void) {
  const char* at = getenv("FAIL_AT");
  fail_at = at ? atol(at) : 0;
  fail_all = getenv("FAIL_ALL") != NULL;
  started = 1;
}

__attribute__((destructor)) static void end(void) {
  const char* path = getenv("FAIL_COUNT");
  FILE* file = path ? fopen(path, "w") : NULL;
  if (!file) return;
  fprintf(file, "%ld\n", (long)count);
  fclose(file);
}

static int fails(void) {
  if (!started) return 0;
  const long number = atomic_fetch_add(&count, 1) + 1;
  if (fail_at == 0 || (fail_all ? number < fail_at : number != fail_at)) return 0;
  errno = ENOMEM;
  return 1;
}

void* malloc(size_t bytes) { return fails() ? NULL : __libc_malloc(bytes); }
void* calloc(size_t n, size_t bytes) { return fails() ? NULL : __libc_calloc(n, bytes); }
void* realloc(void* old, size_t bytes) { return fails() ? NULL : __libc_realloc(old, bytes); }
void* memalign(size_t align, size_t bytes) { return fails() ? NULL : __libc_memalign(align, bytes); }
void* aligned_alloc(size_t align, size_t bytes) { return memalign(align, bytes); }
int posix_memalign(void** result, size_t align, size_t bytes) {
  *result = memalign(align, bytes);
  return *result ? 0 : ENOMEM;
}
