/* The width of packed panels, which products read and rewrites prepare. */
#ifndef XLA_PLAN_PANELS_H
#define XLA_PLAN_PANELS_H

/* Threshold PANEL_COLUMN_BYTES: the width of a panel of the rhs, in bytes of columns. Test: "products: of [m,k] and [k,n] by sums"
** in core/thresholds.test.mjs. */
enum { PANEL_COLUMN_BYTES = 32 };

#endif
