/*
** Represents a program as in XLA: a module has computations, and a computation has instructions.
**
** In: HLO text (text/parser.c) or calls of the builder (infer/builder.h). Out: a verified module, which rewrite/
** changes and later stages compile.
**
** An instruction has an opcode, a shape, operands and attributes. The result of the root is the result of its
** computation. An instruction may call computations, for example the body of a loop; no computation calls
** itself. The module's arena holds all of these, including literals of constants.
**
** Invariant: in a computation's list, every operand comes before its users; in the module's list, callees
** come before callers, and the entry is last. So one walk over a list sees every value before its uses.
**
** The trick: an operation is one row of ir/opcodes.def, with its arity and its attributes. The parser, the
** printer, inference and the verifier all read that table.
**
** Read ir/opcodes.def next; then ir/attributes.h; then infer/inference.h, which computes shapes, and
** infer/verifier.h.
*/
#ifndef XLA_HLO_IR_MODULE_H
#define XLA_HLO_IR_MODULE_H

#include "base/names.h"
#include "hlo/ir/attributes.h"
#include "hlo/ir/opcode.h"
#include "hlo/ir/sharding.h"
#include "value/literal.h"

typedef struct Module Module;

struct Instruction {
  Opcode opcode;
  int id;           /* position in its computation's list; kept by computation_renumber */
  const char *name; /* unique in its computation, without the % sign */
  const Shape *shape;
  int operand_count;
  Instruction **operands;
  Computation *parent;
  const Attributes *a;      /* shared, so never changed in place: see instruction_attributes */
  int64_t parameter_number; /* parameter */
  Literal *literal;         /* constant: array, or tuple of them */
  int line;                 /* in the HLO text, from 1; 0: none */
};

struct Computation {
  const char *name; /* unique in the module */
  Module *module;
  int number; /* unique among all computations that the module ever had */
  int count, capacity;
  Instruction **instructions;
  Instruction *root;
  bool keeps_root; /* else the last instruction added is the root */
  int parameter_count, parameter_capacity;
  Instruction **parameters; /* by parameter number */
  NameSet names;            /* of its instructions */
  unsigned walk;            /* the last walk that entered it; see module_walk */
  int64_t size;             /* see module_measure */
  int callers;              /* see module_count_callers */
};

typedef struct Alias { /* one entry of input_output_alias */
  Int64List output_index;
  int64_t parameter;
  Int64List parameter_index;
  bool must;
} Alias;

struct Module {
  Arena *arena;
  const char *name;
  const Attributes *defaults;
  int numbers; /* given to computations so far */
  int count, capacity;
  Computation **computations; /* callees before callers; the entry last */
  Computation *entry;
  NameSet names;                     /* of its computations */
  int replica_count, num_partitions; /* 0: not stated in the text */
  unsigned walks;                    /* begun so far */
  int64_t growth;                    /* instructions that inlining may still add; 0: not set yet */
  /* entry_computation_layout: shapes with the layouts asked for; NULL where not stated */
  const Shape **parameter_layouts; /* entry->parameter_count of them */
  const Shape *result_layout;
  int alias_count;
  const Alias *aliases;
  MeshList meshes; /* that the header's frontend_attributes state */
  /* Other header attributes, kept as text and printed back; may be NULL. */
  const char *extra_header;
  int bounded_sets;           /* of arrays; rewrite/fuse/bounded_arrays.c */
  const int *bounded_results; /* by leaf of the result: the number of its set; 0: none */
  int owned_count, owned_capacity;
  void **owned; /* memory from malloc that holds literals; freed with the module */
};

Module *module_new(const char *name);
void module_free(Module *module);
/* Gives the module ownership of memory from malloc that holds its literals' data. */
void module_own(Module *module, void *memory);

/* Appends an empty computation to the module. The name is made unique. */
Computation *module_add_computation(Module *module, const char *name);

/*
** Appends an instruction. Nothing is checked: see builder.h for the checked way, verifier.h for
** checking afterwards. Operands are copied; attributes (NULL: defaults) are shared where they are
** another instruction's of the module, else copied; shape is kept (it must live in the module's arena
** or longer). Parameters and constants: set parameter_number / literal afterwards with the functions
** below instead. Its name is "<opcode>.<n>", or `name`, which is made unique.
*/
Instruction *computation_add(Computation *computation, Opcode opcode, const Shape *shape,
                             Instruction *const *operands, int operand_count,
                             const Attributes *attributes);
Instruction *computation_add_named(Computation *computation, Opcode opcode, const Shape *shape,
                                   Instruction *const *operands, int operand_count,
                                   const Attributes *attributes, const char *name);
/* Replaces an instruction's attributes, which are shared or copied as by computation_add. */
void instruction_set_attributes(Instruction *instruction, const Attributes *attributes);
/* Gives an instruction its own copy of its attributes, and returns it to be changed at once. */
Attributes *instruction_attributes(Instruction *instruction);
Instruction *computation_add_parameter(Computation *computation, int64_t number, const Shape *shape,
                                       const char *name);
/* Keeps the roots of all present computations: instructions added later do not become roots. */
void module_keep_roots(Module *module);
/* Adds a constant. The literal is not copied: it must live in the module's arena. */
Instruction *computation_add_constant(Computation *computation, Literal *literal, const char *name);

/* Puts instructions into operand-first order, keeping the given order where it can, drops none,
** and renumbers ids. False if they form a cycle (then nothing changed). */
bool computation_sort(Computation *computation);
void computation_renumber(Computation *computation);

/* Lists the computations that an instruction calls, in attribute order (to_apply, calls, condition,
** body, branches or true/false, select, scatter, called_computations). Returns their number;
** `out` may be NULL to count only. */
int instruction_called(const Instruction *instruction, Computation **out);
/* Returns the dot of a fusion whose root is one, else NULL: a kernel computes it, and its operand while it reads it. */
const Instruction *fused_product(const Instruction *fusion);
/* Returns the fusion that computes an operand of such a dot, which may reshape it; NULL if both operands are parameters. At
** least one is. */
const Instruction *fused_operand(const Instruction *dot);
/* Lists the branches of a conditional in index order; those of the predicated form are {true, false}.
** Returns their number, and whether the conditional is predicated. */
int conditional_branches(const Instruction *instruction, Computation **out, bool *predicated);

/* Copies `computation` and its callees into `target`, renaming where names collide. `copies` (may be NULL)
** holds earlier copies, by the computations' number in the original module, so shared computations stay
** shared. */
Computation *module_clone_computation(Module *target, const Computation *computation,
                                      Computation **copies);

/* Returns a copy of a whole module in its own arena. */
Module *module_clone(const Module *module);
/* Returns such a copy and frees the module, and so what rewrites replaced. Data of 1 MB and more moves: it is not copied. */
Module *module_compact(Module *module);

/*
** Walks over the call graph, which may have exponentially many paths: each computation is entered once
** per walk. module_walk begins one; computation_enter is true at the first visit.
*/
unsigned module_walk(Module *module);
bool computation_enter(Computation *computation, unsigned walk);

/* Threshold MAX_SIZE: a larger program counts as one of this size, so that sums do not overflow. No path. */
#define MAX_SIZE (INT64_C(1) << 40)
/* Sets every computation's `size`: its number of instructions with all calls inlined. Callees must come
** before callers. Returns the entry's size. Sizes are capped at MAX_SIZE. */
int64_t module_measure(Module *module);

/* Sets every computation's `callers`: the number of attributes that name it. */
void module_count_callers(Module *module);
/* Counts the attributes of one more instruction. */
void module_count_called(const Instruction *instruction);

/* Whether a comparison orders floats totally: -NaN < -inf < -0 < 0 < inf < NaN. */
static inline bool is_total_order(const Instruction *compare) {
  return compare->a->compare_type == COMPARISON_TOTALORDER &&
         type_is_floating(compare->operands[0]->shape->type);
}

/* Returns the number of leaves of a computation's parameters. */
int computation_parameter_leaves(const Computation *computation);
/* Whether an instruction of a computation has this operand. */
static inline bool computation_reads(const Computation *computation, const Instruction *operand) {
  for (int i = 0; i < computation->count; i++) {
    const Instruction *x = computation->instructions[i];
    for (int k = 0; k < x->operand_count; k++) {
      if (x->operands[k] == operand) return true;
    }
  }
  return false;
}
/* Returns the largest channel_id of a module, of those that have 32 bits. */
int64_t module_max_channel(const Module *module);

/* The program shape: the parameters' shapes and the result's. */
static inline const Shape *computation_result_shape(const Computation *c) { return c->root->shape; }

/* Returns the opcode of a computation that is exactly `op(p0, p1)` or `op(p1, p0)` over two scalar
** parameters; else OPCODE_COUNT. It gives reductions by add, max, ... a fast path. */
Opcode computation_simple_binary(const Computation *computation);

#endif
