#ifndef CMBEDTLS_SHIM_H
#define CMBEDTLS_SHIM_H
#include <mbedtls/ctr_drbg.h>
#include <mbedtls/entropy.h>
#include <mbedtls/pk.h>
#include <mbedtls/ssl.h>
#include <mbedtls/version.h>
#include <mbedtls/x509_crt.h>
#include <stdlib.h>

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
