#ifndef CMBEDTLS_SHIM_H
#define CMBEDTLS_SHIM_H
#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/pk.h>
#include <mbedtls/ssl.h>
#include <mbedtls/ssl_ciphersuites.h>
#include <mbedtls/version.h>
#include <mbedtls/x509_crl.h>
#include <mbedtls/x509_crt.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Mbed TLS 3 needs random numbers to read a key.
static inline int coordinators_read_key(
    mbedtls_pk_context *key, const unsigned char *text, size_t length, mbedtls_ctr_drbg_context *random)
{
#if MBEDTLS_VERSION_MAJOR >= 3
    return mbedtls_pk_parse_key(key, text, length, NULL, 0, mbedtls_ctr_drbg_random, random);
#else
    (void)random;
    return mbedtls_pk_parse_key(key, text, length, NULL, 0);
#endif
}

// Whether a key is the one of a certificate; Mbed TLS 3 needs random numbers for that too.
static inline int coordinators_is_key_of(
    mbedtls_x509_crt *certificate, mbedtls_pk_context *key, mbedtls_ctr_drbg_context *random)
{
#if MBEDTLS_VERSION_MAJOR >= 3
    return mbedtls_pk_check_pair(&certificate->pk, key, mbedtls_ctr_drbg_random, random) == 0;
#else
    (void)random;
    return mbedtls_pk_check_pair(&certificate->pk, key) == 0;
#endif
}

// Seconds since 1970. Certificates that never expire say the year 9999.
static inline long long coordinators_seconds(const mbedtls_x509_time *time)
{
    struct tm parts;
    memset(&parts, 0, sizeof parts);
    parts.tm_year = time->year - 1900;
    parts.tm_mon = time->mon - 1;
    parts.tm_mday = time->day;
    parts.tm_hour = time->hour;
    parts.tm_min = time->min;
    parts.tm_sec = time->sec;
    return timegm(&parts);
}

// Whether a list of revoked certificates is by an authority of that name.
static inline int coordinators_is_list_of(const mbedtls_x509_crl *list, const mbedtls_x509_crt *authority)
{
    return list->issuer_raw.len == authority->subject_raw.len
        && memcmp(list->issuer_raw.p, authority->subject_raw.p, list->issuer_raw.len) == 0;
}

// The suites that an end of a connection speaks: keys that are exchanged anew for each connection (ECDHE), and ciphers that also
// authenticate (AEAD). In the order of Mbed TLS.
static const int coordinators_suites[] = {
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
    MBEDTLS_TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
    MBEDTLS_TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
    0,
};

#if MBEDTLS_VERSION_MAJOR < 3
static const mbedtls_ecp_group_id coordinators_curves[] = {
    MBEDTLS_ECP_DP_CURVE25519, MBEDTLS_ECP_DP_SECP256R1, MBEDTLS_ECP_DP_SECP384R1, MBEDTLS_ECP_DP_SECP521R1, MBEDTLS_ECP_DP_NONE,
};
#endif

static inline void coordinators_restrict(mbedtls_ssl_config *configuration)
{
    mbedtls_ssl_conf_ciphersuites(configuration, coordinators_suites);
#if MBEDTLS_VERSION_MAJOR < 3
    // Mbed TLS 3 has none by default that is shorter.
    mbedtls_ssl_conf_curves(configuration, coordinators_curves);
#endif
}

// Returns a new source of entropy for mbedtls_entropy_func, or NULL when there is no memory.
//
// Swift doesn't see its type: for what it must know of the thousands of numbers in it, it would generate 72 KB.
static inline void *coordinators_new_entropy(void)
{
    mbedtls_entropy_context *entropy = malloc(sizeof *entropy);
    if (entropy) mbedtls_entropy_init(entropy);
    return entropy;
}

static inline void coordinators_free_entropy(void *entropy)
{
    if (entropy) mbedtls_entropy_free(entropy);
    free(entropy);
}
#endif
