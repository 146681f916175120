#define _GNU_SOURCE
#include "CFuzzBench.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

// glibc's own functions, behind those that are defined here for the whole process: https://sourceware.org/glibc/manual/latest/html_node/Replacing-malloc.html
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static __thread size_t single_limit, total_limit, total;
static __thread int is_counting;
static __thread struct timespec began;

static void fail(const char *what, size_t number) {
    is_counting = 0;
    fprintf(stderr, "FuzzBench: %s: %zu\n", what, number);
    abort();
}

static void count(size_t size) {
    if (!is_counting) return;
    total += size;
    if (size > single_limit) fail("an allocation beyond the limit, in bytes", size);
    if (total > total_limit) fail("allocations beyond the limit, in bytes", total);
}

void *malloc(size_t size) {
    count(size);
    return __libc_malloc(size);
}

void *calloc(size_t number, size_t size) {
    count(number * size);
    return __libc_calloc(number, size);
}

void *realloc(void *memory, size_t size) {
    count(size);
    return __libc_realloc(memory, size);
}

void *memalign(size_t alignment, size_t size) {
    count(size);
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **memory, size_t alignment, size_t size) {
    *memory = memalign(alignment, size);
    return *memory ? 0 : ENOMEM;
}

void fuzz_bench_begin(size_t single, size_t all) {
    single_limit = single;
    total_limit = all;
    total = 0;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &began);
    is_counting = 1;
}

void fuzz_bench_end(void) {
    is_counting = 0;
    struct timespec ended;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ended);
    long milliseconds = (ended.tv_sec - began.tv_sec) * 1000 + (ended.tv_nsec - began.tv_nsec) / 1000000;
    if (milliseconds > 1000) fail("an input took too long, in milliseconds", (size_t)milliseconds);
}
