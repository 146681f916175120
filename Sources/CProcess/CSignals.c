#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "CSignals.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

// Written before the first handler is installed, and read by handlers.
static int writing_end = -1;
static struct sigaction former[NSIG];

// The kernel sends these for what an instruction of the thread itself did; kill(2) can send them too, with si_code <= 0.
static int is_fault(int number, const siginfo_t *information) {
    switch (number) {
    case SIGSEGV: case SIGBUS: case SIGFPE: case SIGILL: case SIGTRAP: case SIGSYS: return information->si_code > 0;
    // abort(3) raises it, and ends the process itself after the handler.
    case SIGABRT: return information->si_pid == getpid();
    default: return 0;
    }
}

// async-signal-safe: see signal-safety(7).
static void take(int number, siginfo_t *information, void *context) {
    (void)context;
    int error = errno;
    if (is_fault(number, information)) {
        if (number != SIGABRT) {
            sigaction(number, &former[number], NULL);
            // The instruction is repeated when this returns, and faults again; after a trap it would not be.
            if (number == SIGTRAP || number == SIGSYS) raise(number);
        }
        errno = error;
        return;
    }
    int isSent = information->si_code <= 0;
    struct coordinator_signal signal = {
        .number = number,
        .process = isSent ? information->si_pid : 0,
        .user = isSent ? information->si_uid : 0,
    };
    // A full pipe holds thousands of signals: one more would add nothing.
    ssize_t written = write(writing_end, &signal, sizeof signal);
    (void)written;
    errno = error;
}

int coordinator_signals_receive(void) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -errno;
    if (fcntl(ends[1], F_SETFL, O_NONBLOCK) != 0) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        return -error;
    }
    writing_end = ends[1];
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = take;
    action.sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK;
    sigfillset(&action.sa_mask);
    for (int number = 1; number < NSIG; number++) {
        switch (number) {
        // They can't be caught, or don't end a process; writing to a pipe without a reader is an error where it happens.
        case SIGKILL: case SIGSTOP: case SIGCHLD: case SIGCONT: case SIGTSTP: case SIGTTIN: case SIGTTOU: case SIGURG: case SIGWINCH:
        case SIGPIPE:
            break;
        default:
            // The C library keeps two for itself, and refuses them.
            sigaction(number, &action, &former[number]);
        }
    }
    return ends[0];
}

int coordinator_signals_next(int descriptor, struct coordinator_signal *signal) {
    while (1) {
        // The handlers write whole records, and the pipe keeps them whole.
        ssize_t count = read(descriptor, signal, sizeof *signal);
        if (count == sizeof *signal) return 1;
        if (count < 0 && errno == EINTR) continue;
        return count < 0 ? -errno : -EIO;
    }
}
