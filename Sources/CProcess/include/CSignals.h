#ifndef COORDINATOR_CSIGNALS_H
#define COORDINATOR_CSIGNALS_H

#include <stdint.h>
#include <sys/types.h>

// A signal that was sent to this process, and by whom: `process` is 0 when the kernel did.
struct coordinator_signal {
    int32_t number;
    int32_t process;
    uint32_t user;
};

// From now on no signal of sigaction(2) that can be caught and would end the process does: each is written to a pipe, whose reading end
// is returned, or the negated errno. Faults of our own instructions (and abort(3)) do what they did before. To be called once.
int coordinator_signals_receive(void);

// Waits for the next one: 1, or the negated errno.
int coordinator_signals_next(int descriptor, struct coordinator_signal *signal);

#endif
