#ifndef COORDINATOR_CPROCESS_H
#define COORDINATOR_CPROCESS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "CAccounts.h"
#include "CPlaces.h"
#include "CNNGAnswers.h"
#include "CSignals.h"
#include "CTimers.h"

// The few kernel calls that Swift can't make by itself: variadic functions, packed structures, macros. Linux and glibc 2.34 or newer.
// Convention: a result below zero is the negated errno. No function keeps state, and every descriptor is close-on-exec from its creation.

// One descriptor of the child. A source of -1 stands for /dev/null.
struct coordinator_process_descriptor {
    int source;
    int target;
};

// The end of a child: `signal` is 0 when it exited by itself.
struct coordinator_process_exit {
    int code;
    int signal;
    int core_dumped;
};

// A limit of setrlimit(2).
struct coordinator_process_limit {
    int resource;
    uint64_t soft;
    uint64_t hard;
};

// What a child has of its own beside its program. A `umask` of -1 is inherited; the groups are the supplementary ones.
struct coordinator_process_attributes {
    int changes_user;
    uid_t user;
    gid_t group;
    const gid_t *groups;
    int group_count;
    int umask;
    int has_nice;
    int nice;
    const struct coordinator_process_limit *limits;
    int limit_count;
    int has_oom_score;
    int oom_score;
    // The only capabilities that the child, and what descends from it, can have, by their numbers; 0 for `has_capabilities`: inherited.
    int has_capabilities;
    uint64_t capabilities;
};

// The steps of a spawn whose failure is reported with the error number. COORDINATOR_PROCESS_LIMIT is the first limit's, and so on.
enum coordinator_process_step {
    COORDINATOR_PROCESS_STEP_SHIFT = 16,
    COORDINATOR_PROCESS_PRIORITY = 1,
    COORDINATOR_PROCESS_GROUPS = 2,
    COORDINATOR_PROCESS_GROUP = 3,
    COORDINATOR_PROCESS_USER = 4,
    COORDINATOR_PROCESS_DIRECTORY = 5,
    COORDINATOR_PROCESS_INTERPRETER = 6,
    COORDINATOR_PROCESS_OOM_SCORE = 7,
    COORDINATOR_PROCESS_CAPABILITIES = 8,
    COORDINATOR_PROCESS_CONTROL_GROUP = 9,
    COORDINATOR_PROCESS_LIMIT = 16,
};

// Spawns a child in a new session, with no signal blocked or ignored and exactly the given descriptors, like posix_spawn(3), which can't arm
// the parent-death signal: with `dies_with_parent` the kernel kills the child when the calling *thread* ends, see PR_SET_PDEATHSIG(2const).
//
// The call doesn't wait for the file systems on which the directory and the program are: it returns when there is a child. The child closes
// `status`, the writing end of a pipe, as it becomes the program or ends; before, it writes what has kept it from becoming the program, an
// int of `step << 16 | errno`. Once the pipe is closed, `memory` is to be given to `coordinator_process_spawn_release`.
//
// `paths`, `arguments` and `environment` end with NULL; the first of the paths that is there is executed. Every source, and `status`, must
// be above every target. NULL for `environment` or `working_directory` inherits the caller's. `control_group` is the directory of a control
// group for the child, or NULL; a child that can't be put there is spawned all the same, unless it must join the group, which holds its
// limits. NULL for `attributes` inherits all of them.
//
// Returns the child's number, or the negated errno, with the step above it as in `status`; there is no `memory` then.
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
    void **memory);
void coordinator_process_spawn_release(void *memory);

// What a process that looks at files is asked about the path that it's given.
enum coordinator_process_request {
    COORDINATOR_PROCESS_MODE = 1,
    COORDINATOR_PROCESS_PLACE = 2,
};

// The reasons why a file isn't read, with the error number in the 32 bits below.
enum coordinator_process_reading {
    COORDINATOR_PROCESS_NOT_OPENED = 1,
    COORDINATOR_PROCESS_NOT_READ = 2,
    COORDINATOR_PROCESS_NOT_REGULAR = 3,
    COORDINATOR_PROCESS_TOO_LARGE = 4,
};

// Has a process of its own read a regular file: unlike a thread, one that a file system doesn't let go keeps this process from nothing, not
// even from its end. It writes an int64_t into `status`, the writing end of a pipe: the number of bytes, or the negated reason. Then, or once
// the pipe is closed, `coordinator_process_read_bytes` returns the content, until `coordinator_process_end_reading` frees the memory.
//
// With `requests`, the reading end of a pipe, the process looks at files instead: for each byte that it reads there it tells about the file whose
// path is in the bytes its mode, with 1 << 16 if it may be executed and its owner << 17, or whether its place is safe, for which it leaves the place in the bytes, or
// the negated errno; it ends with the pipe.
//
// With `reader` the file is opened as that user: always if `always_as_reader` isn't 0, else if another user than root and this process's could
// have put it there.
//
// Returns the number of the process, which only `coordinator_process_reap_reader` waits for (1: it has ended), or the negated errno.
pid_t coordinator_process_begin_reading(
    const char *path,
    int flags,
    size_t maximum,
    const struct coordinator_process_attributes *reader,
    int always_as_reader,
    int status,
    int requests,
    void **memory);
void *coordinator_process_read_bytes(void *memory);
void coordinator_process_end_reading(void *memory);
int coordinator_process_reap_reader(pid_t process);

// pidfd_open(2), pidfd_send_signal(2): to the process, or to the process group that it leads or led (Linux 6.9, else -EINVAL).
int coordinator_process_open(pid_t process);
int coordinator_process_signal(int descriptor, int signal);
int coordinator_process_signal_group(int descriptor, int signal);

// Tells how a process has ended that is another one's child, through its pidfd: PIDFD_GET_INFO, since Linux 6.15. 1: the parent has reaped it;
// 0: it hasn't yet. An older kernel says ENOTTY or EINVAL.
int coordinator_process_foreign_exit(int descriptor, struct coordinator_process_exit *exit);

// pidfd_getfd(2): a copy of another process's descriptor, which closes when this process runs another program.
int coordinator_process_foreign_descriptor(int descriptor, int number);

// waitid(2). 1: reaped; 0: still running. The first never blocks; the second does if `block` isn't 0.
int coordinator_process_reap(int descriptor, struct coordinator_process_exit *result);
int coordinator_process_reap_number(pid_t process, int block);

// pipe2(2), close-on-exec, the first with only the reading end non-blocking; fcntl F_DUPFD_CLOEXEC; read(2); ioctl FIONREAD.
int coordinator_process_pipe(int *reading, int *writing);
int coordinator_process_blocking_pipe(int *reading, int *writing);
int coordinator_process_duplicate(int descriptor, int minimum);
ssize_t coordinator_process_read(int descriptor, void *buffer, size_t count);
int coordinator_process_available(int descriptor);

// mkfifo(3), mode 0600: `writing` is for a child, which then holds the FIFO open for reading and writing; `reading` doesn't block. A `size`
// above 0 is the capacity to ask for (F_SETPIPE_SZ), which the kernel may refuse. The second opens an existing FIFO of this user for
// reading, without blocking; -EPERM when the file is another user's, -EINVAL when it isn't a FIFO.
int coordinator_process_make_fifo(const char *path, int size, int *reading, int *writing);
int coordinator_process_open_fifo(const char *path);

// socket(2) and bind(2): a socket for datagrams at a path, to which only root and the owner can send. It doesn't block.
int coordinator_process_datagram_socket(const char *path, uid_t owner);

// Opens a file, made with mode 0600 if it doesn't exist, and locks it (LOCK_EX of flock(2)); -EWOULDBLOCK when another process has the lock.
// The locked file is the one at the path, also when another process removes it at this moment.
int coordinator_process_lock_file(const char *path);

// epoll(7) and eventfd(2). Sources are known by a token, level-triggered, for reading.
int coordinator_process_event_descriptor(void);
int coordinator_process_poll_descriptor(void);
int coordinator_process_poll_add(int poll, int descriptor, uint64_t token);
int coordinator_process_poll_remove(int poll, int descriptor);
int coordinator_process_poll_wait(int poll, uint64_t *tokens, int capacity, int milliseconds);

// A detached thread with every signal blocked.
int coordinator_process_start_thread(void (*body)(void *), void *context);

// Up to `count` bytes of a small file such as /proc/PID/stat; at once, or of a descriptor, which may be read again.
ssize_t coordinator_process_read_file(const char *path, void *buffer, size_t count);
int coordinator_process_open_file(const char *path);
ssize_t coordinator_process_read_from_start(int descriptor, void *buffer, size_t count);

// Opens a pipe at whose end its reader never is, since it's the writer too; close-on-exec.
int coordinator_process_endless_input(void);

// statfs(2): 1 for a file system in memory, 0 for another one, or the negated errno.
int coordinator_process_is_in_memory(const char *path);

// getxattr(2).
ssize_t coordinator_process_attribute(const char *path, const char *name, void *buffer, size_t count);

// The number of entries of /proc/self/fd.
int coordinator_process_count_descriptors(void);

// Limits the memory that another process may have for its data (RLIMIT_DATA, in bytes); 0, or the error's number.
int coordinator_process_limit_data(pid_t pid, uint64_t bytes);

// Changes a limit of another process, and the niceness of the processes of a group; `is_own`: to this process's. 0, or the error's number.
int coordinator_process_change_limit(pid_t pid, int resource, int is_own, uint64_t soft, uint64_t hard);
int coordinator_process_change_nice(pid_t group, int is_own, int nice);

// prctl(2): PR_SET_PDEATHSIG and PR_GET_PDEATHSIG.
int coordinator_process_set_parent_death_signal(int signal);
int coordinator_process_parent_death_signal(void);

// execve(2) with every signal blocked, so that none is lost between two programs; the new one unblocks them. Returns only when it has failed:
// the negated errno. The process is then as before.
int coordinator_process_replace(const char *executable, char *const *arguments, char *const *environment);

// FD_CLOEXEC of a descriptor: whether the next program of this process has it too.
int coordinator_process_keep_descriptor(int descriptor, int is_kept);

// memfd_create(2), close-on-exec.
int coordinator_process_memory_file(const char *name);

// Unblocks every signal for the calling thread.
void coordinator_process_unblock_signals(void);

// prctl(2) PR_SET_CHILD_SUBREAPER: orphans below this process become its children, whose exit status it must take.
int coordinator_process_become_subreaper(void);

// waitid(2) with WNOWAIT: waits until any child has ended, without reaping it, and returns the child's number.
pid_t coordinator_process_ended_child(void);

// 1 on the thread that main() runs on.
int coordinator_process_is_main_thread(void);

// signal(SIGPIPE, SIG_IGN), whose constant is a cast that Swift does not import.
void coordinator_process_ignore_broken_pipes(void);

// "TERM" of 15 and "ENOENT" of 2, or NULL.
const char *coordinator_process_signal_name(int signal);
const char *coordinator_process_error_name(int error);

// malloc_trim(3): gives the kernel back the pages that nothing allocated is in. mallopt(3), M_ARENA_MAX: the number of arenas of the heap,
// which holds for those that are made later.
void coordinator_process_trim_memory(void);
void coordinator_process_limit_arenas(int count);

// madvise(2), MADV_DONTNEED, on the code of the program and its libraries: a page of it is mapped again when it's next run.
void coordinator_process_unmap_code(void);

#endif
