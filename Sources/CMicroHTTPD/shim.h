#ifndef CMICROHTTPD_SHIM_H
#define CMICROHTTPD_SHIM_H
#include <microhttpd.h>
#include <string.h>

// POLLRDHUP of poll(2), which <poll.h> has with _GNU_SOURCE alone.
static const short coordinator_http_peer_closed = 0x2000;

// Functions of libmicrohttpd with a variable number of arguments, which Swift can't call.

// Leaves paths and parameters as they were sent: decoded, one that holds a zero byte would end there.
static inline size_t coordinator_http_keep(void *context, struct MHD_Connection *connection, char *text) {
    (void)context;
    (void)connection;
    return strlen(text);
}

static inline struct MHD_Daemon *coordinator_http_start(
    int listener, unsigned connections, unsigned idle_seconds, size_t connection_memory,
    MHD_AccessHandlerCallback handle, MHD_RequestCompletedCallback complete, void *context
) {
    return MHD_start_daemon(
        MHD_USE_EPOLL | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL, handle, context,
        MHD_OPTION_LISTEN_SOCKET, listener,
        MHD_OPTION_CONNECTION_LIMIT, connections,
        MHD_OPTION_CONNECTION_TIMEOUT, idle_seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_memory,
        MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_UNESCAPE_CALLBACK, coordinator_http_keep, NULL,
        MHD_OPTION_NOTIFY_COMPLETED, complete, context,
        MHD_OPTION_END
    );
}

// The descriptor that is readable when MHD_run has something to do.
static inline int coordinator_http_poll_descriptor(struct MHD_Daemon *daemon) {
    return MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

static inline unsigned coordinator_http_connections(struct MHD_Daemon *daemon) {
    return MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)->num_connections;
}

static inline int coordinator_http_socket(struct MHD_Connection *connection) {
    return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static inline void coordinator_http_set_idle_limit(struct MHD_Connection *connection, unsigned seconds) {
    MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}
#endif
