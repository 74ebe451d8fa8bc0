#include "derive/derive.h"

#include "rewrite/base/rewrite.h"

void derive_end(Module *module, Computation *entry) {
  module->entry = entry;
  module->parameter_layouts = NULL;
  module->result_layout = NULL;
  module->alias_count = 0;
  module_keep_reached(module);
}
