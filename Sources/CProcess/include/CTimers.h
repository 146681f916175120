#ifndef COORDINATOR_CTIMERS_H
#define COORDINATOR_CTIMERS_H

#include <stdint.h>

// Makes a descriptor that can be read once a time on CLOCK_BOOTTIME has come, which also counts while the machine sleeps; see timerfd_create(2).
int coordinator_process_boot_timer(void);

// Sets the time, in nanoseconds of the clock; INT64_MAX: none.
int coordinator_process_set_boot_timer(int descriptor, int64_t nanoseconds);

// Makes such a descriptor for CLOCK_REALTIME, the time of day, which is set now and then.
int coordinator_process_wall_timer(void);

// Sets its time; the descriptor can also be read when the clock is set before.
int coordinator_process_set_wall_timer(int descriptor, int64_t nanoseconds);

// Whether it can be read because the clock was set.
int coordinator_process_wall_was_set(int descriptor);

#endif
