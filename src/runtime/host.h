/*
** Calls of the host: infeed, outfeed, custom calls, and sends and receives with
** is_host_transfer=true. The replica parks; the host is notified, takes the call, reads the
** operands, writes the results, and says that it is done, at once or much later.
*/
#ifndef XLA_RUNTIME_HOST_H
#define XLA_RUNTIME_HOST_H

#include "runtime/run.h"

/* A replica that waits for the host is its own call: parked_at is what it wants. */
typedef Replica HostCall;

/* From a replica's thunk: parks it. Always OUTCOME_PARKED. */
Outcome host_call_arrive(Replica *replica, const Thunk *thunk);

/* The oldest call of the run that nobody has taken yet; NULL if there is none. */
HostCall *host_call_take(Run *run);

/* Ends a call that was taken: the replica goes on, or if `message` is not NULL, its run fails with
** that and `code`. Nothing happens if the run has failed meanwhile. */
void host_call_done(HostCall *call, StatusCode code, const char *message);

/* The name by which the host knows what to do: custom_call_target, or the feed's config. */
const char *host_call_target(const HostCall *call);

/* Leaves: how many, of which shape (NULL for tokens' data). */
static inline int host_call_operands(const HostCall *call) {
  return call->parked_at->operand_count;
}
static inline int host_call_results(const HostCall *call) { return call->parked_at->result_count; }

#endif
