#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "CProcess.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <limits.h>
#include <linux/sched.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

// The headers of glibc 2.36 don't have this yet.
#ifndef PIDFD_SIGNAL_PROCESS_GROUP
#define PIDFD_SIGNAL_PROCESS_GROUP (1U << 2)
#endif

extern char **environ;

// Between clone and execve the child runs in the parent's memory, where a sanitizer keeps its records of the parent. Its functions would
// note there what the child does: closed descriptors, forgotten signal handlers, calls that never return. So the child's functions aren't
// instrumented, and make their system calls themselves. The thread sanitizer's clone(2) refuses CLONE_VM; the C library's functions have
// second names, which the sanitizers don't replace.
#define IN_CHILD
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
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
    const struct coordinator_process_attributes *attributes;
    pid_t parent;
    // The file by which the child joins its control group, if it isn't born in it; -1: none.
    int group;
    int error;
    // The step that has failed; 0: one that the error number alone explains.
    int step;
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

// Writes the child's own number into a LISTEN_PID of zeros, which its parent can't know before: sd_listen_fds(3) compares the two.
IN_CHILD static void name_process(char *const *environment) {
    static const char name[] = "LISTEN_PID=0000000000";
    for (char *const *entry = environment; entry != NULL && *entry != NULL; entry++) {
        int index = 0;
        while (name[index] != 0 && (*entry)[index] == name[index]) index++;
        if (name[index] != 0 || (*entry)[index] != 0) continue;
        char digits[10];
        int count = 0;
        for (long number = syscall(SYS_getpid); number > 0 && count < 10; number /= 10) digits[count++] = (char)('0' + number % 10);
        char *value = *entry + 11;
        while (count > 0) *value++ = digits[--count];
        *value = 0;
        return;
    }
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

// Makes the system calls itself: the C library's functions change the user of all threads, and find those of the parent.
IN_CHILD static int change_user(struct spawn *spawn, const struct coordinator_process_attributes *attributes) {
    spawn->step = COORDINATOR_PROCESS_GROUPS;
    if (syscall(SYS_setgroups, (size_t)attributes->group_count, attributes->groups) != 0) return -1;
    spawn->step = COORDINATOR_PROCESS_GROUP;
    if (syscall(SYS_setresgid, attributes->group, attributes->group, attributes->group) != 0) return -1;
    spawn->step = COORDINATOR_PROCESS_USER;
    if (syscall(SYS_setresuid, attributes->user, attributes->user, attributes->user) != 0) return -1;
    return 0;
}

// The user comes last, since another one may not raise limits and priority.
IN_CHILD static int apply(struct spawn *spawn, const struct coordinator_process_attributes *attributes) {
    for (int index = 0; index < attributes->limit_count; index++) {
        const struct coordinator_process_limit *given = &attributes->limits[index];
        struct rlimit limit = {.rlim_cur = given->soft, .rlim_max = given->hard};
        spawn->step = COORDINATOR_PROCESS_LIMIT + index;
        if (syscall(SYS_prlimit64, 0, given->resource, &limit, NULL) != 0) return -1;
    }
    spawn->step = COORDINATOR_PROCESS_PRIORITY;
    if (attributes->has_nice && syscall(SYS_setpriority, PRIO_PROCESS, 0, attributes->nice) != 0) return -1;
    if (attributes->umask >= 0) syscall(SYS_umask, attributes->umask);
    if (attributes->changes_user && change_user(spawn, attributes) != 0) return -1;
    spawn->step = 0;
    return 0;
}

// A change of the user disarms the signal, so this follows it.
IN_CHILD static int arm_parent_death_signal(const struct spawn *spawn) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return -1;
    // The check comes after arming: a parent that ended in between would be missed.
    if (getppid() == spawn->parent) return 0;
    errno = ESRCH;
    return -1;
}

IN_CHILD static int become(void *context) {
    struct spawn *spawn = context;
    // Where this fails, the child stays in the parent's group: the group is a further way to find the child's descendants, not the only one.
    if (spawn->group >= 0) syscall(SYS_write, spawn->group, "0", 1);
    // Before the other steps: a stop of the terminal's group would stop the child too, and with it the parent, which waits for it.
    if (setsid() < 0) goto failed;
    reset_signals();
    // Before the limits, one of which may be a number of descriptors.
    if (move_descriptors(spawn->descriptors, spawn->count) != 0) goto failed;
    if (spawn->attributes != NULL && apply(spawn, spawn->attributes) != 0) goto failed;
    if (spawn->dies_with_parent && arm_parent_death_signal(spawn) != 0) goto failed;
    // As the child's user, who may not be allowed to enter every directory.
    if (spawn->working_directory != NULL && chdir(spawn->working_directory) != 0) {
        spawn->step = COORDINATOR_PROCESS_DIRECTORY;
        goto failed;
    }
    unblock_signals();
    name_process(spawn->environment);
    execute(spawn);
failed:
    spawn->error = errno != 0 ? errno : EIO;
    // Unlike _exit(2) it has no other meaning to the sanitizer, which would report on the parent now.
    _Exit(127);
}

// A stack for a child that runs in the parent's memory.
static const size_t stack_size = 256 * 1024;

static char *make_stack(void) {
    return mmap(NULL, stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
}

// Clones the child as posix_spawn(3) does: it runs in the parent's memory, and the parent waits until the child has become the program or
// ended.
static pid_t clone_in_memory(struct spawn *spawn) {
    char *stack = make_stack();
    if (stack == MAP_FAILED) return -errno;
    pid_t process = clone(become, stack + stack_size, CLONE_VM | CLONE_VFORK | SIGCHLD, spawn);
    int error = errno;
    munmap(stack, stack_size);
    return process < 0 ? -error : process;
}

// clone3(2), in which the child calls `become` on its own stack. The C library has no such function, and with syscall(2) the child would
// return on the stack on which it begins, which is empty.
//
// Returns the child's number, or the negated errno.
static long clone3_becoming(struct clone_args *arguments, struct spawn *spawn) {
#if defined(__x86_64__)
    long result = SYS_clone3;
    __asm__ volatile(
        "syscall\n\t"
        "testq %%rax, %%rax\n\t"
        "jnz 1f\n\t"
        "xorl %%ebp, %%ebp\n\t"
        "movq %[spawn], %%rdi\n\t"
        "callq *%[become]\n\t"
        "hlt\n"
        "1:"
        : "+a"(result)
        : "D"(arguments), "S"(sizeof *arguments), [spawn] "r"(spawn), [become] "r"(become)
        : "rcx", "r11", "cc", "memory");
    return result;
#elif defined(__aarch64__)
    register long number __asm__("x8") = SYS_clone3;
    register long result __asm__("x0") = (long)arguments;
    register long size __asm__("x1") = sizeof *arguments;
    __asm__ volatile(
        "svc #0\n\t"
        "cbnz x0, 1f\n\t"
        "mov x29, xzr\n\t"
        "mov x0, %[spawn]\n\t"
        "blr %[become]\n\t"
        "brk #1\n"
        "1:"
        : "+r"(result)
        : "r"(number), "r"(size), [spawn] "r"(spawn), [become] "r"(become)
        : "cc", "memory");
    return result;
#else
    return -ENOSYS;
#endif
}

// Clones the child into a control group, in the parent's memory as above.
//
// A child that joins its group by itself takes milliseconds, since the kernel stops all forks for that. One that gets a copy of the parent's
// memory takes the longer the more memory the parent has (4 ms with 30 MB, 34 ms with 300 MB), and each page that the parent writes to
// afterwards is copied: so the call is made without the C library.
static pid_t clone_in_group(struct spawn *spawn, int group) {
    char *stack = make_stack();
    if (stack == MAP_FAILED) return -errno;
    struct clone_args arguments = {
        .flags = CLONE_VM | CLONE_VFORK | CLONE_INTO_CGROUP,
        .exit_signal = SIGCHLD,
        .stack = (uint64_t)(uintptr_t)stack,
        .stack_size = stack_size,
        .cgroup = (uint64_t)group,
    };
    long process = clone3_becoming(&arguments, spawn);
    munmap(stack, stack_size);
    return (pid_t)process;
}

// Clones the child with a copy of the parent's memory, and with it of the stack; only `spawn` is shared. The parent waits as above.
//
// This is for one that becomes another user's: if it shared the parent's memory meanwhile, the kernel would treat that memory as the other
// user's business, and forbid that the parent is traced.
static pid_t clone_apart(struct spawn *spawn, int group) {
    struct spawn *shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) return -errno;
    *shared = *spawn;
    struct clone_args arguments = {
        .flags = CLONE_VFORK | (group < 0 ? 0 : CLONE_INTO_CGROUP),
        .exit_signal = SIGCHLD,
        .cgroup = group < 0 ? 0 : (uint64_t)group,
    };
    long process = group < 0 ? syscall(SYS_clone, CLONE_VFORK | SIGCHLD, 0, 0, 0, 0) : syscall(SYS_clone3, &arguments, sizeof arguments);
    if (process == 0) become(shared);
    int error = errno;
    spawn->error = shared->error;
    spawn->step = shared->step;
    munmap(shared, sizeof *shared);
    return process < 0 ? -error : (pid_t)process;
}

static int changes_user(const struct spawn *spawn) {
    return spawn->attributes != NULL && spawn->attributes->changes_user;
}

// Clones the child, if possible into the control group of this directory.
static pid_t clone_child(struct spawn *spawn, const char *group) {
    int directory = group == NULL ? -1 : open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (directory < 0) return changes_user(spawn) ? clone_apart(spawn, -1) : clone_in_memory(spawn);
    pid_t process = changes_user(spawn) ? clone_apart(spawn, directory) : clone_in_group(spawn, directory);
    if (process < 0) {
        // Old kernels, and containers that hide the call: the child joins the group by itself.
        spawn->group = openat(directory, "cgroup.procs", O_WRONLY | O_CLOEXEC);
        process = changes_user(spawn) ? clone_apart(spawn, -1) : clone_in_memory(spawn);
        if (spawn->group >= 0) close(spawn->group);
    }
    close(directory);
    return process;
}

pid_t coordinator_process_spawn(
    const char *executable,
    char *const *arguments,
    char *const *environment,
    const char *working_directory,
    const struct coordinator_process_descriptor *descriptors,
    int count,
    int dies_with_parent,
    const char *control_group,
    const struct coordinator_process_attributes *attributes)
{
    struct spawn spawn = {
        .executable = executable,
        .arguments = arguments,
        .environment = environment != NULL ? environment : environ,
        .working_directory = working_directory,
        .descriptors = descriptors,
        .count = count,
        .dies_with_parent = dies_with_parent,
        .attributes = attributes,
        .parent = getpid(),
        .group = -1,
    };
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &former);
    pid_t process = clone_child(&spawn, control_group);
    int error = process < 0 ? -process : spawn.error;
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    if (process > 0 && error != 0) coordinator_process_reap_number(process, 1);
    return error == 0 ? process : -(spawn.step << COORDINATOR_PROCESS_STEP_SHIFT | error);
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

int coordinator_process_open_fifo(const char *path) {
    struct stat information;
    int descriptor = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOFOLLOW);
    if (descriptor < 0) return -errno;
    int error = fstat(descriptor, &information) < 0 ? errno : 0;
    if (error == 0 && information.st_uid != geteuid()) error = EPERM;
    if (error == 0 && !S_ISFIFO(information.st_mode)) error = EINVAL;
    if (error == 0) return descriptor;
    close(descriptor);
    return -error;
}

int coordinator_process_make_fifo(const char *path, int size, int *reading, int *writing) {
    if (mkfifo(path, 0600) < 0) return -errno;
    int error;
    // Opened for both directions, so that neither open waits for the other end, and the file description that the child gets blocks.
    int writer = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    if (writer < 0) {
        error = errno;
    } else {
        if (size > 0) fcntl(writer, F_SETPIPE_SZ, size);
        int reader = coordinator_process_open_fifo(path);
        if (reader >= 0) {
            *reading = reader;
            *writing = writer;
            return 0;
        }
        error = -reader;
        close(writer);
    }
    unlink(path);
    return -error;
}

static int is_at(int descriptor, const char *path) {
    struct stat opened, present;
    if (fstat(descriptor, &opened) < 0 || lstat(path, &present) < 0) return 0;
    return opened.st_dev == present.st_dev && opened.st_ino == present.st_ino;
}

int coordinator_process_lock_file(const char *path) {
    while (1) {
        int descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (descriptor < 0) return -errno;
        if (flock(descriptor, LOCK_EX | LOCK_NB) < 0) {
            int error = errno;
            close(descriptor);
            if (error == EINTR) continue;
            return -error;
        }
        if (is_at(descriptor, path)) return descriptor;
        // The former holder has removed the file between the two calls: a lock on it would exclude nobody.
        close(descriptor);
    }
}

int coordinator_process_datagram_socket(const char *path, uid_t owner) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) return -ENAMETOOLONG;
    strcpy(address.sun_path, path);
    int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (descriptor < 0) return -errno;
    // The mode of the open socket becomes that of the file: no other user can send at any moment.
    if (fchmod(descriptor, 0600) == 0 && bind(descriptor, (struct sockaddr *)&address, sizeof address) == 0) {
        if (owner == geteuid() || lchown(path, owner, (gid_t)-1) == 0) return descriptor;
        int error = errno;
        unlink(path);
        close(descriptor);
        return -error;
    }
    int error = errno;
    close(descriptor);
    return -error;
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

ssize_t coordinator_process_attribute(const char *path, const char *name, void *buffer, size_t count) {
    ssize_t result = getxattr(path, name, buffer, count);
    return result < 0 ? -errno : result;
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

void coordinator_process_trim_memory(void) { malloc_trim(0); }

void coordinator_process_limit_arenas(int count) { mallopt(M_ARENA_MAX, count); }

// Whether the linker has written into the object's code, which can't be read from the file again.
static int has_relocated_code(const struct dl_phdr_info *object) {
    for (int i = 0; i < object->dlpi_phnum; i++) {
        if (object->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
        const ElfW(Dyn) *entry = (const ElfW(Dyn) *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++) {
            if (entry->d_tag == DT_TEXTREL || (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL))) return 1;
        }
    }
    return 0;
}

static int unmap_code(struct dl_phdr_info *object, size_t size, void *context) {
    (void)size;
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    if (has_relocated_code(object)) return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X) || (segment->p_flags & PF_W)) continue;
        uintptr_t start = object->dlpi_addr + segment->p_vaddr;
        uintptr_t first = start / page * page;
        madvise((void *)first, start + segment->p_filesz - first, MADV_DONTNEED);
    }
    return 0;
}

void coordinator_process_unmap_code(void) { dl_iterate_phdr(unmap_code, NULL); }

int coordinator_process_replace(const char *executable, char *const *arguments, char *const *environment) {
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &former);
    execve(executable, arguments, environment);
    int error = errno;
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    return -error;
}

int coordinator_process_keep_descriptor(int descriptor, int is_kept) {
    return result_of(fcntl(descriptor, F_SETFD, is_kept ? 0 : FD_CLOEXEC));
}

int coordinator_process_memory_file(const char *name) {
    return result_of(memfd_create(name, MFD_CLOEXEC));
}

void coordinator_process_unblock_signals(void) {
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, NULL);
}
