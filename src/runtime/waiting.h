/*
** Waiting: records each device's wait when a run cannot go on or takes too long. The record is made with the
** scheduler's lock held, so nothing is allocated; messages and JSON are made from it later.
*/
#ifndef XLA_RUNTIME_WAITING_H
#define XLA_RUNTIME_WAITING_H

#include "runtime/run_state.h"

/* The state of a device at that moment. */
typedef struct Waiting {
  DeviceState state;  /* it waits if that is PARKED or HOST */
  const Thunk *thunk; /* the thunk at which it is */
  int opener;         /* the device that opened the rendezvous it waits in; NO_DEVICE: none */
  int leader;         /* the first device that waits at the same instruction */
  int waiters;        /* of a leader: the number of devices that wait there */
  int arrived;        /* of an opener: the number of arrived devices, */
  int first_arrived;  /* the first of them in device order, */
  int next_arrived;   /* and of each the next one; NO_DEVICE: none */
  /* In the hash table of instructions: the first entry of this bucket, and the next entry of this entry's bucket. */
  int bucket, chain;
} Waiting;

/* With the lock held: fills run->waiting, in time linear in the devices. */
void waiting_note(Run *run);

/* With the lock held: makes an error of the record. It describes the first few devices in words and counts
** the others by instruction; it always fits the message. */
void waiting_report_deadlock(const Run *run, Error *error);
void waiting_report_timeout(const Run *run, double ms, Error *error);

/*
** Prints the record as JSON, from which bindings/host/waiting.mjs makes error.waiting. Its size is linear in devices
** and instructions:
**   partitions
**   instructions: { instruction, operation, line, channel, target } at which devices wait; the last three if any
**   rendezvous: { arrived, missing, arrivedCount, missingCount }: device numbers, the first 32 of each
**   waiting: for each device that waits, in order: [device, instruction, rendezvous], or
**     [device, instruction, -1] if it waits for the host, [device, instruction, -2, source] for a message, where
**     the source is left out if the message may be of any device
**   finished: the devices that have finished
** "{}" if there is no record.
*/
void waiting_print(const Run *run, StrBuf *out);

#endif
