/*
** The program: a module of computations of instructions, as XLA has them. A module owns an arena
** in which all of it lives, literals of constants included. Instructions of a computation are in
** an order in which every operand comes before its users.
*/
#ifndef XLA_HLO_IR_MODULE_H
#define XLA_HLO_IR_MODULE_H

#include "base/names.h"
#include "hlo/ir/attributes.h"
#include "hlo/ir/opcode.h"
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
  const Attributes *a; /* never changed, for others may have it as well: instruction_attributes */
  int64_t parameter_number; /* parameter */
  Literal *literal;         /* constant: array, or tuple of them */
  int line;                 /* of the HLO text that it comes from, from 1 on; 0: of none */
};

struct Computation {
  const char *name; /* unique in the module */
  Module *module;
  int number; /* its own among all that the module ever had */
  int count, capacity;
  Instruction **instructions;
  Instruction *root;
  bool keeps_root; /* else it is what was added last */
  int parameter_count, parameter_capacity;
  Instruction **parameters; /* by parameter number */
  NameSet names;            /* of its instructions */
  unsigned walk;            /* the last walk that came by; see module_walk */
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
  int numbers; /* that computations were given */
  int count, capacity;
  Computation **computations; /* called ones before their callers; the entry last */
  Computation *entry;
  NameSet names;                     /* of its computations */
  int replica_count, num_partitions; /* 0: not stated in the text */
  unsigned walks;                    /* that were begun */
  int64_t growth;                    /* instructions that inlining may still add; 0: not set yet */
  /* entry_computation_layout: shapes with the layouts asked for; NULL where not stated */
  const Shape **parameter_layouts; /* entry->parameter_count of them */
  const Shape *result_layout;
  int alias_count;
  const Alias *aliases;
  const char
      *extra_header; /* other header attributes, kept as text and printed back; may be NULL */
  int owned_count, owned_capacity;
  void **owned; /* memory from malloc that literals lie in; freed with the module */
};

Module *module_new(const char *name);
void module_free(Module *module);
/* The module takes over memory from malloc, for the data of its literals. */
void module_own(Module *module, void *memory);

/* An empty computation, appended to the module. The name is made unique. */
Computation *module_add_computation(Module *module, const char *name);

/*
** Appends an instruction. Nothing is checked: see builder.h for the checked way, verifier.h for
** checking afterwards. `name` may be NULL (then it is "<opcode>.<n>"); it is made unique. Operands
** are copied; attributes (NULL: defaults) are shared where they are another instruction's of the
** module, else copied; shape is kept (it must live in the module's arena or longer). Parameters and
** constants: set parameter_number / literal afterwards with the functions below instead.
*/
Instruction *computation_add(Computation *computation, Opcode opcode, const Shape *shape,
                             Instruction *const *operands, int operand_count,
                             const Attributes *attributes, const char *name);
/* Gives an instruction other attributes, as computation_add would. */
void instruction_say(Instruction *instruction, const Attributes *attributes);
/* A copy of its attributes that is its alone, to be changed at once. */
Attributes *instruction_attributes(Instruction *instruction);
Instruction *computation_add_parameter(Computation *computation, int64_t number, const Shape *shape,
                                       const char *name);
/* From now on what is added to those that are there does not become their roots. */
void module_keep_roots(Module *module);
/* The literal is kept, not copied: it must live in the module's arena. */
Instruction *computation_add_constant(Computation *computation, Literal *literal, const char *name);

/* Puts instructions into operand-first order, keeping the given order where it can, drops none,
** and renumbers ids. False if they form a cycle (then nothing changed). */
bool computation_sort(Computation *computation);
void computation_renumber(Computation *computation);

/* The computations that an instruction calls, in attribute order (to_apply, calls, condition,
** body, branches or true/false, select, scatter, called_computations). Returns how many;
** `out` may be NULL to count only. */
int instruction_called(const Instruction *instruction, Computation **out);
/* The branches of a conditional in index order for both of its forms: for the predicated form
** {true, false}; and whether it is predicated. */
int conditional_branches(const Instruction *instruction, Computation **out, bool *predicated);

/* Deep copies `computation` and all that it calls into `target`, renaming where names collide.
** `copies` (may be NULL), by the number of computations of the original's module, are those that were
** made already, so that shared computations stay shared. */
Computation *module_clone_computation(Module *target, const Computation *computation,
                                      Computation **copies);

/* A deep copy of a whole module in an arena of its own. */
Module *module_clone(const Module *module);

/*
** Walks over what calls what, of which there may be exponentially many ways: each computation is
** entered once a walk. module_walk begins one; computation_enter is true when it comes there first.
*/
unsigned module_walk(Module *module);
bool computation_enter(Computation *computation, unsigned walk);

/* Sets every computation's `size`: its instructions, and for each call the size of what it calls, as
** if all were written out. Called ones must come before their callers. Returns the entry's; at most
** MAX_SIZE, which stands for anything beyond. */
#define MAX_SIZE (INT64_C(1) << 40)
int64_t module_measure(Module *module);

/* Sets every computation's `callers`: how often instructions name it; and counts one more instruction. */
void module_count_callers(Module *module);
void module_count_called(const Instruction *instruction);

/* The program shape: parameters' shapes and the result's. */
static inline const Shape *computation_result_shape(const Computation *c) { return c->root->shape; }

/* If the computation is exactly `op(p0, p1)` or `op(p1, p0)` over two scalar parameters, that
** opcode; else OPCODE_COUNT. Lets reductions by add, max, ... take the short way. */
Opcode computation_simple_binary(const Computation *computation);

#endif
