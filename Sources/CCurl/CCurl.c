#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "CCurl.h"

// The functions are called by pointers, which the macros that check the arguments of variadic ones don't know.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// curl_multi_poll, which waits also when there is no connection, and curl_multi_wakeup.
#define OLDEST_VERSION 0x074400

// Options that are newer than that, by their numbers, which never change. An older libcurl doesn't know them, and has no need of the first.
#define OPTION_CA_CACHE_TIMEOUT ((CURLoption)(CURLOPTTYPE_LONG + 321))
#define OPTION_QUICK_EXIT ((CURLoption)(CURLOPTTYPE_LONG + 322))

struct coordinator_curl_transfer {
    CURL *easy;
    CURLM *multi;
    struct curl_slist *headers;
    // Whether the head of the answer is whole.
    int has_head;
    void *context;
    size_t (*give)(void *context, void *bytes, size_t capacity);
    enum coordinator_curl_taken (*take)(void *context, long status, const void *bytes, size_t count);
    char error[CURL_ERROR_SIZE];
};

// MARK: Loading

#define FUNCTIONS(_) \
    _(curl_easy_cleanup) \
    _(curl_easy_getinfo) \
    _(curl_easy_init) \
    _(curl_easy_pause) \
    _(curl_easy_setopt) \
    _(curl_easy_strerror) \
    _(curl_global_init) \
    _(curl_multi_add_handle) \
    _(curl_multi_cleanup) \
    _(curl_multi_info_read) \
    _(curl_multi_init) \
    _(curl_multi_perform) \
    _(curl_multi_poll) \
    _(curl_multi_remove_handle) \
    _(curl_multi_wakeup) \
    _(curl_slist_append) \
    _(curl_slist_free_all) \
    _(curl_version_info)

// libcurl's functions, with the types that its header gives them.
static struct {
#define FIELD(name) __typeof__(name) *name;
    FUNCTIONS(FIELD)
} library;

// Whether it uses GnuTLS, which takes a password for a sign of an encrypted key.
static int has_gnutls;

static int find_functions(void *handle) {
#define FIND(name) \
    library.name = (__typeof__(name) *)dlsym(handle, #name); \
    if (library.name == NULL) return 0;
    FUNCTIONS(FIND)
    return 1;
}

static int use(void *handle, char *reason, size_t capacity) {
    if (!find_functions(handle)) {
        snprintf(reason, capacity, "%s", "it's older than 7.68");
        return 0;
    }
    const curl_version_info_data *version = library.curl_version_info(CURLVERSION_NOW);
    if (version->version_num < OLDEST_VERSION) {
        snprintf(reason, capacity, "it's %s, older than 7.68", version->version);
        return 0;
    }
    if (!(version->features & CURL_VERSION_SSL)) {
        snprintf(reason, capacity, "%s", "it was built without TLS");
        return 0;
    }
    has_gnutls = strncmp(version->ssl_version, "GnuTLS", 6) == 0;
    CURLcode code = library.curl_global_init(CURL_GLOBAL_DEFAULT);
    if (code != CURLE_OK) snprintf(reason, capacity, "%s", library.curl_easy_strerror(code));
    return code == CURLE_OK;
}

int coordinator_curl_load(char *reason, size_t capacity) {
    // With OpenSSL, then with GnuTLS: the names of Debian and Ubuntu, the first one also of others.
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4"};
    size_t length = 0;
    for (size_t index = 0; index < sizeof names / sizeof names[0]; index++) {
        char found[256];
        void *handle = dlopen(names[index], RTLD_NOW | RTLD_LOCAL);
        if (handle == NULL) {
            snprintf(found, sizeof found, "%s", dlerror());
        } else if (use(handle, found, sizeof found)) {
            // It stays loaded as long as the process lives: other threads may be in it.
            return 1;
        } else {
            dlclose(handle);
        }
        int added = snprintf(reason + length, capacity - length, "%s%s: %s", length > 0 ? "; " : "", names[index], found);
        length = added < 0 || length + (size_t)added >= capacity ? capacity - 1 : length + (size_t)added;
    }
    return 0;
}

// MARK: The multi handle

struct coordinator_curl_multi *coordinator_curl_multi_create(void) {
    return (struct coordinator_curl_multi *)library.curl_multi_init();
}

void coordinator_curl_multi_destroy(struct coordinator_curl_multi *multi) { library.curl_multi_cleanup((CURLM *)multi); }

int coordinator_curl_multi_perform(struct coordinator_curl_multi *multi) {
    int running = 0;
    return library.curl_multi_perform((CURLM *)multi, &running) == CURLM_OK;
}

int coordinator_curl_multi_poll(struct coordinator_curl_multi *multi) {
    // libcurl's own timers end the wait earlier.
    return library.curl_multi_poll((CURLM *)multi, NULL, 0, INT_MAX, NULL) == CURLM_OK;
}

void coordinator_curl_multi_wake(struct coordinator_curl_multi *multi) { library.curl_multi_wakeup((CURLM *)multi); }

// What libcurl's code stands for.
static CURLcode outcome(struct coordinator_curl_transfer *transfer, CURLcode code) {
    // To libcurl a connection that closes within the head is the end of an answer without a body.
    if (code == CURLE_OK && !transfer->has_head) code = CURLE_GOT_NOTHING;
    // See `go_back`.
    if (code == CURLE_SEND_FAIL_REWIND) code = CURLE_GOT_NOTHING;
    if (code == CURLE_GOT_NOTHING) snprintf(transfer->error, sizeof transfer->error, "The connection was closed without an answer");
    return code;
}

void *coordinator_curl_multi_ended(struct coordinator_curl_multi *multi, int *code) {
    int left = 0;
    for (CURLMsg *message; (message = library.curl_multi_info_read((CURLM *)multi, &left)) != NULL;) {
        if (message->msg != CURLMSG_DONE) continue;
        char *private = NULL;
        library.curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &private);
        struct coordinator_curl_transfer *transfer = (struct coordinator_curl_transfer *)private;
        *code = (int)outcome(transfer, message->data.result);
        return transfer->context;
    }
    return NULL;
}

// MARK: Transfers

static size_t give(char *bytes, size_t size, size_t count, void *context) {
    struct coordinator_curl_transfer *transfer = context;
    size_t given = transfer->give(transfer->context, bytes, size * count);
    // libcurl knows the length. One that asks for more has begun the request anew without going back.
    return given > 0 ? given : CURL_READFUNC_ABORT;
}

// libcurl repeats a request by itself when it had reused a connection that closes without an answer, unless it can't go back in the body.
// The peer may have carried the request out by then, which the caller must learn.
static int go_back(void *context, curl_off_t offset, int origin) {
    (void)context;
    (void)offset;
    (void)origin;
    return CURL_SEEKFUNC_FAIL;
}

static size_t take_header(char *bytes, size_t size, size_t count, void *context) {
    struct coordinator_curl_transfer *transfer = context;
    // One of a status below 200 is followed by another one.
    if (size * count > 0 && (bytes[0] == '\r' || bytes[0] == '\n')) {
        transfer->has_head = coordinator_curl_transfer_status(transfer) >= 200;
    }
    return size * count;
}

static size_t take(char *bytes, size_t size, size_t count, void *context) {
    struct coordinator_curl_transfer *transfer = context;
    switch (transfer->take(transfer->context, coordinator_curl_transfer_status(transfer), bytes, size * count)) {
    case COORDINATOR_CURL_TAKEN: return size * count;
    case COORDINATOR_CURL_PAUSED: return CURL_WRITEFUNC_PAUSE;
    default: return size * count == 0;
    }
}

// Sets an option, unless another one has failed.
static void set_number(CURL *easy, CURLoption option, long value, CURLcode *code) {
    if (*code == CURLE_OK) *code = library.curl_easy_setopt(easy, option, value);
}

static void set_pointer(CURL *easy, CURLoption option, const void *value, CURLcode *code) {
    if (*code == CURLE_OK) *code = library.curl_easy_setopt(easy, option, value);
}

static void set_request(struct coordinator_curl_transfer *transfer, const struct coordinator_curl_request *request, CURLcode *code) {
    CURL *easy = transfer->easy;
    set_pointer(easy, CURLOPT_PRIVATE, transfer, code);
    set_pointer(easy, CURLOPT_ERRORBUFFER, transfer->error, code);
    set_pointer(easy, CURLOPT_URL, request->url, code);
    set_pointer(easy, CURLOPT_HTTPHEADER, transfer->headers, code);
    set_number(easy, CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1, code);
    set_number(easy, CURLOPT_POST, 1, code);
    if (*code == CURLE_OK) *code = library.curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_length);
    if (*code == CURLE_OK) *code = library.curl_easy_setopt(easy, CURLOPT_READFUNCTION, give);
    set_pointer(easy, CURLOPT_READDATA, transfer, code);
    if (*code == CURLE_OK) *code = library.curl_easy_setopt(easy, CURLOPT_SEEKFUNCTION, go_back);
    if (*code == CURLE_OK) *code = library.curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take);
    set_pointer(easy, CURLOPT_WRITEDATA, transfer, code);
    if (*code == CURLE_OK) *code = library.curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_header);
    set_pointer(easy, CURLOPT_HEADERDATA, transfer, code);
}

static void set_limits(CURL *easy, long connect_milliseconds, CURLcode *code) {
    set_number(easy, CURLOPT_NOSIGNAL, 1, code);
    set_number(easy, CURLOPT_CONNECTTIMEOUT_MS, connect_milliseconds > 0 ? connect_milliseconds : 1, code);
    set_number(easy, CURLOPT_FOLLOWLOCATION, 0, code);
    set_pointer(easy, CURLOPT_PROXY, "", code);
    // A member that has moved is found with the next connection.
    set_number(easy, CURLOPT_DNS_CACHE_TIMEOUT, 0, code);
    // Otherwise the end of a transfer waits for the thread that looks its name up, and all other transfers with it.
    if (*code == CURLE_OK) library.curl_easy_setopt(easy, OPTION_QUICK_EXIT, 1L);
}

static void set_security(CURL *easy, const struct coordinator_curl_request *request, CURLcode *code) {
    set_number(easy, CURLOPT_SSL_VERIFYPEER, 1, code);
    set_number(easy, CURLOPT_SSL_VERIFYHOST, 2, code);
    set_number(easy, CURLOPT_SSLVERSION, CURL_SSLVERSION_TLSv1_2, code);
    // Each connection reads the files, and each peer is verified by what they say then.
    set_number(easy, CURLOPT_SSL_SESSIONID_CACHE, 0, code);
    if (*code == CURLE_OK) library.curl_easy_setopt(easy, OPTION_CA_CACHE_TIMEOUT, 0L);
    if (request->authority != NULL) {
        set_pointer(easy, CURLOPT_CAINFO, request->authority, code);
        // Otherwise the system's authorities are trusted as well.
        set_pointer(easy, CURLOPT_CAPATH, NULL, code);
    }
    // With a list that has expired no peer is believed.
    if (request->revocations != NULL) set_pointer(easy, CURLOPT_CRLFILE, request->revocations, code);
    if (request->certificate != NULL && request->key != NULL) {
        set_pointer(easy, CURLOPT_SSLCERT, request->certificate, code);
        set_pointer(easy, CURLOPT_SSLKEY, request->key, code);
        // Otherwise OpenSSL asks at the terminal for the password of an encrypted key.
        if (!has_gnutls) set_pointer(easy, CURLOPT_KEYPASSWD, "", code);
    }
}

static void release(struct coordinator_curl_transfer *transfer) {
    if (transfer->easy != NULL) library.curl_easy_cleanup(transfer->easy);
    library.curl_slist_free_all(transfer->headers);
    free(transfer);
}

static int add_header(struct coordinator_curl_transfer *transfer, const char *line) {
    struct curl_slist *headers = library.curl_slist_append(transfer->headers, line);
    if (headers != NULL) transfer->headers = headers;
    return headers != NULL;
}

struct coordinator_curl_transfer *coordinator_curl_transfer_create(
    struct coordinator_curl_multi *multi, const struct coordinator_curl_request *request, int *code) {
    struct coordinator_curl_transfer *transfer = calloc(1, sizeof *transfer);
    CURLcode result = CURLE_OUT_OF_MEMORY;
    *code = (int)result;
    if (transfer == NULL) return NULL;
    transfer->multi = (CURLM *)multi;
    transfer->context = request->context;
    transfer->give = request->give;
    transfer->take = request->take;
    transfer->easy = library.curl_easy_init();
    // No wait for the peer's leave to send a large body.
    int is_complete = transfer->easy != NULL && add_header(transfer, "Expect:");
    for (int index = 0; is_complete && index < request->header_count; index++) {
        is_complete = add_header(transfer, request->headers[index]);
    }
    if (is_complete) {
        result = CURLE_OK;
        set_request(transfer, request, &result);
        set_limits(transfer->easy, request->connect_milliseconds, &result);
        set_security(transfer->easy, request, &result);
        if (result == CURLE_OK && library.curl_multi_add_handle(transfer->multi, transfer->easy) != CURLM_OK) {
            result = CURLE_FAILED_INIT;
        }
    }
    *code = (int)result;
    if (result == CURLE_OK) return transfer;
    release(transfer);
    return NULL;
}

void coordinator_curl_transfer_destroy(struct coordinator_curl_transfer *transfer) {
    library.curl_multi_remove_handle(transfer->multi, transfer->easy);
    release(transfer);
}

int coordinator_curl_transfer_resume(struct coordinator_curl_transfer *transfer) {
    return (int)library.curl_easy_pause(transfer->easy, CURLPAUSE_CONT);
}

long coordinator_curl_transfer_status(struct coordinator_curl_transfer *transfer) {
    long status = 0;
    library.curl_easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
    return status;
}

const char *coordinator_curl_message(const struct coordinator_curl_transfer *transfer, int code) {
    return transfer != NULL && transfer->error[0] != 0 ? transfer->error : library.curl_easy_strerror((CURLcode)code);
}

// MARK: Files

int coordinator_curl_file(const void *bytes, size_t count) {
    int descriptor = memfd_create("certificate", MFD_CLOEXEC);
    if (descriptor < 0) return -errno;
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", descriptor);
    // A process whose user has changed may not read its own /proc.
    if (write(descriptor, bytes, count) == (ssize_t)count && access(path, R_OK) == 0) return descriptor;
    int error = errno;
    close(descriptor);
    return -error;
}
