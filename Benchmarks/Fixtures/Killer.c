// The client that kills: SIGKILL to whoever answers, then connects until another pid answers; prints each time in nanoseconds.
// Ends with a line "gave-up" when no other pid answers in time, and early, without a word, when all its time is used.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static const long MILLISECOND = 1000000, PAUSE = 50000;

static long nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static void sleep_for(long duration)
{
    struct timespec left = { duration / 1000000000L, duration % 1000000000L };
    while (nanosleep(&left, &left) < 0 && errno == EINTR) {}
}

// 0: nobody answers.
static pid_t ask(const struct sockaddr_un *address)
{
    int connection = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connection < 0) return 0;
    // A process that never answers is no answer; without this limit it would hold us for ever.
    struct timeval limit = { .tv_sec = 1 };
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    pid_t pid = 0;
    if (connect(connection, (const struct sockaddr *)address, sizeof *address) < 0
        || recv(connection, &pid, sizeof pid, MSG_WAITALL) != sizeof pid) pid = 0;
    close(connection);
    return pid;
}

static pid_t ask_until_other(const struct sockaddr_un *address, pid_t former, long deadline)
{
    while (nanoseconds() < deadline) {
        pid_t pid = ask(address);
        if (pid > 0 && pid != former) return pid;
        sleep_for(PAUSE);
    }
    return 0;
}

int main(int count, char **arguments)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (count != 7 || (size_t)snprintf(address.sun_path, sizeof address.sun_path, "%s", arguments[1]) >= sizeof address.sun_path) {
        fprintf(stderr, "usage: %s SOCKET KILLS SHORTEST-LIFE LONGEST-LIFE PATIENCE LIMIT (times in ms)\n", arguments[0]);
        return 64;
    }
    long kills = atol(arguments[2]), shortest = atol(arguments[3]) * MILLISECOND, longest = atol(arguments[4]) * MILLISECOND;
    long patience = atol(arguments[5]) * MILLISECOND, end = nanoseconds() + atol(arguments[6]) * MILLISECOND;
    prctl(PR_SET_TIMERSLACK, 1);
    srand48(nanoseconds() ^ getpid());
    pid_t pid = ask_until_other(&address, 0, nanoseconds() + patience);
    if (pid == 0) {
        fprintf(stderr, "nobody answers at %s\n", address.sun_path);
        return 1;
    }
    while (kills-- > 0) {
        // Held while the process lives, so that the signal reaches it or nobody, whoever has its pid later.
        int process = (int)syscall(SYS_pidfd_open, pid, 0);
        if (process < 0 || ask(&address) != pid) {
            fprintf(stderr, "process %d ended by itself\n", pid);
            return 1;
        }
        long life = shortest + (long)(drand48() * (double)(longest - shortest));
        if (nanoseconds() + life + patience > end) return 0;
        sleep_for(life);
        long start = nanoseconds();
        if (syscall(SYS_pidfd_send_signal, process, SIGKILL, NULL, 0) < 0) {
            perror("kill");
            return 1;
        }
        pid = ask_until_other(&address, pid, start + patience);
        long duration = nanoseconds() - start;
        close(process);
        if (pid == 0) {
            puts("gave-up");
            return 0;
        }
        printf("%ld\n", duration);
        fflush(stdout);
    }
    return 0;
}
