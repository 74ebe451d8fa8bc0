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
static int peer_of(const Thunk *thunk, const Device *device) {
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

static void write_results(Device *device, const Thunk *thunk, const uint8_t *data) {
  for (int i = 0; i < thunk->result_count; i++) {
    LogicalBuffer *to = thunk->results[i];
    if (to->slot == SLOT_NONE) continue;
    if (data) {
      memcpy(device_pointer(device, to), data, (size_t)to->bytes);
      data += to->bytes;
    } else {
      memset(device_pointer(device, to), 0, (size_t)to->bytes);
    }
  }
}

/* ---- With the lock held ---- */

static bool fits(const Message *message, const Device *device, const Thunk *thunk, bool rest) {
  if (message->channel != thunk->instruction->a->channel_id) return false;
  if (message->target != ANY_DEVICE) return message->target == device->id;
  return rest || message->source == device->id;
}

/* Removes the first matching message from the list: of the lowest source, the oldest one. */
static Message *take(Run *run, const Device *device, const Thunk *thunk, bool rest) {
  Message **best = NULL;
  for (Message **link = &run->messages; *link; link = &(*link)->next) {
    if (!fits(*link, device, thunk, rest)) continue;
    if (!best || (*link)->source < (*best)->source) best = link;
  }
  if (!best) return NULL;
  Message *message = *best;
  *best = message->next;
  return message;
}

static bool waits_for_message(const Device *device) {
  return device->state == DEVICE_PARKED && device->parked_at->instruction->opcode == HLO_RECV_DONE;
}

/* Gives a waiting device its message, if there is one. The device copies it itself when it runs. */
static bool deliver(Run *run, Device *device, bool rest) {
  device->message = take(run, device, device->parked_at, rest);
  if (!device->message) return false;
  device_ready(device, device->message->source);
  device_resume(device);
  return true;
}

bool channels_deliver_rest(Run *run) {
  bool delivered = false;
  for (int i = 0; i < run->device_count && !run->failing; i++) {
    if (waits_for_message(&run->devices[i])) delivered |= deliver(run, &run->devices[i], true);
  }
  return delivered;
}

/* ---- Thunks ---- */

/* Checks the size: the verifier compared sizes only if both ends are in one module. */
bool channel_take(Device *device, const Thunk *thunk, Error *error) {
  Message *message = device->message;
  device->message = NULL;
  bool ok = message->bytes == data_bytes(thunk);
  if (ok) {
    write_results(device, thunk, message->data);
  } else {
    char name[DEVICE_NAME_SIZE];
    error_set_op(error, STATUS_INVALID_ARGUMENT, "recv-done",
                 "%s receives %lld bytes on channel %lld but %lld were sent",
                 mesh_device_name(device->run->mesh, device->id, name),
                 (long long)data_bytes(thunk), (long long)message->channel,
                 (long long)message->bytes);
  }
  message_free(message);
  return ok;
}

Outcome channel_send(Device *device, const Thunk *thunk, Error *error) {
  Run *run = device->run;
  int target = peer_of(thunk, device);
  if (target == NO_PEER) return OUTCOME_DONE;
  int64_t bytes = 0;
  for (int i = 0; i < thunk->operand_count; i++) bytes += thunk->operands[i]->bytes;
  Message *message = message_new(bytes, error);
  if (!message) return OUTCOME_FAILED;
  message->channel = thunk->instruction->a->channel_id;
  message->source = device->id;
  message->target = target;
  uint8_t *at = message->data;
  for (int i = 0; i < thunk->operand_count; i++) {
    const LogicalBuffer *from = thunk->operands[i];
    if (from->slot == SLOT_NONE) continue;
    memcpy(at, device_pointer(device, from), (size_t)from->bytes);
    at += from->bytes;
  }
  scheduler_lock();
  Message **link = &run->messages;
  while (*link) link = &(*link)->next;
  *link = message;
  if (target >= 0 && target < run->device_count && waits_for_message(&run->devices[target])) {
    deliver(run, &run->devices[target], false);
  }
  scheduler_unlock();
  return OUTCOME_DONE;
}

Outcome channel_receive(Device *device, const Thunk *thunk) {
  Run *run = device->run;
  if (peer_of(thunk, device) == NO_PEER) {
    write_results(device, thunk, NULL);
    return OUTCOME_DONE;
  }
  scheduler_lock();
  device->parked_at = thunk;
  device->rendezvous = NULL;
  device_park(device, DEVICE_PARKED);
  deliver(run, device, false); /* if the message is there, the device is queued again at once */
  scheduler_unlock();
  return OUTCOME_PARKED;
}

void channels_free(Run *run) {
  for (int i = 0; i < run->device_count; i++) {
    if (run->devices[i].message) message_free(run->devices[i].message);
  }
  while (run->messages) {
    Message *next = run->messages->next;
    message_free(run->messages);
    run->messages = next;
  }
}
