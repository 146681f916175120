// Round trips between two processes on nng's byte streams over TLS, with certificates on both sides: what the links between nodes are made of, and
// nothing else. The argument is a directory with ca.crt, node-a.crt, node-a.key, node-b.crt and node-b.key.
#include "Streams.h"
#include <fcntl.h>
#include <nng/supplemental/tls/tls.h>

static const char *directory;
static char address[64];

static char *contents(const char *name)
{
    static char texts[6][1 << 16];
    static int count;
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int file = open(path, O_RDONLY);
    check(file < 0, path);
    char *text = texts[count++];
    check(read(file, text, (1 << 16) - 1) < 0, path);
    close(file);
    return text;
}

static nng_tls_config *security(nng_tls_mode mode, const char *name, const char *peer)
{
    char certificate[64], key[64];
    snprintf(certificate, sizeof certificate, "%s.crt", name);
    snprintf(key, sizeof key, "%s.key", name);
    nng_tls_config *config;
    succeed(nng_tls_config_alloc(&config, mode), "config");
    succeed(nng_tls_config_auth_mode(config, NNG_TLS_AUTH_MODE_REQUIRED), "auth_mode");
    succeed(nng_tls_config_ca_chain(config, contents("ca.crt"), NULL), "ca_chain");
    succeed(nng_tls_config_own_cert(config, contents(certificate), contents(key), NULL), "own_cert");
    if (mode == NNG_TLS_MODE_CLIENT) succeed(nng_tls_config_server_name(config, peer), "server_name");
    return config;
}

static void echo(void *unused)
{
    (void)unused;
    nng_stream_dialer *dialer = dialer_of(address);
    succeed(nng_stream_dialer_set_ptr(dialer, NNG_OPT_TLS_CONFIG, security(NNG_TLS_MODE_CLIENT, "node-a", "node-b")), "security");
    succeed(nng_stream_dialer_set_bool(dialer, NNG_OPT_TCP_NODELAY, true), "no delay");
    send_back(connected(dialer));
}

int main(int count, char **arguments)
{
    if (count != 3) {
        fprintf(stderr, "usage: %s DIRECTORY PORT\n", arguments[0]);
        return 64;
    }
    directory = arguments[1];
    snprintf(address, sizeof address, "tls+tcp://127.0.0.1:%s", arguments[2]);
    pid_t child = start_echo(echo, NULL);
    nng_stream_listener *listener;
    succeed(nng_stream_listener_alloc(&listener, address), "listener");
    succeed(nng_stream_listener_set_ptr(listener, NNG_OPT_TLS_CONFIG, security(NNG_TLS_MODE_SERVER, "node-b", NULL)), "security");
    succeed(nng_stream_listener_set_bool(listener, NNG_OPT_TCP_NODELAY, true), "no delay");
    succeed(nng_stream_listener_listen(listener), "listen");
    struct connection connection = accepted(listener);
    measure(round_trip, &connection);
    waitpid(child, NULL, 0);
    return 0;
}
