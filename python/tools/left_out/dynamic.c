/* Stands for what resolves bounded dynamic dimensions, in the core that the wheel holds: JAX has none. */
#include "rewrite/dynamic/dimensions.h"

bool dynamic_dimensions_resolve(Module *module, Error *error) {
  error_set(error, STATUS_UNIMPLEMENTED, "this build of the core has no dynamic dimensions");
  return false;
}
