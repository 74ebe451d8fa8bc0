#include "runtime/channels.h"

#include <stdlib.h>
#include <string.h>

#include "runtime/buffer.h"
#include "runtime/scheduler.h"

enum { ANY_DEVICE = -2 };

typedef struct Message {
  struct Message *next;
  int64_t channel;
  int source, target;
  int64_t bytes;
  uint8_t *data;
} Message;

/* Returns a device's peer at a send or recv; NO_PEER if it has none, ANY_DEVICE if the program names none. */
static int peer_of(const Thunk *thunk, const Replica *device) {
  return thunk->peers ? thunk->peers[device->id] : ANY_DEVICE;
}

static Message *message_new(int64_t bytes, Error *error) {
  Message *message = calloc(1, sizeof *message);
  uint8_t *data = message ? memory_alloc(bytes, error) : NULL;
  if (!data) {
    if (!message) error_set(error, STATUS_RESOURCE_EXHAUSTED, "out of memory");
    free(message);
    return NULL;
  }
  message->bytes = bytes;
  message->data = data;
  return message;
}

static void message_free(Message *message) {
  memory_release(message->data, message->bytes);
  free(message);
}

/* Returns the bytes of the data's array leaves, which precede recv-done's token. */
static int64_t data_bytes(const Thunk *thunk) {
  int64_t bytes = 0;
  for (int i = 0; i < thunk->result_count; i++) bytes += thunk->results[i]->bytes;
  return bytes;
}

static void write_results(Replica *replica, const Thunk *thunk, const uint8_t *data) {
  for (int i = 0; i < thunk->result_count; i++) {
    LogicalBuffer *to = thunk->results[i];
    if (to->slot == SLOT_NONE) continue;
    if (data) {
      memcpy(replica_pointer(replica, to), data, (size_t)to->bytes);
      data += to->bytes;
    } else {
      memset(replica_pointer(replica, to), 0, (size_t)to->bytes);
    }
  }
}

/* ---- With the lock held ---- */

static bool fits(const Message *message, const Replica *replica, const Thunk *thunk, bool rest) {
  if (message->channel != thunk->instruction->a->channel_id) return false;
  if (message->target != ANY_DEVICE) return message->target == replica->id;
  return rest || message->source == replica->id;
}

/* Removes the first matching message from the list: of the lowest source, the oldest one. */
static Message *take(Run *run, const Replica *replica, const Thunk *thunk, bool rest) {
  Message **best = NULL;
  for (Message **link = &run->messages; *link; link = &(*link)->next) {
    if (!fits(*link, replica, thunk, rest)) continue;
    if (!best || (*link)->source < (*best)->source) best = link;
  }
  if (!best) return NULL;
  Message *message = *best;
  *best = message->next;
  return message;
}

static bool waits_for_message(const Replica *replica) {
  return replica->state == REPLICA_PARKED &&
         replica->parked_at->instruction->opcode == HLO_RECV_DONE;
}

/* Gives a waiting replica its message, if there is one. The replica copies it itself when it runs. */
static bool deliver(Run *run, Replica *replica, bool rest) {
  replica->message = take(run, replica, replica->parked_at, rest);
  if (!replica->message) return false;
  replica_ready(replica, replica->message->source);
  replica_resume(replica);
  return true;
}

bool channels_deliver_rest(Run *run) {
  bool delivered = false;
  for (int i = 0; i < run->device_count && !run->failing; i++) {
    if (waits_for_message(&run->replicas[i])) delivered |= deliver(run, &run->replicas[i], true);
  }
  return delivered;
}

/* ---- Thunks ---- */

/* Checks the size: the verifier compared sizes only if both ends are in one module. */
bool channel_take(Replica *replica, const Thunk *thunk, Error *error) {
  Message *message = replica->message;
  replica->message = NULL;
  bool ok = message->bytes == data_bytes(thunk);
  if (ok) {
    write_results(replica, thunk, message->data);
  } else {
    char name[DEVICE_NAME_SIZE];
    error_set_op(error, STATUS_INVALID_ARGUMENT, "recv-done",
                 "%s receives %lld bytes on channel %lld but %lld were sent",
                 mesh_device_name(replica->run->mesh, replica->id, name),
                 (long long)data_bytes(thunk), (long long)message->channel,
                 (long long)message->bytes);
  }
  message_free(message);
  return ok;
}

Outcome channel_send(Replica *replica, const Thunk *thunk, Error *error) {
  Run *run = replica->run;
  int target = peer_of(thunk, replica);
  if (target == NO_PEER) return OUTCOME_DONE;
  int64_t bytes = 0;
  for (int i = 0; i < thunk->operand_count; i++) bytes += thunk->operands[i]->bytes;
  Message *message = message_new(bytes, error);
  if (!message) return OUTCOME_FAILED;
  message->channel = thunk->instruction->a->channel_id;
  message->source = replica->id;
  message->target = target;
  uint8_t *at = message->data;
  for (int i = 0; i < thunk->operand_count; i++) {
    const LogicalBuffer *from = thunk->operands[i];
    if (from->slot == SLOT_NONE) continue;
    memcpy(at, replica_pointer(replica, from), (size_t)from->bytes);
    at += from->bytes;
  }
  scheduler_lock();
  Message **link = &run->messages;
  while (*link) link = &(*link)->next;
  *link = message;
  if (target >= 0 && target < run->device_count && waits_for_message(&run->replicas[target])) {
    deliver(run, &run->replicas[target], false);
  }
  scheduler_unlock();
  return OUTCOME_DONE;
}

Outcome channel_receive(Replica *replica, const Thunk *thunk) {
  Run *run = replica->run;
  if (peer_of(thunk, replica) == NO_PEER) {
    write_results(replica, thunk, NULL);
    return OUTCOME_DONE;
  }
  scheduler_lock();
  replica->parked_at = thunk;
  replica->rendezvous = NULL;
  replica_park(replica, REPLICA_PARKED);
  deliver(run, replica, false); /* if the message is there, the replica is queued again at once */
  scheduler_unlock();
  return OUTCOME_PARKED;
}

void channels_free(Run *run) {
  for (int i = 0; i < run->device_count; i++) {
    if (run->replicas[i].message) message_free(run->replicas[i].message);
  }
  while (run->messages) {
    Message *next = run->messages->next;
    message_free(run->messages);
    run->messages = next;
  }
}
