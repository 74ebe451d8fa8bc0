/*
** Channels: send and recv between devices. A send leaves a message and goes on; recv-done takes
** one, or parks until there is one.
**
** Who gets it: with frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},...}} what the
** pairs say, as in XLA; devices that are no source send nothing, those that are no target receive
** zeros. Without pairs a replica first takes what it sent itself. If no replica can go on, messages
** that are left go to those who wait on their channel, both in replica order: that is when a channel
** connects different replicas, and the order keeps the outcome independent of timing.
*/
#ifndef XLA_RUNTIME_CHANNELS_H
#define XLA_RUNTIME_CHANNELS_H

#include "runtime/run.h"

/* send and recv-done as thunks: OUTCOME_DONE, _PARKED or _FAILED. */
Outcome channel_send(Replica *replica, const Thunk *thunk, Error *error);
Outcome channel_receive(Replica *replica, const Thunk *thunk);

/* The replica was resumed with a message: copies it to the results of `thunk`, its recv-done. */
bool channel_take(Replica *replica, const Thunk *thunk, Error *error);

/* With the scheduler's lock held and nobody running: delivers left messages to waiting replicas.
** True if somebody can go on. */
bool channels_deliver_rest(Run *run);

void channels_free(Run *run); /* messages that nobody took */

#endif
