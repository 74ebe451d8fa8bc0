/*
** Lists the side effects of a module as a tree and compares two such lists.
**
** A list has the effects of a computation in the order of its instructions. An instruction with an effect
** is a leaf, named by its opcode and the channel or target that it uses. A while, or an instruction that
** applies a computation to elements, is a loop; a conditional is a choice, with a list for each branch. A
** call, a fusion or an asynchronous start is the list of its computation.
*/
#ifdef XLA_CHECKS

#include "rewrite/base/effects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/scope.h"
#include "base/strbuf.h"
#include "rewrite/base/side_effects.h"

enum {
  /* Threshold MAX_NODES, MAX_BRANCHES, MAX_DEPTH: a check of test builds. No path. */
  MAX_NODES = 4096,
  MAX_BRANCHES = 64, /* loops and choices; each may be compared in several ways */
  MAX_DEPTH = 100,
};

typedef enum EffectKind { EFFECT, LOOP, CHOICE } EffectKind;

typedef struct Node Node;
typedef struct List {
  const Node *node; /* NULL at the end */
  const struct List *rest;
} List;

struct Node {
  EffectKind kind;
  const char *name;   /* of an effect */
  const List **parts; /* of a loop: one; of a choice: one a branch */
  int part_count;
};

struct Effects {
  Arena *arena;
  int nodes, branches, depth;
  const List *list;
};

static const List *cons(Effects *e, const Node *node, const List *rest) {
  List *list = ARENA_NEW(e->arena, List);
  *list = (List){node, rest};
  return list;
}

/* Returns the elements of `first`, then those of `second`. */
static const List *append(Effects *e, const List *first, const List *second) {
  List head = {NULL, second}, *last = &head;
  for (; first; first = first->rest) {
    List *copy = ARENA_NEW(e->arena, List);
    *copy = (List){first->node, second};
    last->rest = copy;
    last = copy;
  }
  return head.rest;
}

/* ---- From a module ---- */

/* Whether an instruction only completes one that another started. */
static bool is_done(Opcode opcode) {
  switch (opcode) {
  case HLO_ASYNC_UPDATE:
  case HLO_ASYNC_DONE:
  case HLO_ALL_GATHER_DONE:
  case HLO_ALL_REDUCE_DONE:
  case HLO_COLLECTIVE_PERMUTE_DONE: return true;
  default: return false;
  }
}

static const char *effect_name(Effects *e, const Instruction *x) {
  const Attributes *a = x->a;
  const char *target = a->custom_call_target ? a->custom_call_target : "";
  char name[128];
  const char *opcode = opcode_name(x->opcode), *start = strstr(opcode, "-start");
  int length = start ? (int)(start - opcode) : (int)strlen(opcode);
  snprintf(name, sizeof name, "%.*s %lld %s", length, opcode, (long long)a->channel_id, target);
  return arena_strdup(e->arena, name);
}

static const List *effects_of(Effects *e, const Computation *computation);

/* Lists the effects of each computation that an instruction calls. */
static const List *called_effects(Effects *e, const Instruction *x, const List *rest) {
  int count = instruction_called(x, NULL);
  Computation **called = ARENA_ARRAY(e->arena, Computation *, count + 1);
  const List **parts = ARENA_ARRAY(e->arena, const List *, count + 1);
  const List *all = NULL;
  instruction_called(x, called);
  for (int i = 0; i < count; i++) {
    parts[i] = effects_of(e, called[i]);
    all = append(e, all, parts[i]);
  }
  if (!all) return rest;
  bool is_call = x->opcode == HLO_CALL || x->opcode == HLO_FUSION || x->opcode == HLO_ASYNC_START;
  if (is_call) return append(e, all, rest);
  e->branches++;
  Node *node = ARENA_NEW(e->arena, Node);
  *node = (Node){.kind = CHOICE, .parts = parts, .part_count = count};
  if (x->opcode != HLO_CONDITIONAL) {
    bool is_nested =
        all->node->kind == LOOP && !all->rest; /* one loop over all dimensions, or several */
    parts[0] = is_nested ? all->node->parts[0] : all;
    *node = (Node){.kind = LOOP, .parts = parts, .part_count = 1};
  }
  return cons(e, node, rest);
}

static const List *effects_of(Effects *e, const Computation *computation) {
  const List *list = NULL;
  if (++e->depth > MAX_DEPTH) e->nodes = MAX_NODES;
  for (int i = computation->count - 1; i >= 0 && e->nodes < MAX_NODES; i--) {
    const Instruction *x = computation->instructions[i];
    if (is_done(x->opcode)) continue;
    if (x->opcode != HLO_ASYNC_START && instruction_has_own_effect(x)) {
      Node *node = ARENA_NEW(e->arena, Node);
      *node = (Node){.kind = EFFECT, .name = effect_name(e, x)};
      list = cons(e, node, list);
      e->nodes++;
    } else {
      list = called_effects(e, x, list);
    }
  }
  e->depth--;
  return list;
}

static bool module_has_effects(const Module *module) {
  for (int c = 0; c < module->count; c++) {
    for (int i = 0; i < module->computations[c]->count; i++) {
      if (instruction_has_own_effect(module->computations[c]->instructions[i])) return true;
    }
  }
  return false;
}

Effects *effects_list(const Module *module) {
  if (!module_has_effects(module)) return NULL;
  Effects *e = scope_new(1, sizeof *e);
  e->arena = arena_new();
  e->list = effects_of(e, module->entry);
  if (e->nodes < MAX_NODES && e->branches <= MAX_BRANCHES) return e;
  effects_free(e);
  return NULL;
}

void effects_free(Effects *effects) {
  if (!effects) return;
  arena_free(effects->arena);
  scope_free(effects);
}

/* ---- Comparing ---- */

static bool effects_equal(Effects *e, const List *before, const List *after);

static bool nodes_equal(Effects *e, const Node *a, const Node *b) {
  if (a->kind != b->kind || a->part_count != b->part_count) return false;
  for (int i = 0; i < a->part_count; i++) {
    if (!effects_equal(e, a->parts[i], b->parts[i])) return false;
  }
  return a->kind != EFFECT || !strcmp(a->name, b->name);
}

static bool effects_equal(Effects *e, const List *before, const List *after) {
  for (; before && before->node->kind == EFFECT; before = before->rest) {
    if (!after || !nodes_equal(e, before->node, after->node)) return false;
    after = after->rest;
  }
  if (!before) return !after;
  const Node *node = before->node;
  if (after && nodes_equal(e, node, after->node) && effects_equal(e, before->rest, after->rest))
    return true;
  if (node->kind == LOOP) return effects_equal(e, before->rest, after); /* it makes no iteration */
  for (int i = 0; node->kind == CHOICE && i < node->part_count; i++) {
    if (effects_equal(e, append(e, node->parts[i], before->rest), after)) return true;
  }
  return false;
}

static void print_list(StrBuf *out, const List *list) {
  for (; list; list = list->rest) {
    const Node *node = list->node;
    if (node->kind == EFFECT) strbuf_printf(out, " %s;", node->name);
    for (int i = 0; i < node->part_count; i++) {
      strbuf_printf(out, " %s {", node->kind == LOOP ? "loop" : "branch");
      print_list(out, node->parts[i]);
      strbuf_printf(out, " }");
    }
  }
}

static void fail(const Effects *before, const Effects *after, const char *pass) {
  StrBuf text = {0};
  strbuf_printf(&text, "%s changed side effects, from", pass);
  print_list(&text, before->list);
  strbuf_printf(&text, " to");
  if (after) print_list(&text, after->list);
  fprintf(stderr, "effects check: %s\n", text.text);
  abort();
}

void effects_check(const Effects *before, const Module *module, const char *pass) {
  if (!before) return;
  Effects *after = effects_list(module);
  Effects scratch = {.arena = arena_new()};
  if (after || !module_has_effects(module)) {
    if (!effects_equal(&scratch, before->list, after ? after->list : NULL))
      fail(before, after, pass);
  }
  arena_free(scratch.arena);
  effects_free(after);
}

#endif
