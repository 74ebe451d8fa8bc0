/*
** A lock that knows its owner. A thread that JavaScript terminates unlocks nothing; other threads notice its
** death instead of waiting forever. Not recursive.
*/
#ifndef XLA_BASE_HOST_LOCK_H
#define XLA_BASE_HOST_LOCK_H

#include <stdbool.h>
#include <stdint.h>

typedef struct Lock {
  _Atomic uint32_t word; /* 0: free. Else the owner's number + 1, and whether a thread sleeps */
} Lock;

enum { THREAD_HOST = 0, THREAD_NONE = -1 };

/* Sets the number of this thread. The default is THREAD_HOST. */
void lock_set_thread(int number);
int lock_thread(void);

/*
** Acquires the lock. A worker sleeps until it has the lock. The host's thread must not sleep for long, and it may
** be the one to learn of the owner's death. No living owner holds a lock for seconds; after that time the host's thread
** ends its call with platform_trap(STATUS_UNAVAILABLE).
*/
void lock_acquire(Lock *lock);
void lock_release(Lock *lock);

int lock_owner(const Lock *lock); /* THREAD_NONE: it is free */
bool lock_is_mine(const Lock *lock);

#endif
