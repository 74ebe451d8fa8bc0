#include <stdio.h>

#include "base/host/platform.h"
#include "hlo/scalar/element.h"

_Noreturn void scalar_missing(Opcode opcode) {
  char message[128];
  snprintf(message, sizeof message, "%s: there is no rule for one element (src/hlo/scalar)",
           opcode_name(opcode));
  platform_trap(STATUS_INTERNAL, message);
}
