#include "runtime/waiting.h"

#include "hlo/numbers.h"

enum { MOST_SHOWN = 8 };

void waiting_note(Run *run) {
  for (int d = 0; d < run->device_count; d++) {
    const Replica *device = &run->replicas[d];
    run->waiting[d] = (Waiting){device->state, device->parked_at, device->rendezvous};
  }
  run->has_waiting = true;
}

static bool waits(const Waiting *device) {
  return device->state == REPLICA_PARKED || device->state == REPLICA_HOST;
}

static bool is_collective(const Waiting *device) { return device->thunk->kind == THUNK_COLLECTIVE; }

static const DeviceGroup *group_of(const Run *run, int device) {
  const DeviceGroups *groups = run->waiting[device].thunk->groups;
  return &groups->groups[groups->group_of[device]];
}

/* Whether device `d`, of the same group, is where `waiting` is. */
static bool has_arrived(const Run *run, int waiting, int d) {
  const Waiting *other = &run->waiting[d];
  return waits(other) && is_collective(other) &&
         other->rendezvous == run->waiting[waiting].rendezvous;
}

/* From whom a device that waits for a message expects it; NO_PEER: from anybody. */
static int source_of(const Run *run, int device) {
  const int *peers = run->waiting[device].thunk->peers;
  return peers && peers[device] < run->device_count ? peers[device] : NO_PEER;
}

/* ---- In words ---- */

static void append_name(const Run *run, int device, Error *error) {
  char name[DEVICE_NAME_SIZE];
  error_append(error, "%s", mesh_device_name(run->mesh, device, name));
}

/* What a device does that others wait for. */
static void append_state(const Waiting *device, Error *error) {
  if (device->state == REPLICA_STOPPED) error_append(error, " (which has finished)");
  if (waits(device)) error_append(error, " (which waits at %s)", device->thunk->instruction->name);
}

static void append_members(const Run *run, int waiting, Error *error) {
  const DeviceGroup *group = group_of(run, waiting);
  int missing = 0;
  for (int i = 0; i < group->size; i++) {
    int d = group->devices[i];
    if (has_arrived(run, waiting, d)) continue;
    if (missing++ >= MOST_SHOWN) continue;
    error_append(error, "%s", missing == 1 ? " for " : ", ");
    append_name(run, d, error);
    append_state(&run->waiting[d], error);
  }
  if (missing > MOST_SHOWN) error_append(error, " and %d more", missing - MOST_SHOWN);
}

static void append_message(const Run *run, int waiting, Error *error) {
  int source = source_of(run, waiting);
  error_append(error, " for a send on channel %lld",
               (long long)run->waiting[waiting].thunk->instruction->a->channel_id);
  if (source == NO_PEER) return;
  error_append(error, " from ");
  append_name(run, source, error);
  append_state(&run->waiting[source], error);
}

static void append_host(const Instruction *at, Error *error) {
  switch (at->opcode) {
  case HLO_INFEED: error_append(error, " for the host: transferToInfeed() gives it a value"); break;
  case HLO_CUSTOM_CALL:
    error_append(error, " for the host: the callback of \"%s\" has not answered",
                 at->a->custom_call_target ? at->a->custom_call_target : "");
    break;
  default: error_append(error, " for the host"); break;
  }
}

static void append_waiting(const Run *run, int device, Error *error) {
  const Waiting *waiting = &run->waiting[device];
  const Instruction *at = waiting->thunk->instruction;
  append_name(run, device, error);
  error_append(error, " waits at %s %s", opcode_name(at->opcode), at->name);
  if (waiting->state == REPLICA_HOST) {
    append_host(at, error);
  } else if (is_collective(waiting)) {
    append_members(run, device, error);
  } else {
    append_message(run, device, error);
  }
  if (at->line) error_append(error, ", on line %d", at->line);
}

/* All who wait, the first few in words. Returns how many. */
static int append_all(const Run *run, Error *error) {
  int count = 0;
  for (int d = 0; d < run->device_count; d++) {
    if (!waits(&run->waiting[d]) || count++ >= MOST_SHOWN) continue;
    error_append(error, "%s", count == 1 ? " " : "; ");
    append_waiting(run, d, error);
  }
  if (count > MOST_SHOWN) error_append(error, "; and %d more wait", count - MOST_SHOWN);
  return count;
}

static const Instruction *first_waiting(const Run *run) {
  for (int d = 0; d < run->device_count; d++) {
    if (waits(&run->waiting[d])) return run->waiting[d].thunk->instruction;
  }
  return NULL;
}

void waiting_report_deadlock(const Run *run, Error *error) {
  const Instruction *first = first_waiting(run);
  error_set_op(error, STATUS_FAILED_PRECONDITION, first ? opcode_name(first->opcode) : "execute",
               "deadlock: no %s can go on:", run->mesh.partitions > 1 ? "device" : "replica");
  append_all(run, error);
  if (first) error->line = first->line;
  error_append(error,
               ". Every %s of a group must execute the same collectives the same number of "
               "times",
               run->mesh.partitions > 1 ? "device" : "replica");
}

void waiting_report_timeout(const Run *run, double ms, Error *error) {
  char text[NUMBER_SIZE];
  number_print(text, F64, &ms, 0);
  error_set_op(error, STATUS_DEADLINE_EXCEEDED, "execute", "not done after %s ms:", text);
  int stopped = 0, count = append_all(run, error);
  for (int d = 0; d < run->device_count; d++) stopped += run->waiting[d].state == REPLICA_STOPPED;
  int running = run->device_count - stopped - count;
  if (running) {
    error_append(error, "%s %d of %d devices still compute", count ? ";" : "", running,
                 run->device_count);
  }
}

/* ---- In JSON ---- */

static void print_string(StrBuf *out, const char *text) {
  strbuf_append(out, "\"");
  for (const char *c = text; *c; c++) {
    if (*c == '"' || *c == '\\' || (unsigned char)*c < ' ') {
      strbuf_printf(out, "\\u%04x", (unsigned)(unsigned char)*c);
    } else {
      strbuf_append_n(out, c, 1);
    }
  }
  strbuf_append(out, "\"");
}

/* The beginning of an object. */
static void print_place(const Run *run, int device, StrBuf *out) {
  strbuf_printf(out, "{\"replica\":%d,\"partition\":%d", device / run->mesh.partitions,
                device % run->mesh.partitions);
}

static void print_missing(const Run *run, int device, StrBuf *out) {
  const Waiting *missing = &run->waiting[device];
  print_place(run, device, out);
  strbuf_printf(out, ",\"finished\":%s", missing->state == REPLICA_STOPPED ? "true" : "false");
  if (waits(missing)) {
    strbuf_append(out, ",\"waitsAt\":");
    print_string(out, missing->thunk->instruction->name);
  }
  strbuf_append(out, "}");
}

static void print_arrived(const Run *run, int device, StrBuf *out) {
  print_place(run, device, out);
  strbuf_append(out, "}");
}

static void print_members(const Run *run, int waiting, bool arrived, StrBuf *out) {
  const DeviceGroup *group = group_of(run, waiting);
  int count = 0;
  strbuf_append(out, arrived ? ",\"arrived\":[" : ",\"missing\":[");
  for (int i = 0; i < group->size; i++) {
    int d = group->devices[i];
    if (has_arrived(run, waiting, d) != arrived) continue;
    if (count++) strbuf_append(out, ",");
    (arrived ? print_arrived : print_missing)(run, d, out);
  }
  strbuf_append(out, "]");
}

static void print_what_for(const Run *run, int device, StrBuf *out) {
  const Waiting *waiting = &run->waiting[device];
  const char *target = waiting->thunk->instruction->a->custom_call_target;
  if (waiting->state == REPLICA_HOST) {
    strbuf_append(out, ",\"waitsFor\":\"host\"");
    if (target) {
      strbuf_append(out, ",\"target\":");
      print_string(out, target);
    }
  } else if (is_collective(waiting)) {
    strbuf_append(out, ",\"waitsFor\":\"members\"");
    print_members(run, device, true, out);
    print_members(run, device, false, out);
  } else {
    strbuf_append(out, ",\"waitsFor\":\"message\",\"arrived\":[],\"missing\":[");
    if (source_of(run, device) != NO_PEER) print_missing(run, source_of(run, device), out);
    strbuf_append(out, "]");
  }
}

static void print_waiting(const Run *run, int device, StrBuf *out) {
  const Instruction *at = run->waiting[device].thunk->instruction;
  print_place(run, device, out);
  strbuf_append(out, ",\"instruction\":");
  print_string(out, at->name);
  strbuf_printf(out, ",\"operation\":\"%s\"", opcode_name(at->opcode));
  if (at->line) strbuf_printf(out, ",\"line\":%d", at->line);
  if (at->a->channel_id) strbuf_printf(out, ",\"channel\":%lld", (long long)at->a->channel_id);
  print_what_for(run, device, out);
  strbuf_append(out, "}");
}

void waiting_print(const Run *run, StrBuf *out) {
  int count = 0;
  strbuf_append(out, "[");
  for (int d = 0; run->has_waiting && d < run->device_count; d++) {
    if (!waits(&run->waiting[d])) continue;
    if (count++) strbuf_append(out, ",");
    print_waiting(run, d, out);
  }
  strbuf_append(out, "]");
}
