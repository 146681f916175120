// The floor of the kernel: round trips between two processes that block on a pair of Unix sockets.
#include "RoundTrips.h"
#include <sys/socket.h>

static void transfer(int socket, char *bytes, ssize_t (*operation)(int, void *, size_t))
{
    for (size_t done = 0; done < SIZE;) {
        ssize_t count = operation(socket, bytes + done, SIZE - done);
        if (count <= 0) exit(1);
        done += (size_t)count;
    }
}

static ssize_t write_some(int socket, void *bytes, size_t count) { return write(socket, bytes, count); }

static void echo(void *argument)
{
    char bytes[SIZE];
    for (int round = 0; round < ROUNDS + WARM_UP; round++) {
        transfer(((int *)argument)[1], bytes, read);
        transfer(((int *)argument)[1], bytes, write_some);
    }
}

static void round_trip(void *argument)
{
    char bytes[SIZE] = { 0 };
    transfer(((int *)argument)[0], bytes, write_some);
    transfer(((int *)argument)[0], bytes, read);
}

int main(void)
{
    int sockets[2];
    check(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) < 0, "socketpair");
    pid_t child = start_echo(echo, sockets);
    measure(round_trip, sockets);
    waitpid(child, NULL, 0);
    return 0;
}
