/** Readers that a client loads when it first needs them. Literal paths let bundlers make files of them. */
import { part } from '../base/part.mjs';

export const stablehlo = part(() => import('../stablehlo/index.mjs'));
export const protoReader = part(() => import('../formats/hlo_proto.mjs'));
