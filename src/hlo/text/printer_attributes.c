/* Prints attributes: the inverse of attribute_parser.c, by the same tables. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "hlo/text/numbers.h"
#include "hlo/text/printer.h"

/* ---- Values ---- */

void print_int64_list(StrBuf *out, Int64List list) {
  strbuf_append(out, "{");
  for (int i = 0; i < list.count; i++)
    strbuf_printf(out, i ? ",%" PRId64 : "%" PRId64, list.items[i]);
  strbuf_append(out, "}");
}

/* Prints a string with C escapes. Bytes other than printable ASCII become octal digits. */
static void print_string(StrBuf *out, const char *text) {
  static const char plain[] = "\n\r\t\"'\\", letters[] = "nrt\"'\\";
  strbuf_append(out, "\"");
  for (const char *c = text; *c; c++) {
    const char *special = strchr(plain, *c);
    if (special) {
      strbuf_printf(out, "\\%c", letters[special - plain]);
    } else if (*c >= 0x20 && *c < 0x7F) {
      strbuf_append_n(out, c, 1);
    } else {
      strbuf_printf(out, "\\%03o", (unsigned char)*c);
    }
  }
  strbuf_append(out, "\"");
}

static void print_float(StrBuf *out, double value) {
  char text[NUMBER_SIZE];
  float narrow = (float)value;
  number_print(text, F32, &narrow, 0);
  strbuf_append(out, text);
}

static void print_slice(StrBuf *out, const SliceConfig *slice) {
  bool strides = false;
  for (int i = 0; i < slice->count; i++) strides |= slice->items[i].stride != 1;
  strbuf_append(out, "{");
  for (int i = 0; i < slice->count; i++) {
    const SliceDimension *d = &slice->items[i];
    strbuf_printf(out, "%s[%" PRId64 ":%" PRId64, i ? ", " : "", d->start, d->limit);
    if (strides) strbuf_printf(out, ":%" PRId64, d->stride);
    strbuf_append(out, "]");
  }
  strbuf_append(out, "}");
}

static void print_padding(StrBuf *out, const PaddingConfig *padding) {
  bool interior = false;
  for (int i = 0; i < padding->count; i++) interior |= padding->items[i].interior != 0;
  for (int i = 0; i < padding->count; i++) {
    const PaddingDimension *d = &padding->items[i];
    strbuf_printf(out, "%s%" PRId64 "_%" PRId64, i ? "x" : "", d->low, d->high);
    if (interior) strbuf_printf(out, "_%" PRId64, d->interior);
  }
}

/* Prints " name=AxBxC", unless each part has its default value. */
#define PRINT_WINDOW_PART(name, member, absent)                                                   \
  do {                                                                                            \
    bool said = false;                                                                            \
    for (int i = 0; i < window->count; i++) said |= window->items[i].member != (absent);          \
    for (int i = 0; said && i < window->count; i++) {                                             \
      strbuf_printf(out, "%s%" PRId64, i ? "x" : " " name "=", (int64_t)window->items[i].member); \
    }                                                                                             \
  } while (0)

static void print_window(StrBuf *out, const Window *window) {
  bool padded = false;
  strbuf_append(out, "{");
  for (int i = 0; i < window->count; i++) {
    const WindowDimension *d = &window->items[i];
    strbuf_printf(out, "%s%" PRId64, i ? "x" : "size=", d->size);
    padded |= d->padding_low != 0 || d->padding_high != 0;
  }
  PRINT_WINDOW_PART("stride", stride, 1);
  for (int i = 0; padded && i < window->count; i++) {
    const WindowDimension *d = &window->items[i];
    strbuf_printf(out, "%s%" PRId64 "_%" PRId64, i ? "x" : " pad=", d->padding_low,
                  d->padding_high);
  }
  PRINT_WINDOW_PART("lhs_dilate", base_dilation, 1);
  PRINT_WINDOW_PART("rhs_dilate", window_dilation, 1);
  PRINT_WINDOW_PART("rhs_reversal", window_reversal, 0);
  strbuf_append(out, "}");
}

/* Prints one of the three parts of b01f_01io->b01f. Dimensions without a role are '?'. */
static void print_labels(StrBuf *out, char first, int64_t first_at, char second, int64_t second_at,
                         int spatial, const int64_t *spatial_at) {
  char labels[MAX_RANK + 1] = {0};
  int64_t last = first_at > second_at ? first_at : second_at;
  for (int i = 0; i < spatial; i++) last = spatial_at[i] > last ? spatial_at[i] : last;
  if (last >= MAX_RANK) last = MAX_RANK - 1;
  for (int i = 0; i <= last; i++) labels[i] = '?';
  if (first_at <= last) labels[first_at] = first;
  if (second_at <= last) labels[second_at] = second;
  for (int i = 0; i < spatial; i++) {
    if (spatial_at[i] <= last) labels[spatial_at[i]] = (char)('0' + i);
  }
  strbuf_append(out, labels);
}

static void print_conv_dims(StrBuf *out, const ConvDims *d) {
  print_labels(out, 'b', d->input_batch, 'f', d->input_feature, d->spatial, d->input_spatial);
  strbuf_append(out, "_");
  print_labels(out, 'i', d->kernel_input_feature, 'o', d->kernel_output_feature, d->spatial,
               d->kernel_spatial);
  strbuf_append(out, "->");
  print_labels(out, 'b', d->output_batch, 'f', d->output_feature, d->spatial, d->output_spatial);
}

static void print_replica_groups(StrBuf *out, const ReplicaGroups *groups) {
  strbuf_append(out, "{");
  for (int i = 0; i < groups->count; i++) {
    if (i) strbuf_append(out, ",");
    print_int64_list(out, groups->groups[i]);
  }
  strbuf_append(out, "}");
}

static void print_pairs(StrBuf *out, const PairList *pairs) {
  strbuf_append(out, "{");
  for (int i = 0; i < pairs->count; i++) {
    const Pair *pair = &pairs->items[i];
    strbuf_printf(out, "%s{%" PRId64 ",%" PRId64 "}", i ? "," : "", pair->source, pair->target);
  }
  strbuf_append(out, "}");
}

static void print_computation_list(const Printer *printer, const ComputationList *list) {
  strbuf_append(printer->out, "{");
  for (int i = 0; i < list->count; i++) {
    if (i) strbuf_append(printer->out, ", ");
    strbuf_append(printer->out, printer_computation_name(printer, list->items[i]));
  }
  strbuf_append(printer->out, "}");
}

static void print_instruction_list(const Printer *printer, const InstructionList *list) {
  strbuf_append(printer->out, "{");
  for (int i = 0; i < list->count; i++) {
    if (i) strbuf_append(printer->out, ", ");
    strbuf_append(printer->out, printer_instruction_name(printer, list->items[i]));
  }
  strbuf_append(printer->out, "}");
}

static void print_shape_list(StrBuf *out, const ShapeList *list) {
  strbuf_append(out, "{");
  for (int i = 0; i < list->count; i++) {
    if (i) strbuf_append(out, ", ");
    shape_print(out, list->items[i], true);
  }
  strbuf_append(out, "}");
}

/* ---- Shardings in Shardy's notation ---- */

/* {"x", "y"} */
static void print_axes(StrBuf *out, AxisList axes) {
  strbuf_append(out, "{");
  for (int i = 0; i < axes.count; i++) {
    const AxisPart *part = &axes.items[i];
    strbuf_printf(out, "%s\"%s\"", i ? ", " : "", part->axis);
    if (!part->is_whole) strbuf_printf(out, ":(%" PRId64 ")%" PRId64, part->before, part->size);
  }
  strbuf_append(out, "}");
}

/* mesh<["x"=2, "y"=4], device_ids=[1, 0]> */
static void print_mesh(StrBuf *out, const NamedMesh *mesh) {
  strbuf_append(out, "mesh<[");
  for (int i = 0; i < mesh->count; i++) {
    strbuf_printf(out, "%s\"%s\"=%" PRId64, i ? ", " : "", mesh->axes[i].name, mesh->axes[i].size);
  }
  strbuf_append(out, "]");
  for (int i = 0; i < mesh->device_ids.count; i++) {
    strbuf_printf(out, "%s%" PRId64, i ? ", " : ", device_ids=[", mesh->device_ids.items[i]);
  }
  strbuf_append(out, mesh->device_ids.count ? "]>" : ">");
}

static void print_array_sharding(StrBuf *out, const ArraySharding *s) {
  strbuf_append(out, "<");
  if (s->mesh)
    print_mesh(out, s->mesh);
  else
    strbuf_printf(out, "@%s", s->mesh_name);
  strbuf_append(out, ", [");
  for (int d = 0; d < s->rank; d++) {
    if (d) strbuf_append(out, ", ");
    print_axes(out, s->dimensions[d]);
  }
  strbuf_append(out, "]");
  if (s->replicated.count) {
    strbuf_append(out, ", replicated=");
    print_axes(out, s->replicated);
  }
  if (s->unreduced.count) {
    bool is_sum = s->reduction == HLO_ADD;
    strbuf_printf(out, ", unreduced=%s", is_sum ? "" : s->reduction == HLO_MAXIMUM ? "max" : "min");
    print_axes(out, s->unreduced);
  }
  strbuf_append(out, ">");
}

static void print_shardings(StrBuf *out, const char *key, const ArrayShardings *shardings) {
  if (!shardings->is_stated) return;
  StrBuf text = {0};
  strbuf_append(&text, "#sdy.sharding_per_value<[");
  for (int i = 0; i < shardings->count; i++) {
    if (i) strbuf_append(&text, ", ");
    print_array_sharding(&text, &shardings->items[i]);
  }
  strbuf_append(&text, "]>");
  strbuf_printf(out, "%s=", key);
  print_string(out, text.text);
  strbuf_append(out, ",");
  strbuf_free(&text);
}

static void print_frontend_attributes(StrBuf *out, const FrontendAttributes *attributes) {
  if (attributes->text) {
    strbuf_append(out, attributes->text);
    return;
  }
  StrBuf axes = {0};
  strbuf_append(&axes, "#sdy<manual_axes");
  print_axes(&axes, attributes->manual->manual_axes);
  strbuf_append(&axes, ">");
  strbuf_append(out, "{");
  print_shardings(out, "xla.sdy.in_shardings", &attributes->manual->in);
  print_shardings(out, "xla.sdy.out_shardings", &attributes->manual->out);
  strbuf_append(out, "xla.sdy.manual_axes=");
  print_string(out, axes.text);
  strbuf_append(out, "}");
  strbuf_free(&axes);
}

/* ---- The table at work ---- */

/* Whether the value is the attribute's default. */
static bool is_default(const AttributeRow *row, const void *field) {
  switch (row->kind) {
  case ATTR_INT64: return *(const int64_t *)field == row->default_value;
  case ATTR_BOOL: return *(const bool *)field == (row->default_value != 0);
  case ATTR_FLOAT: return *(const double *)field == 0;
  case ATTR_STRING:
  case ATTR_RAW:
  case ATTR_PRECISION_LIST: return *(const char *const *)field == NULL;
  case ATTR_SHARDING: return *(const OpSharding *const *)field == NULL;
  case ATTR_FRONTEND_ATTRIBUTES: return *(const FrontendAttributes *const *)field == NULL;
  case ATTR_SHAPE: return *(const Shape *const *)field == NULL;
  case ATTR_COMPUTATION: return *(Computation *const *)field == NULL;
  case ATTR_CONV_DIMS: {
    static const ConvDims none;
    const ConvDims *dims = field;
    return dims->spatial == 0 && dims->input_feature == none.input_feature &&
           dims->input_batch == none.input_batch;
  }
  default: return *(const int *)field == 0; /* the count of a list, or an enumeration */
  }
}

static void print_value(const Printer *printer, const AttributeRow *row, const void *field) {
  StrBuf *out = printer->out;
  switch (row->kind) {
  case ATTR_INT64: strbuf_printf(out, "%" PRId64, *(const int64_t *)field); break;
  case ATTR_BOOL: strbuf_append(out, *(const bool *)field ? "true" : "false"); break;
  case ATTR_FLOAT: print_float(out, *(const double *)field); break;
  case ATTR_INT64_LIST: print_int64_list(out, *(const Int64List *)field); break;
  case ATTR_STRING: print_string(out, *(const char *const *)field); break;
  case ATTR_RAW:
  case ATTR_PRECISION_LIST: strbuf_append(out, *(const char *const *)field); break;
  case ATTR_SHAPE: shape_print(out, *(const Shape *const *)field, true); break;
  case ATTR_SHAPE_LIST: print_shape_list(out, field); break;
  case ATTR_COMPUTATION:
    strbuf_append(out, printer_computation_name(printer, *(Computation *const *)field));
    break;
  case ATTR_COMPUTATION_LIST: print_computation_list(printer, field); break;
  case ATTR_INSTRUCTION_LIST: print_instruction_list(printer, field); break;
  case ATTR_SLICE: print_slice(out, field); break;
  case ATTR_PADDING: print_padding(out, field); break;
  case ATTR_WINDOW: print_window(out, field); break;
  case ATTR_CONV_DIMS: print_conv_dims(out, field); break;
  case ATTR_REPLICA_GROUPS: print_replica_groups(out, field); break;
  case ATTR_PAIR_LIST: print_pairs(out, field); break;
  case ATTR_SHARDING: strbuf_append(out, (*(const OpSharding *const *)field)->text); break;
  case ATTR_FRONTEND_ATTRIBUTES:
    print_frontend_attributes(out, *(const FrontendAttributes *const *)field);
    break;
  default: strbuf_append(out, attribute_enum_name(row->kind, *(const int *)field));
  }
}

/* Whether a default value is omitted although the table has ALWAYS, as XLA's parser expects. */
static bool leaves_out(Opcode opcode, const AttributeRow *row) {
  switch (opcode) {
  case HLO_CUSTOM_CALL:
  case HLO_ALL_TO_ALL:
  case HLO_RAGGED_ALL_TO_ALL: return row->kind != ATTR_REPLICA_GROUPS;
  case HLO_RAGGED_DOT: return row->kind == ATTR_INT64_LIST;
  case HLO_PAD: return true; /* of a scalar */
  default: return row->kind == ATTR_COMPUTATION || row->kind == ATTR_RAW;
  }
}

static bool is_said(Opcode opcode, const AttributeRow *row, const void *field) {
  bool of_async_end = opcode == HLO_ASYNC_UPDATE || opcode == HLO_ASYNC_DONE;
  if (of_async_end) return false; /* they have those of their async-start */
  return !is_default(row, field) || (row->always && !leaves_out(opcode, row));
}

static void print_named(const Printer *printer, const Instruction *in, const AttributeRow *row) {
  strbuf_printf(printer->out, ", %s=", row->text);
  print_value(printer, row, (const char *)in->a + row->offset);
}

void print_attributes(const Printer *printer, const Instruction *in) {
  const char *names = opcode_rows[in->opcode].attributes;
  for (const AttributeRow *row; (row = attribute_next(&names));) {
    if (is_said(in->opcode, row, (const char *)in->a + row->offset)) print_named(printer, in, row);
  }
  names = COMMON_ATTRIBUTES;
  for (const AttributeRow *row; (row = attribute_next(&names));) {
    if (!is_default(row, (const char *)in->a + row->offset)) print_named(printer, in, row);
  }
}
