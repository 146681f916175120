#ifndef COORDINATOR_CCURL_H
#define COORDINATOR_CCURL_H

#include <stddef.h>
#include <stdint.h>

// Requests over HTTP by libcurl 7.68 or later, which is loaded when it's first needed: its libraries, about thirty, take a process ten
// milliseconds and six megabytes, and few processes speak HTTP. Swift can't call libcurl's variadic functions by itself.
//
// Transfers are created, run and destroyed by one thread; what another thread may call says so.

// libcurl's multi handle: transfers that share connections.
struct coordinator_curl_multi;

// One transfer, with all that belongs to it: libcurl's easy handle, its list of headers, the text of its error.
struct coordinator_curl_transfer;

// What a reader has done with bytes of an answer.
enum coordinator_curl_taken {
    COORDINATOR_CURL_TAKEN,
    // The bytes are kept by libcurl, which reads no more until the transfer is resumed.
    COORDINATOR_CURL_PAUSED,
    COORDINATOR_CURL_REFUSED,
};

// A POST. All but the context is copied.
struct coordinator_curl_request {
    const char *url;
    // Lines of the form "Name: value".
    const char *const *headers;
    int header_count;
    int64_t body_length;
    long connect_milliseconds;
    // Paths of PEM files; NULL: the authorities that the system trusts, and no certificate.
    const char *authority;
    const char *certificate;
    const char *key;
    const char *revocations;
    void *context;
    // Copies the next bytes of the body; called only once there is a connection. The number of bytes.
    size_t (*give)(void *context, void *bytes, size_t capacity);
    // Takes bytes of the answer.
    enum coordinator_curl_taken (*take)(void *context, long status, const void *bytes, size_t count);
};

// Loads libcurl: 1; or 0, and the reason is written into the buffer. To be called first, by one thread.
int coordinator_curl_load(char *reason, size_t capacity);

// NULL: no memory.
struct coordinator_curl_multi *coordinator_curl_multi_create(void);

// To be called when no transfer is left.
void coordinator_curl_multi_destroy(struct coordinator_curl_multi *multi);

// Does what can be done without waiting: 1 when it could.
int coordinator_curl_multi_perform(struct coordinator_curl_multi *multi);

// Waits until there is something to do, or until it's woken: 1 when it could.
int coordinator_curl_multi_poll(struct coordinator_curl_multi *multi);

// Ends the present or the next wait; any thread may call this until the handle is destroyed.
void coordinator_curl_multi_wake(struct coordinator_curl_multi *multi);

// The context of a transfer that has ended since the last call, with libcurl's code; NULL: none.
void *coordinator_curl_multi_ended(struct coordinator_curl_multi *multi, int *code);

// Begins a transfer. NULL: `code` says why.
struct coordinator_curl_transfer *coordinator_curl_transfer_create(
    struct coordinator_curl_multi *multi, const struct coordinator_curl_request *request, int *code);

// Ends the transfer, if it hasn't ended. Its callbacks aren't called any more.
void coordinator_curl_transfer_destroy(struct coordinator_curl_transfer *transfer);

// Goes on with a paused transfer, and calls back for what was kept: libcurl's code.
int coordinator_curl_transfer_resume(struct coordinator_curl_transfer *transfer);

// The status of the answer; 0: there is none.
long coordinator_curl_transfer_status(struct coordinator_curl_transfer *transfer);

// Describes a code that ended a transfer, in more detail when it's given. The text lives as long as the transfer.
const char *coordinator_curl_message(const struct coordinator_curl_transfer *transfer, int code);

// Returns the descriptor of a file in memory with these bytes, which libcurl reads at /proc/self/fd/DESCRIPTOR; or the negated errno.
int coordinator_curl_file(const void *bytes, size_t count);

#endif
