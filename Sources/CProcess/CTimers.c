#include "CTimers.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

static int timer(clockid_t clock) {
    int descriptor = timerfd_create(clock, TFD_CLOEXEC | TFD_NONBLOCK);
    return descriptor < 0 ? -errno : descriptor;
}

int coordinator_process_boot_timer(void) { return timer(CLOCK_BOOTTIME); }

int coordinator_process_wall_timer(void) { return timer(CLOCK_REALTIME); }

static int set(int descriptor, int flags, int64_t nanoseconds) {
    struct itimerspec time = {0};
    // A time of zero would be none.
    if (nanoseconds < 1) nanoseconds = 1;
    if (nanoseconds != INT64_MAX) {
        time.it_value.tv_sec = nanoseconds / 1000000000;
        time.it_value.tv_nsec = nanoseconds % 1000000000;
    }
    return timerfd_settime(descriptor, flags, &time, NULL) < 0 ? -errno : 0;
}

int coordinator_process_set_boot_timer(int descriptor, int64_t nanoseconds) {
    return set(descriptor, TFD_TIMER_ABSTIME, nanoseconds);
}

int coordinator_process_set_wall_timer(int descriptor, int64_t nanoseconds) {
    return set(descriptor, TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET, nanoseconds);
}

int coordinator_process_wall_was_set(int descriptor) {
    uint64_t count;
    return read(descriptor, &count, sizeof count) < 0 && errno == ECANCELED;
}
