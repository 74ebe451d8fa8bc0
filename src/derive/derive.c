#include "derive/derive.h"

#include "rewrite/base/passes.h"
#include "rewrite/base/rewrite.h"

void derive_begin(Module *module) {
  static bool (*const passes[])(Module *) = {
      pass_share_computations, pass_dead_code,          pass_expand_bitcasts,   pass_custom_calls,
      pass_expand_scans,       pass_expand_scaled_dots, pass_expand_batch_norm,
  };
  for (size_t i = 0; i < sizeof passes / sizeof *passes; i++) {
    module_keep_roots(module);
    passes[i](module);
  }
}

void derive_end(Module *module, Computation *entry) {
  module->entry = entry;
  module->parameter_layouts = NULL;
  module->result_layout = NULL;
  module->alias_count = 0;
  module_keep_reached(module);
}
