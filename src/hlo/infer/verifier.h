/*
** Verifies that XLA would accept a module. Checks each instruction's arity, attributes and shape (by
** inference), parameter numbering, called computations' signatures, roots, names, order, replica groups,
** channel ids, and the module's entry layout and aliases.
*/
#ifndef XLA_HLO_INFER_VERIFIER_H
#define XLA_HLO_INFER_VERIFIER_H

#include "hlo/ir/module.h"

bool verify_module(const Module *module, Error *error);
/* Verifies a module and returns the instruction at fault in *culprit: NULL if the fault is of no instruction. */
bool verify_module_at(const Module *module, const Instruction **culprit, Error *error);

#endif
