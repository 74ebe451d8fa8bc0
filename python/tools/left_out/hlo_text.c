/* Stands for the parser of HLO text's instructions in the core that the wheel holds: JAX sends StableHLO. */
#include "hlo/text/parser.h"

bool parse_instruction(Parser *p, Instruction **root) {
  return parser_error(p, p->lexer.start, "this build of the core reads no HLO text");
}
