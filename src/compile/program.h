/*
** Program: the result of compiling a module. It holds the optimised module and a list of thunks, the steps
** that a device takes in order. A thunk is one of: a call of generated code, of a library kernel or of the
** evaluator on one instruction; a copy; a loop or branch over more thunks; a collective; a call of the host.
**
** The stage takes a Module and a Mesh, and returns a Program. compilation.c lists its steps. Invariant: each value
** is in memory from the step that writes it to the last step that reads it; plan_check.c checks this in test
** builds. The trick: all sizes and live ranges are known, so memory is planned before the first run, and a run
** allocates all its buffers when it is created.
**
** Read next: thunks.c (thunks and live ranges), in_place.c and buffer_plan.c (memory), then row_groups.c and
** regions.c (groups of thunks that run faster together). runtime/device.c runs the thunks.
**
** Values live in logical buffers (XLA's term): one per array leaf that some instruction defines.
** Tuples are never materialised: a tuple is its leaves. The buffer plan (buffer_plan.c) gives each
** logical buffer a slot and an offset; a run has one table of slots per device:
**
**     slot 0                      the device's arena, for everything temporary
**     slots 1 .. P                the leaves of the parameters, as the caller gave them
**     slots P+1 .. P+R            the leaves of the result, freshly allocated; temporaries before
**     slots P+R+1 ..              constants
**     then                        loans: temporaries that may lie in an argument or a result
*/
#ifndef XLA_COMPILE_PROGRAM_H
#define XLA_COMPILE_PROGRAM_H

#include "codegen/codegen.h"
#include "hlo/ir/mesh.h"
#include "kernels/kernels.h"
#include "rewrite/pipeline.h"

enum { SLOT_NONE = -1, SLOT_ARENA = 0, SLOT_FIRST_PARAMETER = 1 };

typedef struct LogicalBuffer {
  const Shape *shape;
  int64_t bytes;
  int first, last; /* its live range: the times of definition and last use, counted in thunks */
  int slot;        /* SLOT_NONE: no memory (tokens) */
  int64_t offset;
  struct LogicalBuffer *alias_of; /* the buffer whose memory it shares; NULL: it has its own */
  const Instruction *definer;     /* of temporaries */
  bool unwritten;   /* no thunk writes it: the data of a send or recv until it is done */
  int loop;         /* the number, from 1 on, of the while whose state it is in; 0: none */
  int state_index;  /* its index in that state */
  int result_of;    /* the while whose new state it is part of; 0: none */
  bool of_branches; /* a conditional's result: each branch copies its own there */
  /* Of a loop's state: its initial value, and the time at which that is copied there. */
  const struct LogicalBuffer *copied_from;
  int copied_at;
  /* Set by in_place.c: the parameter that this buffer may overwrite; else, for a result of the program, the temporary. */
  const struct LogicalBuffer *overwrites_parameter, *overwrites_temporary;
  int number; /* for plan_check.c */
} LogicalBuffer;

typedef enum ThunkKind {
  THUNK_EVAL,
  THUNK_GENERATED,
  THUNK_KERNEL,
  THUNK_COPY,
  THUNK_WHILE,
  THUNK_CONDITIONAL,
  THUNK_COLLECTIVE,
  THUNK_CHANNEL,
  THUNK_HOST,
  THUNK_REGION,
  THUNK_ROWS,
  THUNK_KINDS,
} ThunkKind;

typedef struct Thunk Thunk;
typedef struct ThunkSequence {
  int count, capacity;
  Thunk *thunks;
} ThunkSequence;

struct Thunk {
  ThunkKind kind;
  int time;       /* of calls and copies: see LogicalBuffer */
  int begin, end; /* the times of the thunks in it */
  const Instruction *instruction;
  int operand_count, result_count; /* leaves */
  LogicalBuffer **operands, **results;
  union {
    bool in_order; /* EVAL: it draws random numbers, so elements are computed in order */
    struct {       /* GENERATED: in the executable's module */
      int function;
      CodegenWork work;
    };
    struct { /* KERNEL; and the computation that the instruction calls on arrays, if any */
      const KernelPlan *plan;
      LogicalBuffer *scratch;
      const Instruction *fusion;
      int fusion_function;
    };
    struct { /* WHILE: predicate is the result of condition */
      ThunkSequence *condition, *body;
      LogicalBuffer *predicate;
      int state_count;
      LogicalBuffer **state, **next; /* next: the state that the body computes */
    };
    const DeviceGroups *groups; /* COLLECTIVE: the devices that meet */
    const int *peers;           /* CHANNEL: see channel_peers_resolve */
    struct {                    /* REGION, ROWS: its steps, and their names, a line each */
      ThunkSequence *steps;     /* of ROWS the first may be a KERNEL, whose chunks are the blocks */
      const char *holds;
      int region;          /* REGION: its number */
      int64_t rows, block; /* ROWS: their number; without a kernel, the number at a time */
    };
    struct { /* CONDITIONAL: operands[0] is the index or predicate */
      ThunkSequence *branches;
      int branch_count;
    };
  };
};

static inline bool thunk_has_steps(const Thunk *thunk) {
  return thunk->kind == THUNK_REGION || thunk->kind == THUNK_ROWS;
}

/* Returns number `i` of the sequences in a thunk: a loop's condition and body, branches, steps. NULL if there are fewer. */
ThunkSequence *thunk_sequence(const Thunk *thunk, int i);

/* Memory outside of the arena in which a temporary may lie. A result lends its memory until it is written, unless a donated
** argument lies there. A donated argument lends its memory if no result takes it. Otherwise the temporary is in the arena. */
typedef struct Loan {
  int lender; /* slot */
  int64_t offset;
  int64_t instead, end; /* its range in the arena if the memory is not lent */
} Loan;

/* The kinds of runs, by how many arguments are donated. If some arguments are donated, each buffer has the place that one of
** these kinds gives it. */
typedef enum RunKind {
  RUN_NONE_DONATED,  /* no argument is donated */
  RUN_ALL_DONATED,   /* all are */
  RUN_LENDS_NOTHING, /* some are: no memory is lent */
  RUN_KINDS,
} RunKind;

typedef struct Program {
  Arena *arena;
  Module *module; /* optimised; owned */
  Mesh mesh;
  ThunkSequence entry;
  int parameter_leaves, result_leaves, constant_count, slot_count;
  const Shape **parameter_shapes, **result_shapes; /* of the leaves */
  /* The last of those leaves, hidden from the caller: an s32[] for each dynamic dimension of the
  ** others, in order. */
  int hidden_parameters, hidden_results;
  uint8_t **constants;
  int *donors;         /* by result leaf: the parameter leaf whose memory it may take; or -1 */
  int64_t arena_bytes; /* without the loans that are not lent */
  int loan_count, first_loan; /* slots */
  Loan *loans;
  int64_t list_bytes; /* of the regions' lists of pointers, which follow the arena */
  int64_t constant_bytes, code_bytes;
  bool
      is_unchecked; /* the evaluator runs a loop, a branch or a check: so it is not known what comes into bounded arrays */
  bool is_quick; /* few short steps that wait for no device: it may start on the caller's thread */
  int depth;     /* of nested sequences: the number of frames that a device needs */
  int fusion_count; /* that want generated code */
  FusionFunction *fusions;
  int region_count;
  Region *regions;      /* their functions come after those of the fusions */
  int generated_module; /* see platform.h; 0: none */
  Preparation *preparations, **last_preparation; /* of the kernels' plans, before the first run */
} Program;

/* The first slots of results and of constants, in the order that the top of this file shows. */
static inline int first_result_slot(const Program *program) {
  return SLOT_FIRST_PARAMETER + program->parameter_leaves;
}
static inline int first_constant_slot(const Program *program) {
  return first_result_slot(program) + program->result_leaves;
}

void program_free(Program *program);

/* ORDER MEMORY */
typedef struct ProgramMemory { /* bytes */
  int64_t arguments, results, aliases, temporaries, constants, generated_code, temporaries_given;
} ProgramMemory;

/* Returns the memory of one device; all devices share constants and code. `aliases` is the part of the
** results that may take arguments' memory. `temporaries` are those of a run with no donated argument,
** `temporaries_given` those of a run with all arguments donated. */
ProgramMemory program_memory(const Program *program);
/* Whether a slot's memory is lent in a run of this kind. */
bool slot_lends(const Program *program, int slot, RunKind kind);

const char *thunk_kind_name(ThunkKind kind);

/* Returns the shape of leaf number `leaf` of a thunk's operands, as its instruction reads it. The buffer's
** shape may differ: reshape and bitcast-convert share their operand's buffer. */
const Shape *thunk_operand_shape(const Thunk *thunk, int leaf);

/* Prints the thunks for human readers. The passes' result is in program->module. */
void program_print_thunks(const Program *program, StrBuf *out);
/* Prints the buffers, one a line: the name (after a + for a kernel's scratch), the place as in the list of
** thunks, the bytes, and the first and last thunk of the live range. */
void program_print_memory(const Program *program, StrBuf *out);

#endif
