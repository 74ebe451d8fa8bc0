/*
** Switches parts of the compilation off by name: optional rewrites, the parts of switches.def, kernels. A kernel stays
** for instructions that the evaluator does not know.
*/
#include <string.h>

#include "compile/compilation.h"
#include "kernels/list.h"

static const char *const kernel_prefix = "kernel-";

static bool is_name(const char *own, const char *name, size_t length) {
  return strlen(own) == length && !memcmp(own, name, length);
}

static bool switch_part(CompileOptions *options, const char *name, size_t length) {
#define SWITCH(own, field, purpose) \
  if (is_name(own, name, length)) return options->field = true;
#include "compile/switches.def"
#undef SWITCH
  return false;
}

static bool switch_kernel(CompileOptions *options, const char *name, size_t length) {
  size_t prefix = strlen(kernel_prefix);
  if (length <= prefix || memcmp(name, kernel_prefix, prefix) != 0) return false;
  for (int i = 0; kernel_name(i); i++) {
    if (!is_name(kernel_name(i), name + prefix, length - prefix)) continue;
    options->kernels_off |= (KernelSet)1 << i;
    return true;
  }
  return false;
}

bool compile_options_disable(CompileOptions *options, const char *names, Error *error) {
  while (names && *names) {
    size_t length = strcspn(names, ",");
    PassSet rows = pipeline_optional_rows(names, length);
    options->disabled |= rows;
    if (!rows && !switch_part(options, names, length) && !switch_kernel(options, names, length)) {
      return error_set_op(error, STATUS_INVALID_ARGUMENT, "compile",
                          "disable: \"%.*s\" is no rewrite, part or kernel that can be left out",
                          (int)length, names);
    }
    names += length + (names[length] == ',');
  }
  return true;
}

void compile_options_list(StrBuf *out) {
  pipeline_list_optional(out);
#define SWITCH(own, field, purpose) strbuf_append(out, "," own);
#include "compile/switches.def"
#undef SWITCH
  for (int i = 0; kernel_name(i); i++) strbuf_printf(out, ",%s%s", kernel_prefix, kernel_name(i));
}
