/*
** Channels: send and recv between devices. A send leaves a message and goes on; recv-done takes
** one, or parks until there is one.
**
** With frontend_attributes={_xla_send_recv_source_target_pairs={{0,1},...}} the pairs name the receivers, as
** in XLA; devices that are no source send nothing, and those that are no target receive zeros. Without pairs
** a device first takes its own messages. Only if no device can go on do the remaining messages go to the
** devices that wait on their channel, both in device order. The outcome thus does not depend on timing.
*/
#ifndef XLA_RUNTIME_CHANNELS_H
#define XLA_RUNTIME_CHANNELS_H

#include "runtime/run_state.h"

/* send and recv-done as thunks: OUTCOME_DONE, _PARKED or _FAILED. */
Outcome channel_send(Device *device, const Thunk *thunk, Error *error);
Outcome channel_receive(Device *device, const Thunk *thunk);

/* The device was resumed with a message: copies it to the results of `thunk`, its recv-done. */
bool channel_take(Device *device, const Thunk *thunk, Error *error);

/* With the scheduler's lock held and no device running: delivers the remaining messages to waiting devices.
** True if a device can go on. */
bool channels_deliver_rest(Run *run);

void channels_free(Run *run); /* frees the messages that no device took */

#endif
