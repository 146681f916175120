#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "CProcess.h"

#include "CCalls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <limits.h>
#include <linux/capability.h>
#include <linux/magic.h>
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
#include <sys/vfs.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

// The headers of glibc 2.36 don't have this yet.
#ifndef PIDFD_SIGNAL_PROCESS_GROUP
#define PIDFD_SIGNAL_PROCESS_GROUP (1U << 2)
#endif

extern char **environ;

#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
// The thread sanitizer's clone(2) refuses CLONE_VM.
extern int __clone(int (*function)(void *), void *stack, int flags, void *argument, ...);
#define clone __clone
#endif
#endif

// Whether `call` leaves errno alone, so that a child may run in the parent's memory.
#if defined(__x86_64__) || defined(__aarch64__)
#define RUNS_IN_MEMORY 1
#else
#define RUNS_IN_MEMORY 0
#endif

// What the child needs, in one region of memory with its stack: it stays until the child has become the program, or has ended.
struct spawn {
    // The paths to try in turn, ended by NULL.
    char **paths;
    char **arguments;
    char **environment;
    const char *working_directory;
    struct coordinator_process_descriptor *descriptors;
    int count;
    int dies_with_parent;
    struct coordinator_process_attributes *attributes;
    pid_t parent;
    // The file by which the child joins its control group, if it isn't born in it; -1: none.
    int group;
    // Whether the child isn't to run without its control group.
    int must_join_group;
    // The pipe into which the child writes why it can't become the program.
    int status;
    // The ten digits of LISTEN_PID in the environment; NULL: there are none.
    char *process_number;
    // The number of descriptors that may be open in the parent.
    int descriptor_limit;
    // The step that fails if anything does; 0: one that the error number alone explains.
    int step;
    size_t size;
    char *stack_end;
};

IN_CHILD static int given(const struct spawn *spawn, int count, int target) {
    for (int index = 0; index < count; index++) {
        if (spawn->descriptors[index].target == target) return 1;
    }
    return 0;
}

// The kernel's form of a signal's handling, which is SIG_DFL when all of it is 0.
struct handling {
    unsigned long fields[3 + _NSIG / (8 * sizeof(unsigned long))];
};

// Every signal is blocked here, so no handler of the parent runs in the child before the handlers are reset.
IN_CHILD static void reset_signals(void) {
    // Static: the compiler fills a variable by the C library's memset, which a sanitizer has replaced by one that needs a thread of the parent's.
    static const struct handling handling;
    for (int signal = 1; signal < NSIG; signal++) CALL(SYS_rt_sigaction, signal, &handling, 0, 8);
}

IN_CHILD static void unblock_signals(void) {
    unsigned long none = 0;
    CALL(SYS_rt_sigprocmask, SIG_SETMASK, &none, 0, 8);
}

// Moves the pipe for the status to the first number above the targets, and closes all others.
IN_CHILD static long move_descriptors(struct spawn *spawn) {
    int highest = -1;
    for (int index = 0; index < spawn->count; index++) {
        int source = spawn->descriptors[index].source;
        int target = spawn->descriptors[index].target;
        long result;
        if (target > highest) highest = target;
        // Sources and the status lie above all targets, so none overwrites the source of a later one, and no dup2 is onto itself.
        if (source >= 0) {
            if ((result = CALL(SYS_dup3, source, target, 0)) < 0) return result;
            continue;
        }
        static const char device[] = "/dev/null";
        int null = (int)CALL(SYS_openat, AT_FDCWD, device, O_RDWR);
        if (null < 0) return null;
        if (null != target) {
            if ((result = CALL(SYS_dup3, null, target, 0)) < 0) return result;
            if (!given(spawn, index, null) && null != spawn->status) CALL(SYS_close, null);
        }
    }
    for (int descriptor = 0; descriptor < highest; descriptor++) {
        if (!given(spawn, spawn->count, descriptor)) CALL(SYS_close, descriptor);
    }
    int status = highest + 1;
    if (spawn->status != status) {
        long result = CALL(SYS_dup3, spawn->status, status, O_CLOEXEC);
        if (result < 0) return result;
        spawn->status = status;
    }
    // Linux 5.9.
    if (CALL(SYS_close_range, status + 1, ~0U, 0) < 0) {
        for (int descriptor = status + 1; descriptor < spawn->descriptor_limit; descriptor++) CALL(SYS_close, descriptor);
    }
    return 0;
}

// Writes the child's own number into a LISTEN_PID of zeros, which its parent can't know before: sd_listen_fds(3) compares the two.
IN_CHILD static void name_process(const struct spawn *spawn) {
    if (spawn->process_number == NULL) return;
    char digits[10];
    int count = 0;
    for (long number = CALL(SYS_getpid, 0); number > 0 && count < 10; number /= 10) digits[count++] = (char)('0' + number % 10);
    char *value = spawn->process_number;
    while (count > 0) *value++ = digits[--count];
    *value = 0;
}

// Like execvpe(3), without its fallback to a shell.
IN_CHILD static long execute(struct spawn *spawn) {
    long refusal = -ENOENT;
    for (char **path = spawn->paths; *path != NULL; path++) {
        long result = CALL(SYS_execve, *path, spawn->arguments, spawn->environment);
        if (result == -EACCES) refusal = result;
        else if (result != -ENOENT && result != -ENOTDIR && result != -ESTALE && result != -ENODEV && result != -ETIMEDOUT) return result;
        // One path is one that the caller has given.
        if (spawn->paths[1] != NULL) continue;
        // There is a file, so it's the interpreter that isn't there.
        if (result == -ENOENT && CALL(SYS_faccessat, AT_FDCWD, *path, F_OK) == 0) spawn->step = COORDINATOR_PROCESS_INTERPRETER;
        return result;
    }
    return refusal;
}

// Makes the system calls itself: the C library's functions change the user of all threads, and find those of the parent.
IN_CHILD static long change_user(struct spawn *spawn, const struct coordinator_process_attributes *attributes) {
    long result;
    spawn->step = COORDINATOR_PROCESS_GROUPS;
    if ((result = CALL(SYS_setgroups, attributes->group_count, attributes->groups)) < 0) return result;
    spawn->step = COORDINATOR_PROCESS_GROUP;
    if ((result = CALL(SYS_setresgid, attributes->group, attributes->group, attributes->group)) < 0) return result;
    spawn->step = COORDINATOR_PROCESS_USER;
    return CALL(SYS_setresuid, attributes->user, attributes->user, attributes->user);
}

// See oom_score_adj in proc_pid_oom_score_adj(5).
IN_CHILD static long set_oom_score(int score) {
    char digits[8];
    int start = sizeof digits, rest = score < 0 ? -score : score;
    do {
        digits[--start] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest > 0);
    if (score < 0) digits[--start] = '-';
    int file = (int)CALL(SYS_openat, AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file < 0) return file;
    long result = CALL(SYS_write, file, digits + start, (int)sizeof digits - start);
    CALL(SYS_close, file);
    return result < 0 ? result : 0;
}

// Takes all other capabilities out of the bounding set; see capabilities(7). A number that the kernel doesn't know ends the set.
IN_CHILD static long bound_capabilities(uint64_t capabilities) {
    for (int number = 0; number < 64; number++) {
        long result = CALL(SYS_prctl, PR_CAPBSET_READ, number);
        if (result < 0) break;
        if (result == 0 || (capabilities >> number & 1)) continue;
        if ((result = CALL(SYS_prctl, PR_CAPBSET_DROP, number)) < 0) return result;
    }
    return 0;
}

// Has the capabilities, and hands them on to the program, whoever its user is.
IN_CHILD static long take_capabilities(uint64_t capabilities) {
    struct __user_cap_header_struct header;
    header.version = _LINUX_CAPABILITY_VERSION_3;
    header.pid = 0;
    struct __user_cap_data_struct data[2];
    for (int half = 0; half < 2; half++) {
        uint32_t bits = (uint32_t)(capabilities >> (32 * half));
        data[half].effective = data[half].permitted = data[half].inheritable = bits;
    }
    long result = CALL(SYS_capset, &header, data);
    if (result < 0) return result;
    if ((result = CALL(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)) < 0) return result;
    for (int number = 0; number < 64; number++) {
        if ((capabilities >> number & 1) == 0) continue;
        if ((result = CALL(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number)) < 0) return result;
    }
    return 0;
}

// The user comes last, since another one may not raise limits and priority.
IN_CHILD static long apply(struct spawn *spawn, const struct coordinator_process_attributes *attributes) {
    long result;
    // Before the limits, one of which may be a number of descriptors.
    spawn->step = COORDINATOR_PROCESS_OOM_SCORE;
    if (attributes->has_oom_score && (result = set_oom_score(attributes->oom_score)) < 0) return result;
    for (int index = 0; index < attributes->limit_count; index++) {
        const struct coordinator_process_limit *given = &attributes->limits[index];
        uint64_t limit[2] = {given->soft, given->hard};
        spawn->step = COORDINATOR_PROCESS_LIMIT + index;
        if ((result = CALL(SYS_prlimit64, 0, given->resource, limit, 0)) < 0) return result;
    }
    spawn->step = COORDINATOR_PROCESS_PRIORITY;
    if (attributes->has_nice && (result = CALL(SYS_setpriority, PRIO_PROCESS, 0, attributes->nice)) < 0) return result;
    if (attributes->umask >= 0) CALL(SYS_umask, attributes->umask);
    if (attributes->has_capabilities) {
        spawn->step = COORDINATOR_PROCESS_CAPABILITIES;
        if ((result = bound_capabilities(attributes->capabilities)) < 0) return result;
        if ((result = CALL(SYS_prctl, PR_SET_KEEPCAPS, 1)) < 0) return result;
    }
    if (attributes->changes_user && (result = change_user(spawn, attributes)) < 0) return result;
    if (attributes->has_capabilities) {
        spawn->step = COORDINATOR_PROCESS_CAPABILITIES;
        if ((result = take_capabilities(attributes->capabilities)) < 0) return result;
    }
    spawn->step = 0;
    return 0;
}

// A change of the user disarms the signal, so this follows it.
IN_CHILD static long arm_parent_death_signal(const struct spawn *spawn) {
    long result = CALL(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    if (result < 0) return result;
    // The check comes after arming: a parent that ended in between would be missed.
    return CALL(SYS_getppid, 0) == spawn->parent ? 0 : -ESRCH;
}

// The steps up to the program; returns the negated errno of the one that has failed.
IN_CHILD static long prepare_and_execute(struct spawn *spawn) {
    long result;
    // Until it has an environment of its own, which names its place in the tree, who comes after a killed parent wouldn't find it.
    if ((result = arm_parent_death_signal(spawn)) < 0) return result;
    // Where this fails, a child without limits stays in the parent's group: a group is a further way to find descendants, not the only one.
    if (spawn->group >= 0 && (result = CALL(SYS_write, spawn->group, "0", 1)) < 0 && spawn->must_join_group) {
        spawn->step = COORDINATOR_PROCESS_CONTROL_GROUP;
        return result;
    }
    if ((result = CALL(SYS_setsid, 0)) < 0) return result;
    reset_signals();
    // Before the limits, one of which may be a number of descriptors.
    if ((result = move_descriptors(spawn)) < 0) return result;
    if (spawn->attributes != NULL && (result = apply(spawn, spawn->attributes)) < 0) return result;
    if ((result = arm_parent_death_signal(spawn)) < 0) return result;
    // From here on a file system may take any time. As the child's user, who may not be allowed to enter every directory.
    if (spawn->working_directory != NULL && (result = CALL(SYS_chdir, spawn->working_directory)) < 0) {
        spawn->step = COORDINATOR_PROCESS_DIRECTORY;
        return result;
    }
    unblock_signals();
    name_process(spawn);
    if (!spawn->dies_with_parent) CALL(SYS_prctl, PR_SET_PDEATHSIG, 0);
    return execute(spawn);
}

IN_CHILD static int become(void *context) {
    struct spawn *spawn = context;
    int failure = (int)-prepare_and_execute(spawn);
    failure |= spawn->step << COORDINATOR_PROCESS_STEP_SHIFT;
    CALL(SYS_write, spawn->status, &failure, sizeof failure);
    while (1) CALL(SYS_exit_group, 127);
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
        "movq %[spawn], %%rdi\n\t"
        "movq %[become], %%rax\n\t"
        "xorl %%ebp, %%ebp\n\t"
        "callq *%%rax\n\t"
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

// The stack of a child that runs in the parent's memory.
static const size_t stack_size = 64 * 1024;

// Clones the child so that it runs in the parent's memory, and into a control group, unless `group` is -1.
//
// Unlike with vfork(2) the parent goes on: a directory or an executable that hangs must not hang the parent.
//
// A child that joins its group by itself takes milliseconds, since the kernel stops all forks for that. One that gets a copy of the parent's
// memory takes the longer the more memory the parent has (4 ms with 30 MB, 34 ms with 300 MB), and each page that the parent writes to
// afterwards is copied: so the call is made without the C library.
static pid_t clone_in_memory(struct spawn *spawn, int group) {
    if (group < 0) {
        pid_t process = clone(become, spawn->stack_end, CLONE_VM | SIGCHLD, spawn);
        return process < 0 ? -errno : process;
    }
    struct clone_args arguments = {
        .flags = CLONE_VM | CLONE_INTO_CGROUP,
        .exit_signal = SIGCHLD,
        .stack = (uint64_t)(uintptr_t)(spawn->stack_end - stack_size),
        .stack_size = stack_size,
        .cgroup = (uint64_t)group,
    };
    return (pid_t)clone3_becoming(&arguments, spawn);
}

// Clones the child with a copy of the parent's memory.
//
// This is for one that becomes another user's: if it shared the parent's memory meanwhile, the kernel would treat that memory as the other
// user's business, and forbid that the parent is traced.
static pid_t clone_apart(struct spawn *spawn, int group) {
    struct clone_args arguments = {
        .flags = group < 0 ? 0 : CLONE_INTO_CGROUP,
        .exit_signal = SIGCHLD,
        .cgroup = group < 0 ? 0 : (uint64_t)group,
    };
    long process = group < 0 ? syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0) : syscall(SYS_clone3, &arguments, sizeof arguments);
    if (process == 0) become(spawn);
    return process < 0 ? -errno : (pid_t)process;
}

static pid_t clone_into(struct spawn *spawn, int group) {
    const struct coordinator_process_attributes *attributes = spawn->attributes;
    // The score for times without memory is that of all processes that share the memory.
    int is_apart = !RUNS_IN_MEMORY
        || (attributes != NULL && (attributes->changes_user || attributes->has_oom_score || attributes->has_capabilities));
    return is_apart ? clone_apart(spawn, group) : clone_in_memory(spawn, group);
}

// Clones the child, though its control group can't be joined for a reason, unless it must be.
static pid_t clone_outside(struct spawn *spawn, int error) {
    if (!spawn->must_join_group) return clone_into(spawn, -1);
    return -(COORDINATOR_PROCESS_CONTROL_GROUP << COORDINATOR_PROCESS_STEP_SHIFT | error);
}

// Clones the child, if possible into the control group of this directory.
static pid_t clone_child(struct spawn *spawn, const char *group) {
    if (group == NULL) return clone_outside(spawn, ENOENT);
    int directory = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (directory < 0) return clone_outside(spawn, errno);
    pid_t process = clone_into(spawn, directory);
    if (process < 0) {
        // Old kernels, and containers that hide the call: the child joins the group by itself.
        spawn->group = openat(directory, "cgroup.procs", O_WRONLY | O_CLOEXEC);
        process = spawn->group < 0 ? clone_outside(spawn, errno) : clone_into(spawn, -1);
        if (spawn->group >= 0) close(spawn->group);
    }
    close(directory);
    return process;
}

// The rest of a region from which parts are cut; with `start` NULL the parts are only measured.
struct region {
    char *start;
    size_t used;
};

static void *cut(struct region *region, const void *content, size_t size) {
    char *part = region->start == NULL ? NULL : region->start + region->used;
    region->used += (size + 15) & ~(size_t)15;
    if (part != NULL && size > 0 && content != NULL) memcpy(part, content, size);
    return part;
}

static char *cut_string(struct region *region, const char *string) {
    return string == NULL ? NULL : cut(region, string, strlen(string) + 1);
}

static char **cut_strings(struct region *region, char *const *strings) {
    size_t count = 0;
    while (strings[count] != NULL) count++;
    char **copies = cut(region, strings, (count + 1) * sizeof *strings);
    for (size_t index = 0; index < count; index++) {
        char *copy = cut_string(region, strings[index]);
        if (copies != NULL) copies[index] = copy;
    }
    return copies;
}

// Fills a region with what the child needs.
static struct spawn *fill(
    struct region *region,
    const struct spawn *spawn,
    char *const *paths,
    char *const *arguments,
    char *const *environment)
{
    struct spawn *copy = cut(region, spawn, sizeof *spawn);
    char **own_paths = cut_strings(region, paths);
    char **own_arguments = cut_strings(region, arguments);
    char **own_environment = cut_strings(region, environment);
    char *directory = cut_string(region, spawn->working_directory);
    void *descriptors = cut(region, spawn->descriptors, (size_t)spawn->count * sizeof *spawn->descriptors);
    const struct coordinator_process_attributes *given = spawn->attributes;
    struct coordinator_process_attributes *attributes = given == NULL ? NULL : cut(region, given, sizeof *given);
    gid_t *groups = given == NULL ? NULL : cut(region, given->groups, (size_t)given->group_count * sizeof *given->groups);
    void *limits = given == NULL ? NULL : cut(region, given->limits, (size_t)given->limit_count * sizeof *given->limits);
    if (copy == NULL) return NULL;
    copy->paths = own_paths;
    copy->arguments = own_arguments;
    copy->environment = own_environment;
    copy->working_directory = directory;
    copy->descriptors = descriptors;
    copy->attributes = attributes;
    if (attributes != NULL) {
        attributes->groups = groups;
        attributes->limits = limits;
    }
    for (char **entry = own_environment; *entry != NULL; entry++) {
        if (strcmp(*entry, "LISTEN_PID=0000000000") == 0) copy->process_number = *entry + strlen("LISTEN_PID=");
    }
    return copy;
}

pid_t coordinator_process_spawn(
    char *const *paths,
    char *const *arguments,
    char *const *environment,
    const char *working_directory,
    const struct coordinator_process_descriptor *descriptors,
    int count,
    int status,
    int dies_with_parent,
    const char *control_group,
    int must_join_group,
    const struct coordinator_process_attributes *attributes,
    void **memory)
{
    if (environment == NULL) environment = environ;
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    struct spawn spawn = {
        .working_directory = working_directory,
        .descriptors = (struct coordinator_process_descriptor *)descriptors,
        .count = count,
        .dies_with_parent = dies_with_parent,
        .attributes = (struct coordinator_process_attributes *)attributes,
        .parent = getpid(),
        .group = -1,
        .must_join_group = must_join_group,
        .status = status,
        .descriptor_limit = limit.rlim_cur > INT_MAX ? INT_MAX : (int)limit.rlim_cur,
    };
    struct region measured = {0};
    fill(&measured, &spawn, paths, arguments, environment);
    spawn.size = stack_size + measured.used;
    char *region = mmap(NULL, spawn.size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) return -errno;
    spawn.stack_end = region + stack_size;
    struct region filled = {.start = spawn.stack_end};
    struct spawn *own = fill(&filled, &spawn, paths, arguments, environment);
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &former);
    pid_t process = clone_child(own, control_group);
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    *memory = own;
    if (process < 0) {
        coordinator_process_spawn_release(own);
        *memory = NULL;
    }
    return process;
}

void coordinator_process_spawn_release(void *memory) {
    struct spawn *spawn = memory;
    char *stack_end = spawn->stack_end;
    munmap(stack_end - stack_size, spawn->size);
}

// What a process needs that reads a file, in memory that it shares with this one, with its stack.
struct reading {
    char *path;
    int flags;
    int status;
    // The pipe by which the next path is announced, for one that only looks; -1: none.
    int requests;
    int descriptor_limit;
    // The user as whom the file is read: always, or if that user could have replaced it.
    struct coordinator_process_attributes *reader;
    int always_as_reader;
    char *bytes;
    size_t capacity;
    size_t size;
    char *stack_end;
};

IN_CHILD static int64_t read_whole(struct reading *reading) {
    int file = (int)CALL(SYS_openat, AT_FDCWD, reading->path, reading->flags);
    if (file < 0) return -((int64_t)COORDINATOR_PROCESS_NOT_OPENED << 32 | -file);
    struct statx information;
    long result = CALL(SYS_statx, file, "", AT_EMPTY_PATH, STATX_TYPE, &information);
    if (result < 0) return -((int64_t)COORDINATOR_PROCESS_NOT_READ << 32 | -result);
    int kind = information.stx_mode & S_IFMT;
    // Reading a directory tells what it is.
    if (kind != S_IFREG && kind != S_IFDIR) return -((int64_t)COORDINATOR_PROCESS_NOT_REGULAR << 32);
    size_t filled = 0;
    while (filled < reading->capacity) {
        result = CALL(SYS_read, file, reading->bytes + filled, reading->capacity - filled);
        if (result == -EINTR) continue;
        if (result < 0) return -((int64_t)COORDINATOR_PROCESS_NOT_READ << 32 | -result);
        if (result == 0) return (int64_t)filled;
        filled += (size_t)result;
    }
    return -((int64_t)COORDINATOR_PROCESS_TOO_LARGE << 32);
}

// Keeps nothing of the parent's but the pipe, so that a file system that hangs holds no lock and no socket of it.
IN_CHILD static void keep_status_only(struct reading *reading) {
    if (reading->status != 0) CALL(SYS_dup3, reading->status, 0, O_CLOEXEC);
    if (CALL(SYS_close_range, 1, ~0U, 0) < 0) {
        for (int descriptor = 1; descriptor < reading->descriptor_limit; descriptor++) CALL(SYS_close, descriptor);
    }
}

IN_CHILD static int tell_content(void *context) {
    struct reading *reading = context;
    // The thread that waits for the content kills this process anyway when it gives up.
    CALL(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    keep_status_only(reading);
    int64_t result = read_whole(reading);
    CALL(SYS_write, 0, &result, sizeof result);
    while (1) CALL(SYS_exit_group, 0);
}

// What is at a path: the file's mode, above it whether it may be executed, and above that its owner.
IN_CHILD static int64_t mode_of(struct reading *reading) {
    struct statx information;
    int64_t result = CALL(SYS_statx, AT_FDCWD, reading->bytes, 0, STATX_TYPE | STATX_MODE | STATX_UID, &information);
    if (result < 0) return result;
    int is_executable = CALL(SYS_faccessat, AT_FDCWD, reading->bytes, X_OK) == 0;
    return information.stx_mode | (int64_t)is_executable << 16 | (int64_t)information.stx_uid << 17;
}

// Whether a path leads to a safe place, which is left where the path was: 1 if others could put another file there, or a directory before it.
IN_CHILD static int64_t place_of(struct reading *reading) {
    struct coordinator_place place, *opened = (struct coordinator_place *)reading->bytes;
    int result = coordinator_place_find(reading->bytes, 0, &place);
    if (result < 0) {
        __builtin_memcpy_inline(opened, &place, sizeof place);
    } else {
        result = coordinator_place_look(&place, opened);
        if (result >= 0) CALL(SYS_close, result);
    }
    coordinator_place_close(&place);
    return result < 0 ? result : opened->is_replaceable;
}

// Answers what it's asked about the paths that it's given, one after the other.
IN_CHILD static int tell_modes(void *context) {
    struct reading *reading = context;
    CALL(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL);
    // Both are above the standard descriptors, as all that the parent opens.
    CALL(SYS_dup3, reading->requests, 1, O_CLOEXEC);
    CALL(SYS_dup3, reading->status, 0, O_CLOEXEC);
    if (CALL(SYS_close_range, 2, ~0U, 0) < 0) {
        for (int descriptor = 2; descriptor < reading->descriptor_limit; descriptor++) CALL(SYS_close, descriptor);
    }
    char request;
    while (CALL(SYS_read, 1, &request, 1) == 1) {
        int64_t result = request == COORDINATOR_PROCESS_PLACE ? place_of(reading) : mode_of(reading);
        CALL(SYS_write, 0, &result, sizeof result);
    }
    while (1) CALL(SYS_exit_group, 0);
}

// Becomes the user by the system calls themselves, since the C library's functions look for the parent's threads. This process has a copy of
// the parent's memory.
static void tell_content_as_reader(struct reading *reading) {
    keep_status_only(reading);
    const struct coordinator_process_attributes *reader = reading->reader;
    if ((reading->always_as_reader || coordinator_place_is_replaceable(reading->path))
        && (syscall(SYS_setgroups, (size_t)reader->group_count, reader->groups) != 0
            || syscall(SYS_setresgid, reader->group, reader->group, reader->group) != 0
            || syscall(SYS_setresuid, reader->user, reader->user, reader->user) != 0)) {
        int64_t result = -((int64_t)COORDINATOR_PROCESS_NOT_OPENED << 32 | errno);
        CALL(SYS_write, 0, &result, sizeof result);
        while (1) CALL(SYS_exit_group, 0);
    }
    reading->status = 0;
    tell_content(reading);
}

pid_t coordinator_process_begin_reading(
    const char *path,
    int flags,
    size_t maximum,
    const struct coordinator_process_attributes *reader,
    int always_as_reader,
    int status,
    int requests,
    void **memory)
{
    int (*body)(void *) = requests < 0 ? tell_content : tell_modes;
    struct rlimit limit = {0};
    getrlimit(RLIMIT_NOFILE, &limit);
    size_t capacity = maximum + 1, length = strlen(path) + 1;
    size_t size = stack_size + sizeof(struct reading) + capacity + length;
    char *region = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) return -errno;
    struct reading *reading = (struct reading *)(region + stack_size);
    *reading = (struct reading){
        .path = memcpy((char *)(reading + 1) + capacity, path, length),
        .flags = flags,
        .status = status,
        .requests = requests,
        .descriptor_limit = limit.rlim_cur > INT_MAX ? INT_MAX : (int)limit.rlim_cur,
        .reader = (struct coordinator_process_attributes *)reader,
        .always_as_reader = always_as_reader,
        .bytes = (char *)(reading + 1),
        .capacity = capacity,
        .size = size,
        .stack_end = region + stack_size,
    };
    sigset_t all, former;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &former);
    pid_t process;
    // Without a signal at its end, the process is none of those that a wait for any child finds.
    if (reader == NULL && RUNS_IN_MEMORY) {
        process = clone(body, reading->stack_end, CLONE_VM, reading);
    } else {
        process = (pid_t)syscall(SYS_clone, 0, 0, 0, 0, 0);
        if (process == 0) {
            if (reader != NULL) tell_content_as_reader(reading);
            body(reading);
        }
    }
    if (process < 0) process = -errno;
    pthread_sigmask(SIG_SETMASK, &former, NULL);
    *memory = reading;
    if (process < 0) coordinator_process_end_reading(reading);
    return process;
}

void *coordinator_process_read_bytes(void *memory) {
    return ((struct reading *)memory)->bytes;
}

void coordinator_process_end_reading(void *memory) {
    struct reading *reading = memory;
    munmap(reading->stack_end - stack_size, reading->size);
}

int coordinator_process_reap_reader(pid_t process) {
    int result;
    do {
        result = (int)waitpid(process, NULL, __WALL | WNOHANG);
    } while (result < 0 && errno == EINTR);
    return result != 0;
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

// pidfd_info of linux/pidfd.h, version 0, and what is asked for, which the C library's headers may be too old for.
struct process_information {
    uint64_t mask;
    uint64_t control_group;
    uint32_t process, group, parent;
    uint32_t users[8];
    int32_t exit_code;
};
#define PROCESS_INFORMATION_EXIT (UINT64_C(1) << 3)
_Static_assert(sizeof(struct process_information) == 64, "the size of version 0, which is part of the request's number");

int coordinator_process_foreign_exit(int descriptor, struct coordinator_process_exit *exit) {
    struct process_information information = {.mask = PROCESS_INFORMATION_EXIT};
    if (ioctl(descriptor, _IOWR(0xFF, 11, struct process_information), &information) < 0) return -errno;
    if (!(information.mask & PROCESS_INFORMATION_EXIT)) return 0;
    int status = information.exit_code;
    exit->code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    exit->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    exit->core_dumped = WIFSIGNALED(status) && WCOREDUMP(status);
    return 1;
}

int coordinator_process_foreign_descriptor(int descriptor, int number) {
    return result_of(syscall(SYS_pidfd_getfd, descriptor, number, 0));
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

int coordinator_process_open_file(const char *path) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

ssize_t coordinator_process_read_from_start(int descriptor, void *buffer, size_t count) {
    size_t filled = 0;
    while (filled < count) {
        ssize_t result = pread(descriptor, (char *)buffer + filled, count - filled, (off_t)filled);
        if (result < 0 && errno == EINTR) continue;
        if (result < 0) return -errno;
        if (result == 0) break;
        filled += (size_t)result;
    }
    return (ssize_t)filled;
}

ssize_t coordinator_process_read_file(const char *path, void *buffer, size_t count) {
    int descriptor = coordinator_process_open_file(path);
    if (descriptor < 0) return descriptor;
    ssize_t result = coordinator_process_read_from_start(descriptor, buffer, count);
    close(descriptor);
    return result;
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

int coordinator_process_change_limit(pid_t pid, int resource, int is_own, uint64_t soft, uint64_t hard) {
    struct rlimit limit = {.rlim_cur = soft, .rlim_max = hard};
    if (is_own && getrlimit(resource, &limit) != 0) return errno;
    return prlimit(pid, resource, &limit, NULL) == 0 ? 0 : errno;
}

int coordinator_process_change_nice(pid_t group, int is_own, int nice) {
    return setpriority(PRIO_PGRP, group, is_own ? getpriority(PRIO_PROCESS, 0) : nice) == 0 ? 0 : errno;
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

int coordinator_process_endless_input(void) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0) return -errno;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
    int both = open(path, O_RDWR | O_CLOEXEC);
    int result = both < 0 ? -errno : both;
    close(ends[0]);
    close(ends[1]);
    return result;
}

int coordinator_process_is_in_memory(const char *path) {
    struct statfs status;
    if (statfs(path, &status) < 0) return -errno;
    return status.f_type == TMPFS_MAGIC || status.f_type == RAMFS_MAGIC;
}
