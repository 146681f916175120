#include "CNNGAnswers.h"
#include "CCalls.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>

// The C library's own functions do everything that isn't answered here.

#if CAN_ANSWER

// The number of processors; 0: nothing is answered.
static _Thread_local long first_use;
static _Thread_local char own_name[16];
static _Thread_local int is_in_dial;

void coordinator_process_answer_first_use(long processors) {
    if (first_use == 0 && processors > 0) {
        prctl(PR_GET_NAME, own_name);
        prctl(PR_SET_NAME, "nng:poll:epoll");
    } else if (first_use > 0 && processors == 0) {
        prctl(PR_SET_NAME, own_name);
    }
    first_use = processors;
}

void coordinator_process_answer_dial(int is_dialling) { is_in_dial = is_dialling; }

// nng makes threads by the number of processors when it's first used.
extern long __sysconf(int name);

long sysconf(int name) {
    if (first_use > 0 && (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF)) return first_use;
    return __sysconf(name);
}

// nng names the thread that polls from outside, through a file in /proc, which the kernel keeps. When the process is killed, that thread and whoever waits for the
// process both remove the file: if one is interrupted in that, the other one tries again and again, until the next tick of the scheduler. See
// shrink_dcache_parent in fs/dcache.c. nng's other threads name themselves.
int pthread_setname_np(pthread_t thread, const char *name) {
    if (pthread_equal(thread, pthread_self())) {
        if (strlen(name) >= sizeof own_name) return ERANGE;
        return prctl(PR_SET_NAME, name) == 0 ? 0 : errno;
    }
    if (first_use > 0) return 0;
    int (*function)(pthread_t, const char *) = (int (*)(pthread_t, const char *))dlsym(RTLD_NEXT, "pthread_setname_np");
    return function ? function(thread, name) : ENOSYS;
}

// nng has the poller watch a socket before it's connected, for nothing. The kernel then reports without end that it has no connection, until connect(2): where the poller
// takes the processor of the thread that dials, it keeps it until the next tick. nng 2 watches a socket when there's something to watch it for.
// https://github.com/nanomsg/nng/blob/v1.5.2/src/platform/posix/posix_pollq_epoll.c
int epoll_ctl(int poller, int operation, int descriptor, struct epoll_event *event) {
    struct epoll_event once;
    if (is_in_dial && operation == EPOLL_CTL_ADD && event && event->events == 0) {
        once = *event;
        once.events = EPOLLONESHOT;
        event = &once;
    }
    return (int)syscall(SYS_epoll_ctl, poller, operation, descriptor, event);
}

#else

void coordinator_process_answer_first_use(long processors) { (void)processors; }
void coordinator_process_answer_dial(int is_dialling) { (void)is_dialling; }

#endif
