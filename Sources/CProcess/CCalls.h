#ifndef COORDINATOR_CCALLS_H
#define COORDINATOR_CCALLS_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HAS_SANITIZER 0
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#undef HAS_SANITIZER
#define HAS_SANITIZER 1
#endif
#endif

// Whether a function of the C library can be answered here: its own is a weak symbol. A sanitizer asks before its own beginning, when nothing that it compiles may run.
#if defined(__linux__) && defined(__GLIBC__) && !HAS_SANITIZER
#define CAN_ANSWER 1
#else
#define CAN_ANSWER 0
#endif

// Between clone and execve a child runs in the parent's memory, beside the parent's threads, with the registers of the thread that has cloned
// it: so also with its errno. The child's functions therefore use no function of the C library: they make their system calls themselves, and
// find all that they need in memory that they're given. A sanitizer, which would note in the parent's memory what the child does, leaves them out.
#if HAS_SANITIZER
#define IN_CHILD __attribute__((disable_sanitizer_instrumentation))
#else
#define IN_CHILD
#endif

// A system call that leaves errno alone; a result below zero is the negated errno.
#define CALL(...) CALL_WITH(__VA_ARGS__, 0, 0, 0, 0, 0)
#define CALL_WITH(number, first, second, third, fourth, fifth, ...) \
    call((number), (long)(first), (long)(second), (long)(third), (long)(fourth), (long)(fifth))
IN_CHILD static inline long call(long number, long first, long second, long third, long fourth, long fifth) {
#if defined(__x86_64__)
    register long r10 __asm__("r10") = fourth;
    register long r8 __asm__("r8") = fifth;
    __asm__ volatile("syscall"
                     : "+a"(number)
                     : "D"(first), "S"(second), "d"(third), "r"(r10), "r"(r8)
                     : "rcx", "r11", "cc", "memory");
    return number;
#elif defined(__aarch64__)
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = first;
    register long x1 __asm__("x1") = second;
    register long x2 __asm__("x2") = third;
    register long x3 __asm__("x3") = fourth;
    register long x4 __asm__("x4") = fifth;
    __asm__ volatile("svc #0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4) : "cc", "memory");
    return x0;
#else
    long result = syscall(number, first, second, third, fourth, fifth);
    return result < 0 ? -errno : result;
#endif
}

#endif
