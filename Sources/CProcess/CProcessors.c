#include "CProcessors.h"
#include "CCalls.h"

#if CAN_ANSWER

// nng 1.5.2 makes threads by the number of processors when it's first used, and has no setting for them. Only the thread that has asked for it is
// answered here: the C library's own sysconf(3) answers everything else.
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
