/*
** Replaces the padding and the base dilation of reduce-window by a `pad` before it, so that the loop over
** windows needs no bounds checks. This is done if windows need more boxes than a plan has, or some are
** padding only. XLA leaves padding out of a window's result, so the padding value must be neutral: -0 for a
** sum, and so on.
*/
#include "rewrite/windows/pad_windows.h"
#include "hlo/ir/shorthand.h"
#include "plan/reduction.h"
#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

bool window_is_padded(const Window *window) {
  for (int i = 0; i < window->count; i++) {
    const WindowDimension *d = &window->items[i];
    if (d->padding_low || d->padding_high || d->base_dilation != 1) return true;
  }
  return false;
}

static const Shape *padded_shape(Arena *arena, const Shape *shape, const PaddingConfig *padding) {
  int64_t dims[MAX_RANK];
  for (int i = 0; i < shape->rank; i++) {
    const PaddingDimension *d = &padding->items[i];
    int64_t holes = shape->dims[i] > 0 ? (shape->dims[i] - 1) * d->interior : 0;
    dims[i] = shape->dims[i] + holes + d->low + d->high;
  }
  return shape_make(arena, shape->type, shape->rank, dims, NULL);
}

Window window_unpadded(Arena *arena, const Window *window, PaddingConfig *padding) {
  WindowDimension *items = ARENA_ARRAY(arena, WindowDimension, window->count);
  PaddingDimension *pads = ARENA_ARRAY(arena, PaddingDimension, window->count);
  for (int i = 0; i < window->count; i++) {
    items[i] = window->items[i];
    pads[i] =
        (PaddingDimension){items[i].padding_low, items[i].padding_high, items[i].base_dilation - 1};
    items[i].padding_low = items[i].padding_high = 0;
    items[i].base_dilation = 1;
  }
  *padding = (PaddingConfig){window->count, pads};
  return (Window){window->count, items};
}

Instruction *add_padded(Computation *computation, Instruction *operand, Instruction *value,
                        PaddingConfig padding) {
  const Attributes *attributes = ATTRIBUTES(.padding = padding);
  const Shape *shape = padded_shape(computation->module->arena, operand->shape, &padding);
  if (!shape) return NULL;
  Instruction *operands[] = {operand, value};
  return computation_add(computation, HLO_PAD, shape, operands, 2, attributes);
}

static bool pad_operand(Computation *computation, Instruction *reduce, const Target *target,
                        Scalar neutral) {
  const Attributes *before = reduce->a;
  Instruction *operand = reduce->operands[0];
  PaddingConfig padding;
  Window window = window_unpadded(computation->module->arena, &before->window, &padding);
  Instruction *padded =
      add_padded(computation, operand,
                 computation_add_number(computation, operand->shape->type, neutral), padding);
  if (!padded) return false;
  instruction_attributes(reduce)->window = window;
  reduce->operands[0] = padded;
  if (can_fuse(target, reduce)) return true;
  reduce->a = before;
  reduce->operands[0] = operand;
  return false;
}

static bool pad_window(Instruction *x, void *data) {
  const Target *target = data;
  Scalar neutral;
  if (x->opcode != HLO_REDUCE_WINDOW) return false;
  return window_is_padded(&x->a->window) && reduce_window_neutral(x, &neutral) &&
         !can_fuse(target, x) && pad_operand(x->parent, x, target, neutral);
}

bool pass_pad_windows(Module *module, const Target *target) {
  return rewrite_each(module, pad_window, (void *)target);
}
