// What the C peers have in common: the payload, the clock, the process at the other end, and the figures that are printed.
#pragma once
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 64, ROUNDS = 20000, WARM_UP = 2000 };

static inline void check(int failed, const char *what)
{
    if (failed) {
        perror(what);
        exit(1);
    }
}

static inline long nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000L + now.tv_nsec;
}

static inline int ascending(const void *left, const void *right)
{
    long a = *(const long *)left, b = *(const long *)right;
    return (a > b) - (a < b);
}

// The process that sends everything back; it ends with this one. Libraries are used after the fork only.
static inline pid_t start_echo(void (*echo)(void *), void *argument)
{
    pid_t child = fork();
    check(child < 0, "fork");
    if (child != 0) return child;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    echo(argument);
    _exit(0);
}

// Makes the round trips one after the other, and prints their p50 and p99 in nanoseconds.
static inline void measure(void (*round_trip)(void *), void *argument)
{
    static long times[ROUNDS];
    for (int round = -WARM_UP; round < ROUNDS; round++) {
        long start = nanoseconds();
        round_trip(argument);
        if (round >= 0) times[round] = nanoseconds() - start;
    }
    qsort(times, ROUNDS, sizeof *times, ascending);
    printf("p50 %ld\np99 %ld\n", times[ROUNDS / 2], times[ROUNDS * 99 / 100]);
}

// The address of a socket in the directory that is the program's only argument.
static inline void make_address(char *address, size_t capacity, int count, char **arguments, const char *name)
{
    if (count != 2 || (size_t)snprintf(address, capacity, "ipc://%s/%s", arguments[1], name) >= capacity) {
        fprintf(stderr, "usage: %s DIRECTORY\n", arguments[0]);
        exit(64);
    }
}
