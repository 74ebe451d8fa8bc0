#include "hlo/attributes.h"

#include <stddef.h>

enum { NONDEFAULT = 0, ALWAYS = 1 };

const AttributeRow attribute_rows[] = {
#define ATTRIBUTE(name, field, kind, default_value, print) \
  {#name, ATTR_##kind, offsetof(Attributes, field), default_value, print},
#include "hlo/attributes.def"
#undef ATTRIBUTE
};
const int attribute_count = sizeof attribute_rows / sizeof *attribute_rows;

void attributes_init(Attributes *attributes) {
  *attributes = (Attributes){.feature_group_count = 1, .batch_group_count = 1, .largest = true};
}
