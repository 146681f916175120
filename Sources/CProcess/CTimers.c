#include "CTimers.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>

int coordinator_process_boot_timer(void) {
    int descriptor = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
    return descriptor < 0 ? -errno : descriptor;
}

int coordinator_process_set_boot_timer(int descriptor, int64_t nanoseconds) {
    struct itimerspec time = {0};
    // A time of zero would be none.
    if (nanoseconds < 1) nanoseconds = 1;
    if (nanoseconds != INT64_MAX) {
        time.it_value.tv_sec = nanoseconds / 1000000000;
        time.it_value.tv_nsec = nanoseconds % 1000000000;
    }
    return timerfd_settime(descriptor, TFD_TIMER_ABSTIME, &time, NULL) < 0 ? -errno : 0;
}
