#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "CProcess.h"

#include <sys/resource.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// The headers of glibc 2.36 don't have this yet.
#ifndef PIDFD_SIGNAL_PROCESS_GROUP
#define PIDFD_SIGNAL_PROCESS_GROUP (1U << 2)
#endif

extern char **environ;

// Between clone and execve the child runs in the parent's memory, where the thread sanitizer keeps its records of the parent. Its functions
// would note there what the child does: closed descriptors, forgotten signal handlers, calls that never return. So the child's functions
// aren't instrumented, and make their system calls themselves. The sanitizer's clone(2) refuses CLONE_VM; the C library's functions have
// second names, which the sanitizer doesn't replace.
#define IN_CHILD
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
extern int __clone(int (*function)(void *), void *stack, int flags, void *argument, ...);
extern int __sigaction(int signal, const struct sigaction *action, struct sigaction *former);
#undef IN_CHILD
#define IN_CHILD __attribute__((disable_sanitizer_instrumentation))
#define clone __clone
#define child_sigaction __sigaction
#endif
#endif
#ifndef child_sigaction
#define child_sigaction sigaction
#endif

IN_CHILD static int child_open(const char *path, int flags) {
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, 0);
}

IN_CHILD static int child_duplicate(int source, int target) {
    return (int)syscall(SYS_dup3, source, target, 0);
}

IN_CHILD static int child_close(int descriptor) {
    return (int)syscall(SYS_close, descriptor);
}

IN_CHILD static int given(const struct coordinator_process_descriptor *descriptors, int count, int target) {
    for (int index = 0; index < count; index++) {
        if (descriptors[index].target == target) return 1;
    }
    return 0;
}

// Runs in the child between clone and execve: the child shares the parent's memory, has a stack of its own, and changes only `error`.
struct spawn {
    const char *executable;
    char *const *arguments;
    char *const *environment;
    const char *working_directory;
    const struct coordinator_process_descriptor *descriptors;
    int count;
    int dies_with_parent;
    pid_t parent;
    int error;
};

// Every signal is blocked here, so no handler of the parent runs in the child before the handlers are reset.
IN_CHILD static void reset_signals(void) {
    struct sigaction action;
    for (int signal = 1; signal < NSIG; signal++) {
        if (child_sigaction(signal, NULL, &action) != 0 || (action.sa_handler == SIG_DFL && !(action.sa_flags & SA_SIGINFO))) continue;
        memset(&action, 0, sizeof action);
        action.sa_handler = SIG_DFL;
        child_sigaction(signal, &action, NULL);
    }
}

IN_CHILD static void unblock_signals(void) {
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

IN_CHILD static int move_descriptors(const struct coordinator_process_descriptor *descriptors, int count) {
    int highest = -1;
    for (int index = 0; index < count; index++) {
        int source = descriptors[index].source;
        int target = descriptors[index].target;
        if (target > highest) highest = target;
        // Sources lie above all targets, so none overwrites the source of a later one, and no dup2 is onto itself.
        if (source >= 0) {
            if (child_duplicate(source, target) < 0) return -1;
            continue;
        }
        int null = child_open("/dev/null", O_RDWR);
        if (null < 0) return -1;
        if (null != target) {
            if (child_duplicate(null, target) < 0) return -1;
            if (!given(descriptors, index, null)) child_close(null);
        }
    }
    for (int descriptor = 0; descriptor < highest; descriptor++) {
        if (!given(descriptors, count, descriptor)) child_close(descriptor);
    }
    closefrom(highest + 1);
    return 0;
}

// Like execvpe(3) with this process's PATH, without its fallback to a shell.
IN_CHILD static void execute(const struct spawn *spawn) {
    if (strchr(spawn->executable, '/') != NULL) {
        execve(spawn->executable, spawn->arguments, spawn->environment);
        return;
    }
    const char *directory = getenv("PATH");
    if (directory == NULL) directory = "/bin:/usr/bin";
    int was_refused = 0;
    char path[PATH_MAX];
    for (const char *end; ; directory = end + 1) {
        end = strchrnul(directory, ':');
        int length = snprintf(path, sizeof path, "%.*s%s%s", (int)(end - directory), directory, end > directory ? "/" : "", spawn->executable);
        if (length < (int)sizeof path) {
            execve(path, spawn->arguments, spawn->environment);
            if (errno == EACCES) was_refused = 1;
            else if (errno != ENOENT && errno != ENOTDIR && errno != ESTALE && errno != ENODEV && errno != ETIMEDOUT) return;
        }
        if (*end == 0) break;
    }
    errno = was_refused ? EACCES : ENOENT;
}

IN_CHILD static int become(void *context) {
    struct spawn *spawn = context;
    if (spawn->dies_with_parent) {
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) goto failed;
        // The check comes after arming: a parent that ended in between would be missed.
        if (getppid() != spawn->parent) {
            errno = ESRCH;
            goto failed;
        }
    }
    // Before the other steps: a stop of the terminal's group would stop the child too, and with it the parent, which waits for it.
    if (setsid() < 0) goto failed;
    reset_signals();
    if (spawn->working_directory != NULL && chdir(spawn->working_directory) != 0) goto failed;
    if (move_descriptors(spawn->descriptors, spawn->count) != 0) goto failed;
    unblock_signals();
    execute(spawn);
failed:
    spawn->error = errno != 0 ? errno : EIO;
    // Unlike _exit(2) it has no other meaning to the sanitizer, which would report on the parent now.
    _Exit(127);
}

pid_t coordinator_process_spawn(
    const char *executable,
    char *const *arguments,
    char *const *environment,
    const char *working_directory,
    const struct coordinator_process_descriptor *descriptors,
    int count,
    int dies_with_parent)
{
    struct spawn spawn = {
        .executable = executable,
        .arguments = arguments,
        .environment = environment != NULL ? environment : environ,
        .working_directory = working_directory,
        .descriptors = descriptors,
        .count = count,
        .dies_with_parent = dies_with_parent,
        .parent = getpid(),
    };
    size_t size = 256 * 1024;
    char *stack = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (stack == MAP_FAILED) return -errno;
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &former);
    // The parent waits until the child has become the program or ended, as posix_spawn(3) does: until then the child runs in its memory.
    pid_t process = clone(become, stack + size, CLONE_VM | CLONE_VFORK | SIGCHLD, &spawn);
    int error = process < 0 ? errno : spawn.error;
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    munmap(stack, size);
    if (process > 0 && error != 0) coordinator_process_reap_number(process, 1);
    return error == 0 ? process : -error;
}

static int result_of(long result) {
    return result < 0 ? -errno : (int)result;
}

int coordinator_process_open(pid_t process) {
    return result_of(syscall(SYS_pidfd_open, process, 0));
}

int coordinator_process_signal(int descriptor, int signal) {
    return result_of(syscall(SYS_pidfd_send_signal, descriptor, signal, NULL, 0));
}

int coordinator_process_signal_group(int descriptor, int signal) {
    return result_of(syscall(SYS_pidfd_send_signal, descriptor, signal, NULL, PIDFD_SIGNAL_PROCESS_GROUP));
}

static int wait_for(idtype_t type, id_t identifier, int options, siginfo_t *information) {
    int result;
    memset(information, 0, sizeof *information);
    do {
        result = waitid(type, identifier, information, options);
    } while (result < 0 && errno == EINTR);
    if (result < 0) return -errno;
    return information->si_pid != 0;
}

int coordinator_process_reap(int descriptor, struct coordinator_process_exit *exit) {
    siginfo_t information;
    // P_PIDFD is 3; glibc has the name since 2.36.
    int result = wait_for((idtype_t)3, (id_t)descriptor, WEXITED | WNOHANG, &information);
    if (result == 1) {
        int by_itself = information.si_code == CLD_EXITED;
        exit->code = by_itself ? information.si_status : 0;
        exit->signal = by_itself ? 0 : information.si_status;
        exit->core_dumped = information.si_code == CLD_DUMPED;
    }
    return result;
}

int coordinator_process_reap_number(pid_t process, int block) {
    siginfo_t information;
    return wait_for(P_PID, (id_t)process, WEXITED | (block ? 0 : WNOHANG), &information);
}

int coordinator_process_pipe(int *reading, int *writing) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
    // The two ends are separate open files: the child's stays blocking.
    if (fcntl(ends[0], F_SETFL, O_RDONLY | O_NONBLOCK) < 0) {
        int error = errno;
        close(ends[0]);
        close(ends[1]);
        return -error;
    }
    *reading = ends[0];
    *writing = ends[1];
    return 0;
}

int coordinator_process_blocking_pipe(int *reading, int *writing) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
    *reading = ends[0];
    *writing = ends[1];
    return 0;
}

int coordinator_process_duplicate(int descriptor, int minimum) {
    return result_of(fcntl(descriptor, F_DUPFD_CLOEXEC, minimum));
}

ssize_t coordinator_process_read(int descriptor, void *buffer, size_t count) {
    ssize_t result;
    do {
        result = read(descriptor, buffer, count);
    } while (result < 0 && errno == EINTR);
    return result < 0 ? -errno : result;
}

int coordinator_process_available(int descriptor) {
    int bytes = 0;
    if (ioctl(descriptor, FIONREAD, &bytes) < 0) return -errno;
    return bytes;
}

int coordinator_process_event_descriptor(void) {
    return result_of(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

int coordinator_process_poll_descriptor(void) {
    return result_of(epoll_create1(EPOLL_CLOEXEC));
}

int coordinator_process_poll_add(int poll, int descriptor, uint64_t token) {
    struct epoll_event event = {.events = EPOLLIN, .data = {.u64 = token}};
    return result_of(epoll_ctl(poll, EPOLL_CTL_ADD, descriptor, &event));
}

int coordinator_process_poll_remove(int poll, int descriptor) {
    return result_of(epoll_ctl(poll, EPOLL_CTL_DEL, descriptor, NULL));
}

int coordinator_process_poll_wait(int poll, uint64_t *tokens, int capacity, int milliseconds) {
    struct epoll_event events[64];
    int result = epoll_wait(poll, events, capacity < 64 ? capacity : 64, milliseconds);
    if (result < 0) return -errno;
    for (int index = 0; index < result; index++) tokens[index] = events[index].data.u64;
    return result;
}

struct thread_start {
    void (*body)(void *);
    void *context;
};

static void *run_thread(void *argument) {
    struct thread_start start = *(struct thread_start *)argument;
    free(argument);
    pthread_setname_np(pthread_self(), "processes");
    start.body(start.context);
    return NULL;
}

int coordinator_process_start_thread(void (*body)(void *), void *context) {
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all;
    struct thread_start *start = malloc(sizeof *start);
    if (start == NULL) return -ENOMEM;
    start->body = body;
    start->context = context;
    int error = pthread_attr_init(&attributes);
    if (error == 0) {
        sigfillset(&all);
        error = pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        if (error == 0) error = pthread_attr_setsigmask_np(&attributes, &all);
        if (error == 0) error = pthread_create(&thread, &attributes, run_thread, start);
        pthread_attr_destroy(&attributes);
    }
    if (error != 0) free(start);
    return -error;
}

ssize_t coordinator_process_read_file(const char *path, void *buffer, size_t count) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return -errno;
    size_t filled = 0;
    ssize_t result = 0;
    while (filled < count) {
        result = coordinator_process_read(descriptor, (char *)buffer + filled, count - filled);
        if (result <= 0) break;
        filled += (size_t)result;
    }
    close(descriptor);
    return result < 0 ? result : (ssize_t)filled;
}

int coordinator_process_count_descriptors(void) {
    struct stat information;
    // Since Linux 6.2 the directory's size is the count; before, it is 0 and the entries have to be counted.
    if (stat("/proc/self/fd", &information) == 0 && information.st_size > 0) return (int)information.st_size;
    DIR *directory = opendir("/proc/self/fd");
    if (directory == NULL) return -errno;
    int count = 0;
    while (readdir(directory) != NULL) count++;
    closedir(directory);
    // Without ".", ".." and the directory's own descriptor.
    return count > 3 ? count - 3 : 0;
}

int coordinator_process_set_parent_death_signal(int signal) {
    return result_of(prctl(PR_SET_PDEATHSIG, (unsigned long)signal, 0, 0, 0));
}

int coordinator_process_parent_death_signal(void) {
    int signal = 0;
    if (prctl(PR_GET_PDEATHSIG, (unsigned long)&signal, 0, 0, 0) < 0) return -errno;
    return signal;
}

int coordinator_process_become_subreaper(void) {
    return result_of(prctl(PR_SET_CHILD_SUBREAPER, 1UL, 0, 0, 0));
}

pid_t coordinator_process_ended_child(void) {
    siginfo_t information;
    int result = wait_for(P_ALL, 0, WEXITED | WNOWAIT, &information);
    return result < 0 ? result : information.si_pid;
}

int coordinator_process_is_main_thread(void) {
    return syscall(SYS_gettid) == getpid();
}

void coordinator_process_ignore_broken_pipes(void) {
    signal(SIGPIPE, SIG_IGN);
}

const char *coordinator_process_signal_name(int signal) {
    return sigabbrev_np(signal);
}

const char *coordinator_process_error_name(int error) {
    return strerrorname_np(error);
}

int coordinator_process_limit_data(pid_t pid, uint64_t bytes) {
    struct rlimit limit = {.rlim_cur = bytes, .rlim_max = bytes};
    return prlimit(pid, RLIMIT_DATA, &limit, NULL) == 0 ? 0 : errno;
}
