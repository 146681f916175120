#include "CProcessors.h"
#include <unistd.h>

// A sanitizer asks before its own beginning, when nothing that it compiles may run.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define HAS_SANITIZER
#endif
#endif

#if defined(__linux__) && defined(__GLIBC__) && !defined(HAS_SANITIZER)

// nng 1.5.2 makes threads by the number of processors when it's first used, and has no setting for them. The only question of a library that is answered here is that of
// the thread that has asked for it: the C library's own sysconf(3) is a weak symbol, and answers everything else.
extern long __sysconf(int name);

static _Thread_local long answer;

void coordinator_process_answer_processors(long count) { answer = count; }

long sysconf(int name) {
    if (answer > 0 && (name == _SC_NPROCESSORS_ONLN || name == _SC_NPROCESSORS_CONF)) return answer;
    return __sysconf(name);
}

#else

void coordinator_process_answer_processors(long count) { (void)count; }

#endif
