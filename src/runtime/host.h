/*
** Calls of the host: infeed, outfeed, custom calls, and sends and receives with is_host_transfer=true.
** The device parks, and the host is notified. The host takes the call, reads the operands, writes the
** results and calls host_call_done, at once or much later.
*/
#ifndef XLA_RUNTIME_HOST_H
#define XLA_RUNTIME_HOST_H

#include "runtime/run_state.h"

/* A device that waits for the host is its own call: parked_at is the thunk. */
typedef Device HostCall;

/* Parks a device at a thunk that calls the host. Returns OUTCOME_PARKED. */
Outcome host_call_arrive(Device *device, const Thunk *thunk);

/* Takes and returns the oldest call of the run that was not taken yet; NULL if there is none. */
HostCall *host_call_take(Run *run);

/* Ends a call that was taken. The device goes on; or, if `message` is not NULL, its run fails with that and
** `code`. Does nothing if the run has failed meanwhile. */
void host_call_done(HostCall *call, StatusCode code, const char *message);

/* Returns the name of the host's function: custom_call_target, or the feed's config. */
const char *host_call_target(const HostCall *call);

/* The numbers of leaves, and their shapes (NULL for tokens' data). */
static inline int host_call_operands(const HostCall *call) {
  return call->parked_at->operand_count;
}
static inline int host_call_results(const HostCall *call) { return call->parked_at->result_count; }

#endif
