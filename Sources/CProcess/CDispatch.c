#include "CCalls.h"

#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

#if CAN_ANSWER

// Dispatch looks once a second at the threads of a queue in which tasks wait, in /proc/TID/stat, and ends the process ("registered worker exited prematurely") when it
// can't open that file: a shortage of descriptors or memory, which passes, would end a supervisor that has work to do. See _dispatch_workq_count_runnable_workers in
// https://github.com/swiftlang/swift-corelibs-libdispatch/blob/main/src/event/workqueue.c. Only that question is answered here: the C library's own open(3) does
// everything else.
extern int __open(const char *path, int flags, ...);

// A number that no descriptor has: to read it fails, so that the thread counts as one that doesn't run, and to close it does nothing.
#define NO_DESCRIPTOR INT_MAX

// Whether that's how Dispatch opens the file.
static int is_threads_state(const char *path, int flags) {
    int thread, end = 0;
    return flags == (O_RDONLY | O_NONBLOCK) && sscanf(path, "/proc/%d/stat%n", &thread, &end) == 1 && end > 0 && path[end] == 0;
}

int open(const char *path, int flags, ...) {
    mode_t mode = 0;
    if (__OPEN_NEEDS_MODE(flags)) {
        va_list arguments;
        va_start(arguments, flags);
        mode = va_arg(arguments, mode_t);
        va_end(arguments);
    }
    int file = __open(path, flags, mode);
    if (file >= 0 || (errno != EMFILE && errno != ENFILE && errno != ENOMEM)) return file;
    int error = errno;
    int is_dispatch = is_threads_state(path, flags);
    errno = error;
    return is_dispatch ? NO_DESCRIPTOR : -1;
}

#endif
