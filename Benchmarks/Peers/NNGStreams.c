// Round trips between two processes on nng's byte streams with aio: what the links of coordinators are made of, and nothing else.
#include "Streams.h"

static void echo(void *address) { send_back(dialled(address)); }

int main(int count, char **arguments)
{
    char address[128];
    make_address(address, sizeof address, count, arguments, "streams");
    pid_t child = start_echo(echo, address);
    struct connection connection = accepted(listening(address));
    measure(round_trip, &connection);
    waitpid(child, NULL, 0);
    unlink(address + strlen("ipc://"));
    return 0;
}
