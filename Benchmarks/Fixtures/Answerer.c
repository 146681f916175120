// The program that is killed: binds the Unix socket named by its only argument and answers every connection with its pid.
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static void check(int status, const char *what)
{
    if (status < 0) {
        perror(what);
        exit(1);
    }
}

int main(int count, char **arguments)
{
    struct sockaddr_un address = { .sun_family = AF_UNIX };
    if (count != 2 || (size_t)snprintf(address.sun_path, sizeof address.sun_path, "%s", arguments[1]) >= sizeof address.sun_path) {
        fprintf(stderr, "usage: %s SOCKET\n", arguments[0]);
        return 64;
    }
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(listener, "socket");
    unlink(address.sun_path);
    check(bind(listener, (struct sockaddr *)&address, sizeof address), "bind");
    check(listen(listener, 16), "listen");
    pid_t pid = getpid();
    for (;;) {
        int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (connection < 0) continue;
        // A client that has gone is no reason to die.
        (void)!send(connection, &pid, sizeof pid, MSG_NOSIGNAL);
        close(connection);
    }
}
