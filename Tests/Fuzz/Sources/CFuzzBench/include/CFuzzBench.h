#pragma once

#include <stddef.h>

/// Begins an input: from here on, an allocation of this thread beyond `single` bytes, or of more than `total` bytes in all, aborts.
void fuzz_bench_begin(size_t single, size_t total);

/// Ends an input; aborts when this thread has worked for more than a second on it.
void fuzz_bench_end(void);
