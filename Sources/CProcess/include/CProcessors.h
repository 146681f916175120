#ifndef COORDINATOR_CPROCESSORS_H
#define COORDINATOR_CPROCESSORS_H

// Has sysconf(3) answer the calling thread that there are so many processors, until it's called with 0; the threads of others aren't concerned.
void coordinator_process_answer_processors(long count);

#endif
