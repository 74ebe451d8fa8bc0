/*
** Waiting: who waits for what, when a run cannot go on or takes too long. Noted at that moment, with
** the scheduler's lock held, so nothing is allocated; messages and JSON tell what was noted.
*/
#ifndef XLA_RUNTIME_WAITING_H
#define XLA_RUNTIME_WAITING_H

#include "runtime/run.h"

/* What a device was at. */
typedef struct Waiting {
  ReplicaState state; /* it waits if that is PARKED or HOST */
  const Thunk *thunk; /* where */
  int opener;         /* the device that opened the rendezvous it waits in; NO_DEVICE: none */
  int place;          /* the first device that waits at the same instruction */
  int at_place;       /* of the first one: how many wait there */
  int met;            /* of an opener: how many have arrived, */
  int first_met;      /* the first of them in device order, */
  int next_met;       /* and of each the next one; NO_DEVICE: none */
  int bucket,
      chain; /* of the hash table of places: the first in this bucket, the next one in its */
} Waiting;

/* With the lock held: notes it in run->waiting, in time linear in the devices. */
void waiting_note(Run *run);

/* With the lock held: the error of what was noted. The first few devices in words, the others as numbers
** by instruction; it always fits the message. */
void waiting_report_deadlock(const Run *run, Error *error);
void waiting_report_timeout(const Run *run, double ms, Error *error);

/*
** JSON, of which bindings/waiting.mjs makes error.waiting. Its size is linear in devices and instructions:
**   partitions
**   places: { instruction, operation, line, channel, target } at which devices wait; the last three if any
**   meetings: { arrived, missing, arrivedCount, missingCount }: device numbers, the first 32 of each
**   waiting: for each device that waits, in order: [device, place, meeting], or
**     [device, place, -1] if it waits for the host, [device, place, -2, source] for a message, where
**     the source is left out if the message may be of any device
**   finished: the devices that have
** "{}" where nothing was noted.
*/
void waiting_print(const Run *run, StrBuf *out);

#endif
