#include "hlo/infer/verifier.h"

#include <stdlib.h>
#include <string.h>

#include "hlo/infer/inference_rules.h"

/* The state of a verification, for lookups in constant time. */
typedef struct Verifier {
  Arena *arena;
  const Module *module;
  NameSet verified; /* names of computations that were verified, and so may be called */
  Error *error;
  const Instruction *culprit; /* the one that the error is about */
} Verifier;

#define VERIFY(v, condition, ...)                                  \
  do {                                                             \
    if (!(condition)) {                                            \
      error_set((v)->error, STATUS_INVALID_ARGUMENT, __VA_ARGS__); \
      return false;                                                \
    }                                                              \
  } while (0)

#define VERIFY_OP(v, instruction, condition, ...)                                    \
  do {                                                                               \
    if (!(condition)) {                                                              \
      (v)->culprit = (instruction);                                                  \
      invalid_argument((v)->error, opcode_name((instruction)->opcode), __VA_ARGS__); \
      return false;                                                                  \
    }                                                                                \
  } while (0)

static const char *text(const Verifier *v, const Shape *shape) {
  return shape_str(v->arena, shape);
}

/* ---- One computation's structure ---- */

static bool contains(const Computation *c, const Instruction *instruction) {
  return instruction && instruction->parent == c && instruction->id >= 0 &&
         instruction->id < c->count && c->instructions[instruction->id] == instruction;
}

static bool verify_names_and_ids(Verifier *v, const Computation *c) {
  NameSet names = {0};
  for (int i = 0; i < c->count; i++) {
    const Instruction *instruction = c->instructions[i];
    VERIFY(v, instruction && instruction->parent == c && instruction->id == i,
           "computation %s: instruction %d is not where it says it is", c->name, i);
    VERIFY_OP(v, instruction, instruction->name && *instruction->name,
              "instruction %d of computation %s has no name", i, c->name);
    VERIFY_OP(v, instruction, names_add(&names, v->arena, instruction->name),
              "name %s is not unique in computation %s; names must be unique", instruction->name,
              c->name);
    VERIFY_OP(v, instruction, instruction->shape, "instruction %s has no shape", instruction->name);
  }
  return true;
}

static bool verify_operand_order(Verifier *v, const Computation *c) {
  for (int i = 0; i < c->count; i++) {
    const Instruction *instruction = c->instructions[i];
    for (int k = 0; k < instruction->operand_count; k++) {
      const Instruction *operand = instruction->operands[k];
      VERIFY_OP(v, instruction, contains(c, operand),
                "operand %d of %s is not an instruction of computation %s", k, instruction->name,
                c->name);
      VERIFY_OP(v, instruction, operand->id < i,
                "operand %s of %s comes after it; operands must come before their users",
                operand->name, instruction->name);
    }
    InstructionList before = instruction->a->control_predecessors;
    for (int k = 0; k < before.count; k++) {
      VERIFY_OP(v, instruction, contains(c, before.items[k]) && before.items[k]->id < i,
                "control predecessor %d of %s must be an earlier instruction of computation %s", k,
                instruction->name, c->name);
    }
  }
  return true;
}

static bool verify_parameters(Verifier *v, const Computation *c) {
  int seen = 0;
  for (int i = 0; i < c->count; i++) {
    const Instruction *p = c->instructions[i];
    if (p->opcode != HLO_PARAMETER) continue;
    seen++;
    VERIFY_OP(v, p, p->parameter_number >= 0 && p->parameter_number < c->parameter_count,
              "parameter %s of shape %s has number %lld, but computation %s has %d parameters; "
              "numbers must be 0..n-1 without gaps",
              p->name, text(v, p->shape), (long long)p->parameter_number, c->name,
              c->parameter_count);
    VERIFY_OP(
        v, p, c->parameters[p->parameter_number] == p,
        "parameter number %lld of computation %s is used twice, by %s of shape %s too; numbers "
        "must be unique",
        (long long)p->parameter_number, c->name, p->name, text(v, p->shape));
  }
  VERIFY(
      v, seen == c->parameter_count,
      "parameter: computation %s has %d parameters, but numbers up to %d; numbers must be 0..n-1 "
      "without gaps",
      c->name, seen, c->parameter_count - 1);
  return true;
}

static bool verify_structure(Verifier *v, const Computation *c) {
  VERIFY(v, c->module == v->module, "computation %s belongs to another module", c->name);
  VERIFY(v, c->count > 0, "computation %s is empty; it must have a root", c->name);
  if (!verify_names_and_ids(v, c)) return false;
  VERIFY(v, contains(c, c->root), "the root of computation %s is not one of its instructions",
         c->name);
  return verify_parameters(v, c) && verify_operand_order(v, c);
}

/* ---- Instructions ---- */

/* Callees come first, so recursion cannot be expressed, and their signatures can be trusted. */
static bool verify_called(Verifier *v, const Instruction *instruction) {
  int count = instruction_called(instruction, NULL);
  if (!count) return true;
  Computation **called = ARENA_ARRAY(v->arena, Computation *, count);
  instruction_called(instruction, called);
  for (int i = 0; i < count; i++) {
    VERIFY_OP(
        v, instruction, called[i]->module == v->module && names_has(&v->verified, called[i]->name),
        "%s calls %%%s, which is not an earlier computation of the module; a computation must "
        "not call itself, directly or indirectly",
        instruction->name, called[i]->name);
  }
  return true;
}

typedef struct Uses { /* of one instruction within its computation */
  int count;
  const Instruction *last;
} Uses;

static Uses *count_uses(Verifier *v, const Computation *c) {
  Uses *uses = ARENA_ARRAY(v->arena, Uses, c->count);
  for (int i = 0; i < c->count; i++) {
    for (int k = 0; k < c->instructions[i]->operand_count; k++) {
      Uses *u = &uses[c->instructions[i]->operands[k]->id];
      if (u->last != c->instructions[i]) u->count++;
      u->last = c->instructions[i];
    }
  }
  return uses;
}

/* Each start must have exactly one done. */
static bool verify_pair(Verifier *v, const Instruction *start, Uses uses) {
  static const struct {
    Opcode start, done, also;
  } pairs[] = {
      {HLO_ALL_GATHER_START, HLO_ALL_GATHER_DONE, HLO_ALL_GATHER_DONE},
      {HLO_ALL_REDUCE_START, HLO_ALL_REDUCE_DONE, HLO_ALL_REDUCE_DONE},
      {HLO_COLLECTIVE_PERMUTE_START, HLO_COLLECTIVE_PERMUTE_DONE, HLO_COLLECTIVE_PERMUTE_DONE},
      {HLO_COPY_START, HLO_COPY_DONE, HLO_COPY_DONE},
      {HLO_ASYNC_START, HLO_ASYNC_DONE, HLO_ASYNC_UPDATE},
      {HLO_ASYNC_UPDATE, HLO_ASYNC_DONE, HLO_ASYNC_UPDATE},
      {HLO_SEND, HLO_SEND_DONE, HLO_TUPLE_OP},
      {HLO_RECV, HLO_RECV_DONE, HLO_TUPLE_OP},
  };
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    if (start->opcode != pairs[i].start) continue;
    bool transfer = start->opcode == HLO_SEND || start->opcode == HLO_RECV;
    if (transfer && start->parent->root == start) continue; /* the body of an async computation */
    bool finished = uses.count == 1 &&
                    (uses.last->opcode == pairs[i].done || uses.last->opcode == pairs[i].also);
    VERIFY_OP(v, start, finished, "%s of shape %s must have exactly one user, a %s; it has %d%s%s",
              start->name, text(v, start->shape), opcode_name(pairs[i].done), uses.count,
              uses.count ? ", the last one a " : "",
              uses.count ? opcode_name(uses.last->opcode) : "");
  }
  return true;
}

/* A fused computation is one expression: every instruction leads to its root, except the limit of a limited product. */
static bool verify_fusion(Verifier *v, const Instruction *fusion) {
  const Computation *c = fusion->a->calls;
  Uses *uses = count_uses(v, c);
  VERIFY_OP(v, fusion, uses[c->root->id].count == 0,
            "the root of fused computation %%%s of %s has users; it must not", c->name,
            fusion->name);
  for (int i = 0; i < c->count; i++) {
    const Instruction *instruction = c->instructions[i];
    bool is_limit = instruction->a->derived.is_limit;
    VERIFY_OP(v, fusion, instruction == c->root || uses[i].count > 0 || is_limit,
              "instruction %s of fused computation %%%s of %s has no users; all but the root must",
              instruction->name, c->name, fusion->name);
  }
  return true;
}

static bool verify_instructions(Verifier *v, const Computation *c) {
  for (int i = 0; i < c->count; i++) {
    const Instruction *instruction = c->instructions[i];
    ArenaMark mark = arena_mark(v->arena);
    bool right = verify_called(v, instruction) &&
                 infer_checked_shape(v->arena, instruction, v->error) &&
                 (instruction->opcode != HLO_FUSION || verify_fusion(v, instruction));
    arena_release(v->arena, mark);
    if (!right) {
      v->culprit = instruction;
      return false;
    }
  }
  ArenaMark mark = arena_mark(v->arena);
  Uses *uses = count_uses(v, c);
  bool paired = true;
  for (int i = 0; i < c->count && paired; i++) {
    paired = verify_pair(v, c->instructions[i], uses[i]);
  }
  arena_release(v->arena, mark);
  return paired;
}

/* ---- Across computations ---- */

/* Instructions of one kind that must agree wherever they are in the module. */
typedef struct Agreement {
  const Instruction *all_reduce; /* the first one */
  const Instruction **transfers; /* sends and receives of the host, through a channel */
  int transfer_count, transfer_capacity;
} Agreement;

static bool verify_all_reduce_layouts(Verifier *v, Agreement *seen,
                                      const Instruction *instruction) {
  if (!seen->all_reduce) seen->all_reduce = instruction;
  VERIFY_OP(v, instruction,
            seen->all_reduce->a->constrain_layout == instruction->a->constrain_layout,
            "%s of shape %s and %s of shape %s differ in constrain_layout; a module must not mix "
            "layout-constrained and unconstrained all-reduces",
            seen->all_reduce->name, text(v, seen->all_reduce->shape), instruction->name,
            text(v, instruction->shape));
  return true;
}

static int by_channel(const void *a, const void *b) {
  const Instruction *x = *(const Instruction *const *)a, *y = *(const Instruction *const *)b;
  int64_t difference = x->a->channel_id - y->a->channel_id; /* both are positive */
  if (difference == 0) difference = x->parent->number - y->parent->number;
  if (difference == 0) difference = x->id - y->id;
  return (difference > 0) - (difference < 0);
}

/* The host cannot tell apart two transfers on one channel, so they must be alike. */
static bool verify_host_channels(Verifier *v, const Agreement *seen) {
  if (seen->transfer_count < 2) return true;
  qsort(seen->transfers, (size_t)seen->transfer_count, sizeof *seen->transfers, by_channel);
  for (int i = 1; i < seen->transfer_count; i++) {
    const Instruction *other = seen->transfers[i - 1], *instruction = seen->transfers[i];
    if (other->a->channel_id != instruction->a->channel_id) continue;
    VERIFY_OP(
        v, instruction,
        other->opcode == instruction->opcode && shape_compatible(other->shape, instruction->shape),
        "%s of shape %s and %s of shape %s use channel_id=%lld; host transfers on one channel "
        "must be identical",
        other->name, text(v, other->shape), instruction->name, text(v, instruction->shape),
        (long long)instruction->a->channel_id);
  }
  return true;
}

static bool verify_agreement(Verifier *v) {
  Agreement seen = {0};
  for (int i = 0; i < v->module->count; i++) {
    const Computation *c = v->module->computations[i];
    for (int k = 0; k < c->count; k++) {
      const Instruction *instruction = c->instructions[k];
      Opcode opcode = instruction->opcode;
      bool all_reduce = opcode == HLO_ALL_REDUCE || opcode == HLO_ALL_REDUCE_START;
      bool transfer = (opcode == HLO_SEND || opcode == HLO_RECV) &&
                      instruction->a->is_host_transfer && instruction->a->channel_id > 0;
      if (all_reduce && !verify_all_reduce_layouts(v, &seen, instruction)) return false;
      if (transfer) {
        ARENA_PUSH(v->arena, seen.transfers, seen.transfer_count, seen.transfer_capacity,
                   instruction);
      }
    }
  }
  return verify_host_channels(v, &seen);
}

/* ---- The module's header ---- */

/* Returns the part of `shape` at `index`; NULL if there is none. */
static const Shape *subshape(const Shape *shape, Int64List index) {
  for (int i = 0; i < index.count; i++) {
    bool inside =
        shape_is_tuple(shape) && index.items[i] >= 0 && index.items[i] < shape->tuple_size;
    if (!inside) return NULL;
    shape = shape->elements[index.items[i]];
  }
  return shape;
}

static bool verify_entry_layout(Verifier *v) {
  const Module *module = v->module;
  const Computation *entry = module->entry;
  for (int i = 0; module->parameter_layouts && i < entry->parameter_count; i++) {
    const Shape *layout = module->parameter_layouts[i], *shape = entry->parameters[i]->shape;
    VERIFY(
        v, !layout || shape_compatible(layout, shape),
        "entry_computation_layout: parameter %d is %s there and %s in the entry computation; they "
        "must be compatible",
        i, text(v, layout), text(v, shape));
  }
  const Shape *layout = module->result_layout, *shape = computation_result_shape(entry);
  VERIFY(v, !layout || shape_compatible(layout, shape),
         "entry_computation_layout: the result is %s there and %s in the entry computation; they "
         "must be compatible",
         text(v, layout), text(v, shape));
  return true;
}

static bool same_index(Int64List a, Int64List b) {
  return a.count == b.count &&
         (a.count == 0 || !memcmp(a.items, b.items, sizeof *a.items * (size_t)a.count));
}

static bool verify_alias(Verifier *v, int i) {
  const Alias *alias = &v->module->aliases[i];
  const Computation *entry = v->module->entry;
  const Shape *output = subshape(computation_result_shape(entry), alias->output_index);
  VERIFY(v, output, "input_output_alias: entry %d names no part of the result %s", i,
         text(v, computation_result_shape(entry)));
  VERIFY(v, alias->parameter >= 0 && alias->parameter < entry->parameter_count,
         "input_output_alias: entry %d names parameter %lld; the entry computation has %d", i,
         (long long)alias->parameter, entry->parameter_count);
  const Shape *whole = entry->parameters[alias->parameter]->shape;
  const Shape *parameter = subshape(whole, alias->parameter_index);
  VERIFY(v, parameter, "input_output_alias: entry %d names no part of parameter %lld of shape %s",
         i, (long long)alias->parameter, text(v, whole));
  VERIFY(
      v, !alias->must || shape_compatible(output, parameter),
      "input_output_alias: entry %d must alias an output of shape %s with a parameter of shape %s; "
      "the shapes must be the same",
      i, text(v, output), text(v, parameter));
  for (int k = 0; k < i; k++) {
    const Alias *other = &v->module->aliases[k];
    VERIFY(
        v, !same_index(alias->output_index, other->output_index),
        "input_output_alias: entries %d and %d alias the same output; an output can have only one "
        "alias",
        k, i);
    VERIFY(v,
           alias->parameter != other->parameter ||
               !same_index(alias->parameter_index, other->parameter_index),
           "input_output_alias: entries %d and %d alias the same parameter; a parameter can have "
           "only one alias",
           k, i);
  }
  return true;
}

static bool verify_all(Verifier *v) {
  const Module *module = v->module;
  VERIFY(v, module->entry, "module %s has no entry computation", module->name);
  for (int i = 0; i < module->count; i++) {
    const Computation *c = module->computations[i];
    VERIFY(v, !names_has(&v->verified, c->name),
           "computation name %s is not unique in the module; names must be unique", c->name);
    if (!verify_structure(v, c) || !verify_instructions(v, c)) return false;
    names_add(&v->verified, v->arena, c->name);
  }
  VERIFY(v, names_has(&v->verified, module->entry->name) && module->entry->module == module,
         "the entry computation %s is not one of the module's", module->entry->name);
  if (!verify_agreement(v) || !verify_entry_layout(v)) return false;
  for (int i = 0; i < module->alias_count; i++) {
    if (!verify_alias(v, i)) return false;
  }
  return true;
}

bool verify_module_at(const Module *module, const Instruction **culprit, Error *error) {
  Arena *arena = arena_new();
  Verifier v = {arena, module, {0}, error, NULL};
  bool right = verify_all(&v);
  *culprit = v.culprit;
  arena_free(arena);
  return right;
}

bool verify_module(const Module *module, Error *error) {
  const Instruction *culprit;
  return verify_module_at(module, &culprit, error);
}
