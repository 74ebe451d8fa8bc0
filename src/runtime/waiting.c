#include "runtime/waiting.h"

#include <string.h>

#include "hlo/text/numbers.h"
#include "runtime/origin.h"

enum {
  /* Threshold MAX_SHOWN, MAX_INSTRUCTIONS, MAX_NAME, MAX_WORDS, MAX_LISTED: the length of an error. No path. */
  MAX_SHOWN = 8,        /* devices in words, and members that one of them waits for */
  MAX_INSTRUCTIONS = 4, /* instructions of the others */
  MAX_NAME = 32,        /* characters of a name */
  MAX_WORDS = 1200,     /* bytes of a message, after which no further device is described */
  MAX_LISTED = 32,      /* devices in a list of JSON */
  NO_DEVICE = -1,
};

/* ---- The record ---- */

static bool waits(const Waiting *device) {
  return device->state == DEVICE_PARKED || device->state == DEVICE_HOST;
}

static bool is_collective(const Waiting *device) { return device->thunk->kind == THUNK_COLLECTIVE; }

/* Returns the device that opened a device's rendezvous, which is part of it. */
static int opener_of(const Run *run, const Device *device) {
  if (!device->rendezvous) return NO_DEVICE;
  size_t offset = (size_t)((const char *)device->rendezvous - (const char *)run->devices);
  return (int)(offset / sizeof(Device));
}

/* Returns the first device that waits at the instruction of device `d`, by a hash table of the instructions whose buckets
** lie in the devices. */
static int leader_of(Run *run, int d) {
  Waiting *all = run->waiting;
  const Instruction *at = all[d].thunk->instruction;
  int *link =
      &all[((uintptr_t)at >> 4) * UINT32_C(2654435769) % (unsigned)run->device_count].bucket;
  while (*link != NO_DEVICE && all[*link].thunk->instruction != at) link = &all[*link].chain;
  if (*link == NO_DEVICE) *link = d;
  return *link;
}

void waiting_note(Run *run) {
  Waiting *all = run->waiting;
  for (int d = 0; d < run->device_count; d++) {
    const Device *device = &run->devices[d];
    all[d] = (Waiting){.state = device->state,
                       .thunk = device->parked_at,
                       .opener = opener_of(run, device),
                       .first_arrived = NO_DEVICE,
                       .next_arrived = NO_DEVICE,
                       .bucket = NO_DEVICE,
                       .chain = NO_DEVICE};
  }
  for (int d = 0; d < run->device_count; d++) {
    if (!waits(&all[d])) continue;
    all[d].leader = leader_of(run, d);
    all[all[d].leader].waiters++;
  }
  for (int d = run->device_count - 1; d >= 0; d--) {
    if (!waits(&all[d]) || !is_collective(&all[d])) continue;
    Waiting *opener = &all[all[d].opener];
    all[d].next_arrived = opener->first_arrived;
    opener->first_arrived = d;
    opener->arrived++;
  }
  run->has_waiting = true;
}

static const DeviceGroup *group_of(const Run *run, int device) {
  const DeviceGroups *groups = run->waiting[device].thunk->groups;
  return &groups->groups[groups->group_of[device]];
}

/* Whether device `d`, of the same group, is in the same rendezvous as `waiting`. */
static bool has_arrived(const Run *run, int waiting, int d) {
  const Waiting *other = &run->waiting[d];
  return waits(other) && is_collective(other) && other->opener == run->waiting[waiting].opener;
}

/* Returns the number of missing members in the group of a waiting device. */
static int missing_count(const Run *run, int waiting) {
  return group_of(run, waiting)->size - run->waiting[run->waiting[waiting].opener].arrived;
}

/* Returns the source from which a waiting device expects a message; NO_PEER: any device. */
static int source_of(const Run *run, int device) {
  const int *peers = run->waiting[device].thunk->peers;
  return peers && peers[device] < run->device_count ? peers[device] : NO_PEER;
}

/* ---- In words ---- */

static void append_name(const Run *run, int device, Error *error) {
  char name[DEVICE_NAME_SIZE];
  error_append(error, "%s", mesh_device_name(run->mesh, device, name));
}

static void append_text(const char *text, Error *error) {
  error_append(error, "%.*s%s", MAX_NAME, text, strlen(text) > MAX_NAME ? "..." : "");
}

/* Describes the state of a device that others wait for. */
static void append_state(const Waiting *device, Error *error) {
  if (device->state == DEVICE_STOPPED) error_append(error, " (which has finished)");
  if (!waits(device)) return;
  error_append(error, " (which waits at ");
  append_text(device->thunk->instruction->name, error);
  error_append(error, ")");
}

static void append_members(const Run *run, int waiting, int max_shown, Error *error) {
  const DeviceGroup *group = group_of(run, waiting);
  int missing = missing_count(run, waiting), shown = 0;
  for (int i = 0; i < group->size && shown < missing && shown < max_shown; i++) {
    int d = group->devices[i];
    if (has_arrived(run, waiting, d)) continue;
    error_append(error, "%s", shown++ ? ", " : " for ");
    append_name(run, d, error);
    append_state(&run->waiting[d], error);
  }
  if (missing > shown) error_append(error, " and %d more", missing - shown);
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
    error_append(error, " for the host: the callback of \"");
    append_text(at->a->custom_call_target ? at->a->custom_call_target : "", error);
    error_append(error, "\" has not answered");
    break;
  default: error_append(error, " for the host"); break;
  }
}

static void append_waiting(const Run *run, int device, int max_members, Error *error) {
  const Waiting *waiting = &run->waiting[device];
  const Instruction *at = waiting->thunk->instruction;
  append_name(run, device, error);
  error_append(error, " waits at %s ", opcode_name(at->opcode));
  append_text(at->name, error);
  if (waiting->state == DEVICE_HOST) {
    append_host(at, error);
  } else if (is_collective(waiting)) {
    append_members(run, device, max_members, error);
  } else {
    append_message(run, device, error);
  }
  if (at->line) error_append(error, ", on line %d", at->line);
  origin_append(at, error);
}

/* Counts the waiting devices from `first` on by instruction. `left` is their number. */
static void append_others(const Run *run, int first, int left, Error *error) {
  for (int d = 0, instructions = 0;
       left && d < run->device_count && instructions < MAX_INSTRUCTIONS; d++) {
    const Waiting *leader = &run->waiting[d];
    if (!leader->waiters) continue;
    int count = leader->waiters;
    for (int e = 0; e < first; e++) {
      count -= waits(&run->waiting[e]) && run->waiting[e].leader == d;
    }
    if (!count) continue;
    error_append(error, "; and %d more at ", count);
    append_text(leader->thunk->instruction->name, error);
    left -= count;
    instructions++;
  }
  if (left) error_append(error, "; and %d more elsewhere", left);
}

/* Describes all waiting devices, the first few in words. Returns their number. */
static int append_all(const Run *run, Error *error) {
  int count = 0, shown = 0, first = 0;
  for (int d = 0; d < run->device_count; d++) count += waits(&run->waiting[d]);
  for (; shown < count && shown < MAX_SHOWN && strlen(error->message) < MAX_WORDS; first++) {
    if (!waits(&run->waiting[first])) continue;
    error_append(error, "%s", shown ? "; " : " ");
    append_waiting(run, first, shown ? MAX_SHOWN / 4 : MAX_SHOWN, error);
    shown++;
  }
  append_others(run, first, count - shown, error);
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
  for (int d = 0; d < run->device_count; d++) stopped += run->waiting[d].state == DEVICE_STOPPED;
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

/* Prints a field of the metadata, as it is in HLO text. */
static void print_field(const Instruction *at, const char *field, const char *name, StrBuf *out) {
  int length;
  const char *value = origin_field(at, field, &length);
  if (!value) return;
  strbuf_printf(out, ",\"%s\":\"", name);
  for (int i = 0; i < length; i++) {
    unsigned char c = (unsigned char)value[i];
    if (c == '"' || c == '\\' || c < ' ')
      strbuf_printf(out, "\\u%04x", c);
    else
      strbuf_append_n(out, value + i, 1);
  }
  strbuf_append(out, "\"");
}

static void print_instruction(const Instruction *at, StrBuf *out) {
  strbuf_append(out, "{\"instruction\":");
  print_string(out, at->name);
  strbuf_printf(out, ",\"operation\":\"%s\"", opcode_name(at->opcode));
  if (at->line) strbuf_printf(out, ",\"line\":%d", at->line);
  print_field(at, "op_name", "opName", out);
  print_field(at, "source_file", "sourceFile", out);
  print_field(at, "source_line", "sourceLine", out);
  if (at->a->channel_id) strbuf_printf(out, ",\"channel\":%lld", (long long)at->a->channel_id);
  if (at->a->custom_call_target) {
    strbuf_append(out, ",\"target\":");
    print_string(out, at->a->custom_call_target);
  }
  strbuf_append(out, "}");
}

static void print_device(int count, int device, StrBuf *out) {
  strbuf_printf(out, count ? ",%d" : "%d", device);
}

/* Prints the rendezvous that a device opened. */
static void print_rendezvous(const Run *run, int opener, StrBuf *out) {
  const DeviceGroup *group = group_of(run, opener);
  int missing = missing_count(run, opener), arrived = run->waiting[opener].arrived, count = 0;
  strbuf_append(out, "{\"arrived\":[");
  for (int d = run->waiting[opener].first_arrived; d != NO_DEVICE && count < MAX_LISTED;
       d = run->waiting[d].next_arrived) {
    print_device(count++, d, out);
  }
  strbuf_append(out, "],\"missing\":[");
  count = 0;
  for (int i = 0; i < group->size && count < missing && count < MAX_LISTED; i++) {
    int d = group->devices[i];
    if (!has_arrived(run, opener, d)) print_device(count++, d, out);
  }
  strbuf_printf(out, "],\"arrivedCount\":%d,\"missingCount\":%d}", arrived, missing);
}

/* Prints a waiting device. `instructions` and `rendezvous`: their numbers, by first device and by opener. */
static void print_waiting(const Run *run, int device, const int *instructions,
                          const int *rendezvous, StrBuf *out) {
  const Waiting *waiting = &run->waiting[device];
  strbuf_printf(out, "[%d,%d,", device, instructions[waiting->leader]);
  if (waiting->state == DEVICE_HOST) {
    strbuf_append(out, "-1]");
  } else if (is_collective(waiting)) {
    strbuf_printf(out, "%d]", rendezvous[waiting->opener]);
  } else {
    int source = source_of(run, device);
    strbuf_append(out, "-2");
    if (source != NO_PEER) strbuf_printf(out, ",%d", source);
    strbuf_append(out, "]");
  }
}

/* Prints a list by calling `print` for each device that `is_in` selects; numbers these devices. */
static void number_all(const Run *run, bool (*is_in)(const Waiting *),
                       void (*print)(const Run *, int, StrBuf *), int *numbers, StrBuf *out) {
  int count = 0;
  for (int d = 0; d < run->device_count; d++) {
    if (!is_in(&run->waiting[d])) continue;
    if (count) strbuf_append(out, ",");
    print(run, d, out);
    numbers[d] = count++;
  }
}

static bool is_leader(const Waiting *device) { return device->waiters > 0; }
static bool is_opener(const Waiting *device) { return device->arrived > 0; }
static bool is_finished(const Waiting *device) { return device->state == DEVICE_STOPPED; }

static void print_instruction_of(const Run *run, int device, StrBuf *out) {
  print_instruction(run->waiting[device].thunk->instruction, out);
}

static void print_number(const Run *run, int device, StrBuf *out) {
  (void)run;
  print_device(0, device, out);
}

void waiting_print(const Run *run, StrBuf *out) {
  if (!run->has_waiting) {
    strbuf_append(out, "{}");
    return;
  }
  Arena *arena = arena_new();
  int *instructions = ARENA_ARRAY(arena, int, run->device_count);
  int *rendezvous = ARENA_ARRAY(arena, int, run->device_count);
  strbuf_printf(out, "{\"partitions\":%d,\"instructions\":[", run->mesh.partitions);
  number_all(run, is_leader, print_instruction_of, instructions, out);
  strbuf_append(out, "],\"rendezvous\":[");
  number_all(run, is_opener, print_rendezvous, rendezvous, out);
  strbuf_append(out, "],\"waiting\":[");
  for (int d = 0, count = 0; d < run->device_count; d++) {
    if (!waits(&run->waiting[d])) continue;
    if (count++) strbuf_append(out, ",");
    print_waiting(run, d, instructions, rendezvous, out);
  }
  strbuf_append(out, "],\"finished\":[");
  number_all(run, is_finished, print_number, instructions, out);
  strbuf_append(out, "]}");
  arena_free(arena);
}
