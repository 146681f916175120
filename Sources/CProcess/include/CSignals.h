#ifndef COORDINATOR_CSIGNALS_H
#define COORDINATOR_CSIGNALS_H

#include <stdint.h>
#include <sys/types.h>

// A signal that was sent to this process, and its sender: `process` is 0 when that was the kernel.
struct coordinator_signal {
    int32_t number;
    int32_t process;
    uint32_t user;
};

// Catches, from now on, every signal of sigaction(2) that can be caught and would end the process: each is written to a pipe, whose reading
// end is returned, or the negated errno. Faults of the process's own instructions, and abort(3), still end it. To be called once.
int coordinator_signals_receive(void);

// Waits for the next signal: 1, or the negated errno.
int coordinator_signals_next(int descriptor, struct coordinator_signal *signal);

#endif
