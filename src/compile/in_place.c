/*
** Lets results take the memory of operands. All thunks and times are known here. Joined buffers become one
** buffer of the plan:
**
**     a result and an operand that no later step reads, if the step reads each element of the operand just
**     before it writes the element at the same place;
**     both sides of a copy whose source no later step reads; the copy is then removed.
**
** Results that may take a parameter's memory are only noted. Whether a run may write to an argument's memory
** is known when it starts (runtime/run.c).
*/
#include "base/scope.h"
#include "codegen/codegen.h"
#include "compile/stages.h"

LogicalBuffer *buffer_owner(LogicalBuffer *buffer) {
  while (buffer->alias_of) buffer = buffer->alias_of;
  return buffer;
}

/* Whether a kernel may write its result over an operand. dynamic-update-slice may: it keeps the elements that
** it does not update in place (kernels/memory/update_slice.c). */
static bool kernel_may_overwrite(const Thunk *thunk, int operand) {
  return thunk->instruction->opcode == HLO_DYNAMIC_UPDATE_SLICE && operand == 0;
}

bool thunk_may_overwrite(const Thunk *thunk, int operand, int result) {
  const LogicalBuffer *buffer = buffer_owner(thunk->operands[operand]);
  if (buffer->bytes != thunk->results[result]->bytes) return false;
  for (int i = 0; i < thunk->operand_count; i++) {
    if (i != operand && buffer_owner(thunk->operands[i]) == buffer) return false;
  }
  switch (thunk->kind) {
  case THUNK_KERNEL: return kernel_may_overwrite(thunk, operand);
  case THUNK_GENERATED: return codegen_may_overwrite(thunk->instruction, operand, result);
  default: return false;
  }
}

static bool is_parameter(const Program *program, const LogicalBuffer *buffer) {
  return buffer->slot >= SLOT_FIRST_PARAMETER && buffer->slot < first_result_slot(program);
}

static bool is_result(const Program *program, const LogicalBuffer *buffer) {
  return buffer->slot >= first_result_slot(program) && buffer->slot < first_constant_slot(program);
}

Spot buffer_spot(const Program *program, const LogicalBuffer *buffer, RunKind kind) {
  Spot spot = {buffer->slot, buffer->offset};
  int loan = spot.slot - program->first_loan;
  if (loan >= 0 && loan < program->loan_count) {
    const Loan *l = &program->loans[loan];
    spot = slot_lends(program, l->lender, kind) ? (Spot){l->lender, l->offset}
                                                : (Spot){SLOT_ARENA, l->instead};
  }
  int result = spot.slot - first_result_slot(program);
  bool may_be_given = kind != RUN_NONE_DONATED && result >= 0 && result < program->result_leaves;
  if (may_be_given && program->donors[result] >= 0) {
    spot.slot = SLOT_FIRST_PARAMETER + program->donors[result];
  }
  return spot;
}

/* Lets `later` take the memory of `earlier`; if one of them is a result, both take the result's place. */
static bool join(const Program *program, LogicalBuffer *later, LogicalBuffer *earlier) {
  if (later == earlier || later->bytes != earlier->bytes) return false;
  if (later->slot != SLOT_ARENA && !is_result(program, later)) return false;
  if (earlier->slot != SLOT_ARENA && !is_result(program, earlier)) return false;
  if (later->slot != SLOT_ARENA && earlier->slot != SLOT_ARENA) return false;
  if (later->slot != SLOT_ARENA) earlier->slot = later->slot;
  if (later->first < earlier->first) earlier->first = later->first;
  if (later->last > earlier->last) earlier->last = later->last;
  later->alias_of = earlier;
  return true;
}

/* Returns the number of the shape's leaf at an index; -1: none. */
static int leaf_at(const Shape *shape, const Int64List *index) {
  int leaf = 0;
  for (int i = 0; i < index->count; i++) {
    int64_t at = index->items[i];
    if (!shape_is_tuple(shape) || at < 0 || at >= shape->tuple_size) return -1;
    for (int k = 0; k < at; k++) leaf += shape_leaves(shape->elements[k]);
    shape = shape->elements[at];
  }
  return shape_is_tuple(shape) ? -1 : leaf;
}

/* Finds the leaves, of all parameters and of the result, that an entry of input_output_alias pairs. */
static bool alias_leaves(const Module *module, const Alias *alias, int *parameter, int *result) {
  if (alias->parameter < 0 || alias->parameter >= module->entry->parameter_count) return false;
  int first = 0;
  for (int p = 0; p < alias->parameter; p++) {
    first += shape_leaves(module->entry->parameters[p]->shape);
  }
  int at = leaf_at(module->entry->parameters[alias->parameter]->shape, &alias->parameter_index);
  *parameter = first + at;
  *result = leaf_at(module->entry->root->shape, &alias->output_index);
  return at >= 0 && *result >= 0;
}

static bool is_alias(const Program *program, const LogicalBuffer *result,
                     const LogicalBuffer *operand) {
  int parameter, leaf, slot = SLOT_FIRST_PARAMETER;
  for (int i = 0; is_result(program, result) && i < program->module->alias_count; i++) {
    if (!alias_leaves(program->module, &program->module->aliases[i], &parameter, &leaf)) continue;
    if (operand->slot == slot + parameter &&
        result->slot == slot + program->parameter_leaves + leaf) {
      return true;
    }
  }
  return false;
}

/* Whether result r of a thunk should rather take this parameter's memory than the one that it has so far: the declared
** one, else the first that no earlier result takes. */
static bool is_better(const Program *program, const Thunk *thunk, int r,
                      const LogicalBuffer *operand) {
  const LogicalBuffer *result = thunk->results[r], *so_far = result->overwrites_parameter;
  if (is_alias(program, result, operand)) return true;
  for (int i = 0; i < r; i++) {
    if (thunk->results[i]->overwrites_parameter == operand) return false;
  }
  return !so_far || (operand->slot < so_far->slot && !is_alias(program, result, so_far));
}

static void join_results(const Program *program, const Thunk *thunk) {
  for (int r = 0; r < thunk->result_count; r++) {
    LogicalBuffer *result = thunk->results[r];
    /* If no step reads a result, two results could take one operand's memory. */
    bool is_read = result->last > thunk->time;
    if (result->alias_of || result->first != thunk->time || !is_read) continue;
    for (int i = 0; i < thunk->operand_count; i++) {
      LogicalBuffer *operand = buffer_owner(thunk->operands[i]);
      if (operand->last != thunk->time || operand == result) continue;
      bool is_free = operand->slot == SLOT_ARENA || is_result(program, operand);
      if (!is_free && !is_parameter(program, operand)) continue;
      if (!thunk_may_overwrite(thunk, i, r)) continue;
      if (!is_free) {
        if (is_better(program, thunk, r, operand)) result->overwrites_parameter = operand;
      } else if (result->overwrites_parameter && is_result(program, result)) {
        result->overwrites_temporary = operand;
      } else if (join(program, result, operand)) {
        break;
      }
    }
  }
}

/* Joins a loop's state with its initial value, and a branch's result with the conditional's. The branch must
** compute the result itself, as another branch may read the earlier value. */
static void join_copy(const Program *program, const Thunk *thunk) {
  LogicalBuffer *from = buffer_owner(thunk->operands[0]), *to = thunk->results[0];
  if (from->last != thunk->time) return;
  if (to->of_branches) {
    if (from->slot == SLOT_ARENA && from->first > to->first) join(program, from, buffer_owner(to));
  } else if (!to->alias_of && from->first <= to->first) {
    if (is_parameter(program, from)) {
      if (from->bytes == to->bytes) to->overwrites_parameter = from;
    } else {
      join(program, to, from);
    }
  }
}

static void join_sequence(const Program *program, const ThunkSequence *sequence) {
  for (int i = 0; i < sequence->count; i++) {
    const Thunk *thunk = &sequence->thunks[i];
    switch (thunk->kind) {
    case THUNK_COPY: join_copy(program, thunk); break;
    case THUNK_WHILE:
      join_sequence(program, thunk->condition);
      join_sequence(program, thunk->body);
      break;
    case THUNK_CONDITIONAL:
      for (int b = 0; b < thunk->branch_count; b++) join_sequence(program, &thunk->branches[b]);
      break;
    default: join_results(program, thunk);
    }
  }
}

void remove_copies(ThunkSequence *sequence) {
  int kept = 0;
  for (int i = 0; i < sequence->count; i++) {
    Thunk *thunk = &sequence->thunks[i];
    if (thunk->kind == THUNK_COPY &&
        buffer_owner(thunk->operands[0]) == buffer_owner(thunk->results[0])) {
      continue;
    }
    ThunkSequence *inner;
    for (int k = 0; (inner = thunk_sequence(thunk, k)); k++) remove_copies(inner);
    sequence->thunks[kept++] = *thunk;
  }
  sequence->count = kept;
}

void join_buffers(Program *program) { join_sequence(program, &program->entry); }

/* ---- Results in arguments' memory ---- */

typedef struct Donors {
  LogicalBuffer **parameters; /* by leaf */
  LogicalBuffer **results;
  bool *taken;
  int *donor; /* by result; -1: none */
} Donors;

static bool may_lie_on(const LogicalBuffer *result, const LogicalBuffer *parameter) {
  return result && parameter && result->bytes == parameter->bytes && result->bytes > 0 &&
         (parameter->last < result->first || result->overwrites_parameter == parameter);
}

static void give(Donors *donors, int result, int parameter) {
  donors->donor[result] = parameter;
  donors->taken[parameter] = true;
}

/* Notes for each result the parameter that its own step can overwrite: the best choice of memory. */
static void note_steps(const Program *program, Donors *donors) {
  for (int r = 0; r < program->result_leaves; r++) {
    const LogicalBuffer *result = donors->results[r];
    if (donors->donor[r] >= 0 || !result || !result->overwrites_parameter) continue;
    int parameter = result->overwrites_parameter->slot - SLOT_FIRST_PARAMETER;
    if (!donors->taken[parameter] && may_lie_on(result, result->overwrites_parameter))
      give(donors, r, parameter);
  }
}

static void note_donors(const Program *program, Donors *donors) {
  /* Threshold MAX_TRIED. Test: "results and temporaries: how many" in core/thresholds_programs.test.mjs. */
  enum { MAX_TRIED = 16 }; /* for one result */
  int first = 0;           /* free one */
  for (int r = 0; r < program->result_leaves; r++) {
    while (first < program->parameter_leaves && donors->taken[first]) first++;
    for (int p = first; p < program->parameter_leaves && p < first + MAX_TRIED; p++) {
      if (donors->donor[r] >= 0) break;
      if (!donors->taken[p] && may_lie_on(donors->results[r], donors->parameters[p])) {
        give(donors, r, p);
      }
    }
  }
}

/* Notes the pairs of input_output_alias, which take precedence. */
static void note_aliases(const Program *program, Donors *donors) {
  const Module *module = program->module;
  for (int i = 0; i < module->alias_count; i++) {
    int p, r;
    if (!alias_leaves(module, &module->aliases[i], &p, &r)) continue;
    if (donors->donor[r] >= 0 || donors->taken[p]) continue;
    if (may_lie_on(donors->results[r], donors->parameters[p])) give(donors, r, p);
  }
}

void find_donors(Program *program, LogicalBuffer *const *buffers, int count) {
  Donors donors = {
      .parameters = scope_new((size_t)program->parameter_leaves + 1, sizeof(LogicalBuffer *)),
      .results = scope_new((size_t)program->result_leaves + 1, sizeof(LogicalBuffer *)),
      .taken = scope_new((size_t)program->parameter_leaves + 1, sizeof(bool)),
      .donor = ARENA_ARRAY(program->arena, int, program->result_leaves),
  };
  for (int r = 0; r < program->result_leaves; r++) donors.donor[r] = -1;
  for (int i = 0; i < count; i++) {
    LogicalBuffer *buffer = buffers[i];
    if (buffer->alias_of) continue;
    int parameter = buffer->slot - SLOT_FIRST_PARAMETER;
    if (is_parameter(program, buffer)) donors.parameters[parameter] = buffer;
    if (is_result(program, buffer)) donors.results[parameter - program->parameter_leaves] = buffer;
  }
  note_aliases(program, &donors);
  note_steps(program, &donors);
  note_donors(program, &donors);
  program->donors = donors.donor;
  scope_free(donors.taken);
  scope_free(donors.results);
  scope_free(donors.parameters);
}
