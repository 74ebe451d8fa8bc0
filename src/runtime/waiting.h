/*
** Waiting: who waits for what, when a run cannot go on or takes too long. Noted at that moment, with
** the scheduler's lock held, so nothing is allocated; messages and JSON tell what was noted.
*/
#ifndef XLA_RUNTIME_WAITING_H
#define XLA_RUNTIME_WAITING_H

#include "runtime/run.h"

/* What a device was at. */
typedef struct Waiting {
  ReplicaState state;           /* it waits if that is PARKED or HOST */
  const Thunk *thunk;           /* where */
  const Rendezvous *rendezvous; /* equal for those who have met; not to be followed any more */
} Waiting;

/* With the lock held: notes it in run->waiting. */
void waiting_note(Run *run);

/* With the lock held: the error of what was noted. */
void waiting_report_deadlock(const Run *run, Error *error);
void waiting_report_timeout(const Run *run, double ms, Error *error);

/*
** A JSON list, with an entry for each device that waited:
**   replica, partition, instruction, operation; line, if the program has text
**   waitsFor: "members" (of a collective's group), "message" (of a send), or "host"
**   channel: if there is one;  target: of a custom-call
**   arrived, missing: devices {replica, partition}; a missing one also has `finished`, and as
**   `waitsAt` the instruction at which it waits if it does
** "[]" where nothing was noted.
*/
void waiting_print(const Run *run, StrBuf *out);

#endif
