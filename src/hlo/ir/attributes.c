#include "hlo/ir/attributes.h"

#include <stddef.h>
#include <string.h>

#include "base/words.h"

enum { NONDEFAULT = 0, ALWAYS = 1, OPTIONAL = 2 };

const AttributeRow attribute_rows[ATTRIBUTE_COUNT] = {
#define ATTRIBUTE(name, field, kind, default_value, print) \
  ATTRIBUTE_AS(name, #name, field, kind, default_value, print)
#define ATTRIBUTE_AS(name, text, field, kind, default_value, print) \
  {#name,                                                           \
   text,                                                            \
   ATTR_##kind,                                                     \
   offsetof(Attributes, field),                                     \
   default_value,                                                   \
   (print) != NONDEFAULT,                                           \
   (print) == ALWAYS},
#include "hlo/ir/attributes.def"
#undef ATTRIBUTE
#undef ATTRIBUTE_AS
};

int list_index(Int64List list, int64_t value) {
  int i = 0;
  while (i < list.count && list.items[i] != value) i++;
  return i < list.count ? i : -1;
}

const Attributes *attributes_default(Attributes *attributes) {
  attributes->feature_group_count = attributes->batch_group_count = 1;
  attributes->largest = true;
  attributes->inferred_dimension = attributes->cross_program_prefetch_index = -1;
  return attributes;
}

void attributes_init(Attributes *attributes) {
  *attributes = (Attributes){0};
  attributes_default(attributes);
}

const AttributeRow *attribute_next(const char **names) {
  static WordTable table = {attribute_rows, sizeof *attribute_rows, ATTRIBUTE_COUNT, {0}};
  const char *name = *names;
  while (*name == ' ') name++;
  size_t length = strcspn(name, " ");
  *names = name + length;
  int row = word_row(&table, name, length);
  return row >= 0 ? &attribute_rows[row] : NULL;
}

const char *const *attribute_enum_names(AttributeKind kind, int *count) {
#define NAMES(...)                                    \
  {                                                   \
    static const char *const names[] = {__VA_ARGS__}; \
    *count = sizeof names / sizeof *names;            \
    return names;                                     \
  }
  switch (kind) {
  case ATTR_COMPARISON_DIRECTION:
    NAMES([COMPARE_EQ] = "EQ", [COMPARE_NE] = "NE", [COMPARE_GE] = "GE", [COMPARE_GT] = "GT",
          [COMPARE_LE] = "LE", [COMPARE_LT] = "LT")
  case ATTR_COMPARISON_TYPE:
    NAMES([COMPARISON_FLOAT] = "FLOAT", [COMPARISON_TOTALORDER] = "TOTALORDER",
          [COMPARISON_SIGNED] = "SIGNED", [COMPARISON_UNSIGNED] = "UNSIGNED")
  case ATTR_FFT_TYPE:
    NAMES([FFT_FFT] = "FFT", [FFT_IFFT] = "IFFT", [FFT_RFFT] = "RFFT", [FFT_IRFFT] = "IRFFT")
  case ATTR_TRANSPOSE:
    NAMES([NO_TRANSPOSE] = "NO_TRANSPOSE", [TRANSPOSE] = "TRANSPOSE", [ADJOINT] = "ADJOINT")
  case ATTR_RANDOM_DISTRIBUTION: NAMES([RNG_UNIFORM] = "rng_uniform", [RNG_NORMAL] = "rng_normal")
  case ATTR_RANDOM_ALGORITHM:
    NAMES([RNG_DEFAULT] = "rng_default", [RNG_THREE_FRY] = "rng_three_fry",
          [RNG_PHILOX] = "rng_philox")
  case ATTR_FUSION_KIND:
    NAMES([FUSION_LOOP] = "kLoop", [FUSION_INPUT] = "kInput", [FUSION_OUTPUT] = "kOutput",
          [FUSION_CUSTOM] = "kCustom")
  default: *count = 0; return NULL;
  }
#undef NAMES
}

const char *attribute_enum_name(AttributeKind kind, int value) {
  int count;
  const char *const *names = attribute_enum_names(kind, &count);
  return value >= 0 && value < count && names[value] ? names[value] : "";
}
