#ifndef COORDINATOR_CNNGANSWERS_H
#define COORDINATOR_CNNGANSWERS_H

// What nng 1.5.2 asks of the C library where it has no setting. Only the calling thread is answered, between the two calls.

// From a call with a number until one with 0: sysconf(3) says that there are so many processors, and pthread_setname_np(3) gives no name to other threads, which
// begin with that of nng's poller.
void coordinator_process_answer_first_use(long processors);

// From a call with 1 until one with 0: a descriptor that epoll_ctl(2) adds without an event, reports errors and the end of its connection once.
void coordinator_process_answer_dial(int is_dialling);

#endif
