/* Implements locks that know their owner: see lock.h. */
#include "base/host/lock.h"

#include <stdatomic.h>

#include "base/host/platform.h"

#define SLEEPERS 0x80000000u

/* Threshold SPINS, NAP_US, PATIENCE_US: how long a thread polls before it sleeps. Locks are held for less than a
** microsecond. No path. */
enum { SPINS = 100 };
static const double NAP_US = 10000, PATIENCE_US = 5e6; /* of the host's naps */

static _Thread_local uint32_t self = THREAD_HOST + 1;

void lock_set_thread(int number) { self = (uint32_t)number + 1; }
int lock_thread(void) { return (int)self - 1; }

static int owner_of(uint32_t word) { return (int)(word & ~SLEEPERS) - 1; }

int lock_owner(const Lock *lock) { return owner_of(atomic_load(&lock->word)); }
bool lock_is_mine(const Lock *lock) { return lock_owner(lock) == (int)self - 1; }

/* Sleeps until the word may have changed. A nap counts as at most NAP_US: the machine may have slept
** too, and the owner with it. */
static void sleep_for(Lock *lock, uint32_t seen, double *waited_us) {
  if (self != THREAD_HOST + 1) {
    platform_wait(&lock->word, seen, 0);
    return;
  }
  double start = platform_now_us();
  platform_wait(&lock->word, seen, NAP_US);
  double nap = platform_now_us() - start;
  *waited_us += nap < NAP_US ? nap : NAP_US;
  if (*waited_us > PATIENCE_US) {
    platform_trap(STATUS_UNAVAILABLE, "a thread died while it held a lock");
  }
}

static void acquire_slowly(Lock *lock) {
  uint32_t mine = self;
  double waited_us = 0;
  for (int spins = 0;; spins++) {
    uint32_t seen = atomic_load(&lock->word);
    if (owner_of(seen) == THREAD_NONE) {
      if (atomic_compare_exchange_strong(&lock->word, &seen, mine)) return;
    } else if (spins >= SPINS) {
      /* A woken thread sets the mark again, as others may still sleep. */
      mine |= SLEEPERS;
      uint32_t marked = seen | SLEEPERS;
      if (seen != marked && !atomic_compare_exchange_strong(&lock->word, &seen, marked)) continue;
      sleep_for(lock, marked, &waited_us);
    }
  }
}

void lock_acquire(Lock *lock) {
  uint32_t unlocked = 0;
  if (!atomic_compare_exchange_strong(&lock->word, &unlocked, self)) acquire_slowly(lock);
}

void lock_release(Lock *lock) {
  if (atomic_exchange(&lock->word, 0) & SLEEPERS) platform_wake_all(&lock->word);
}
