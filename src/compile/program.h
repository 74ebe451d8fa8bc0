/*
** Program: what compiling makes of a module. The optimised module, and for it a list of thunks: the
** steps that a replica takes, in order. A thunk is a call of generated code, of a library kernel, of the
** evaluator on one instruction, a copy, a loop or branch over more thunks, a collective, or a call
** of the host.
**
** Values live in logical buffers (XLA's term): one per array leaf that some instruction defines.
** Tuples are never materialised: a tuple is its leaves. The buffer plan (buffer_plan.c) gives each
** logical buffer a slot and an offset; a run has one table of slots per device:
**
**     slot 0                      the device's arena, for everything temporary
**     slots 1 .. P                the leaves of the parameters, as the caller gave them
**     slots P+1 .. P+R            the leaves of the result, freshly allocated; temporaries before
**     slots P+R+1 ..              constants
**     then                        loans: temporaries for which an argument or a result may have room
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
  int first, last; /* the times at which it is defined and last used; times count thunks */
  int slot;        /* SLOT_NONE: nowhere (tokens) */
  int64_t offset;
  struct LogicalBuffer *same; /* it shares that one's memory; NULL: it has its own */
  const Instruction *definer; /* of temporaries */
  bool unwritten;             /* nobody does: what goes with a send or recv until it is done */
  int loop, place;            /* in the state of which while, and where; 0: in none */
  int result_of;              /* a while whose new state it is part of; 0: of none */
  bool of_branches;           /* a conditional's result: each branch copies its own there */
  /* Of a loop's state: what it begins as, and when that is copied there. */
  const struct LogicalBuffer *copied_from;
  int copied_at;
  /* in_place.c: a parameter whose memory it could have, and a temporary whose it could if it has not that. */
  const struct LogicalBuffer *may_take, *may_take_else;
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
} ThunkKind;

typedef struct Thunk Thunk;
typedef struct ThunkSequence {
  int count, capacity;
  Thunk *thunks;
} ThunkSequence;

struct Thunk {
  ThunkKind kind;
  int time;       /* of calls and copies: see LogicalBuffer */
  int begin, end; /* the times of what is in it */
  const Instruction *instruction;
  int operand_count, result_count; /* leaves */
  LogicalBuffer **operands, **results;
  union {
    bool in_order; /* EVAL: what it applies draws random numbers, one after the other */
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
      LogicalBuffer **state, **next; /* what the body makes of the state */
    };
    const DeviceGroups *groups; /* COLLECTIVE: who meets */
    const int *peers;           /* CHANNEL: see channel_peers_resolve */
    struct { /* REGION, ROWS: what it is made of, and the names of these, a line each */
      ThunkSequence *steps; /* of ROWS the first may be a KERNEL, whose chunks are the blocks */
      const char *holds;
      int region;          /* REGION: its number */
      int64_t rows, block; /* ROWS: how many there are, and at a time, without a kernel */
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

/* Memory that is free for a temporary if a run finds it so when it starts: a result's before that is made,
** unless an argument is read there that becomes it; an argument's that was given away, and becomes no
** result. Else the temporary is in the arena. */
typedef struct Loan {
  int lender; /* slot */
  int64_t offset;
  int64_t instead, end; /* in the arena: from where, and to where */
} Loan;

/* What a run may find. There are others between them, in which nothing has yet another place. */
typedef enum RunKind {
  RUN_KEEPS, /* no argument was given away */
  RUN_TAKES, /* all were */
  RUN_LENDS_NOTHING,
  RUN_KINDS,
} RunKind;

typedef struct Program {
  Arena *arena;
  Module *module; /* optimised; owned */
  Mesh mesh;
  ThunkSequence entry;
  int parameter_leaves, result_leaves, constant_count, slot_count;
  const Shape **parameter_shapes, **result_shapes; /* of the leaves */
  /* Of those leaves, the last ones that the caller does not see: an s32[] for each dynamic
  ** dimension of the others, in order. */
  int hidden_parameters, hidden_results;
  uint8_t **constants;
  int *
      donors; /* by result leaf: the parameter leaf whose memory it may have, if a run owns it; or -1 */
  int64_t arena_bytes;        /* but for loans that nobody lends */
  int loan_count, first_loan; /* slots */
  Loan *loans;
  int64_t list_bytes, constant_bytes, code_bytes; /* list: of regions, behind the arena */
  bool is_quick;    /* few short steps, which wait for nobody: it may start where its caller is */
  int depth;        /* of sequences in sequences: so many frames does a replica need */
  int fusion_count; /* that want generated code */
  FusionFunction *fusions;
  int region_count;
  Region *regions;      /* their functions come after those of the fusions */
  int generated_module; /* see platform.h; 0: none */
} Program;

typedef struct CompileOptions {
  bool evaluate;      /* as it is written: nothing is fused, and the evaluator runs what it can */
  bool keep_operands; /* no result is written into an operand's memory */
  PassSet disabled;   /* rewrites that are switched off: pipeline_disable */
  PassWatch *watch;   /* of the passes; may be NULL */
} CompileOptions;

/* Compiles a copy of `module` for a mesh of devices. NULL with the reason. */
Program *program_new(const Module *module, Mesh mesh, const CompileOptions *options, Error *error);
void program_free(Program *program);

typedef struct ProgramMemory { /* bytes */
  int64_t arguments, results, aliases, temporaries, constants, generated_code, temporaries_given;
} ProgramMemory;

/* What one device takes; constants and code are shared by all. `aliases` is the part of the results that
** arguments may give their memory to; `temporaries` are those of a run to which nothing is given away,
** `temporaries_given` where everything is. */
ProgramMemory program_memory(const Program *program);
/* Whether a slot's memory is lent in a run of that kind. */
bool slot_lends(const Program *program, int slot, RunKind kind);

const char *thunk_kind_name(ThunkKind kind);

/* The shape of leaf number `leaf` of a thunk's operands, as its instruction reads it. The buffer's own shape
** may be another: reshape and bitcast-convert have the buffer of their operand. */
const Shape *thunk_operand_shape(const Thunk *thunk, int leaf);

/* The passes' result is in program->module; this lists the thunks, for people. */
void program_print_thunks(const Program *program, StrBuf *out);
/* What is where in memory, and when, a line each: a name, after a + if it is what a kernel works with, a place
** as in the list of thunks, the bytes, and the first and the last thunk that want it. */
void program_print_memory(const Program *program, StrBuf *out);

/* thunks.c: from computations to thunks. */
bool compile_thunks(Program *program, const CompileOptions *options, Error *error);
/* in_place.c: results that take their operands' memory, or that of arguments. */
void join_buffers(Program *program);
void remove_copies(ThunkSequence *sequence); /* that join_buffers made needless */
void find_donors(Program *program, LogicalBuffer *const *buffers, int count);
bool thunk_may_overwrite(const Thunk *thunk, int operand, int result);
LogicalBuffer *buffer_owner(LogicalBuffer *buffer); /* whose memory it has */
/* Where a buffer is in a run of that kind. */
typedef struct Spot {
  int slot;
  int64_t offset;
} Spot;
Spot buffer_spot(const Program *program, const LogicalBuffer *buffer, RunKind kind);
/* row_groups.c: puts runs of loops over the same rows together, once all buffers have their places; and
** before, lets these be such that it can. */
void plan_row_groups(Program *program);
void compile_row_groups(Program *program);
/* regions.c: the same of small thunks. */
void compile_regions(Program *program);
/* plan_check.c: in builds that test, aborts where a step would read what is not there. */
void plan_check(const Program *program, LogicalBuffer *const *buffers, int count,
                LogicalBuffer *const *results);
/* buffer_plan.c: slots and offsets for all logical buffers that have none yet. */
void buffer_plan(Program *program, LogicalBuffer **buffers, int count);

#endif
