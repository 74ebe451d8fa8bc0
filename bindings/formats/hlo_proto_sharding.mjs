/** Converts shardings of protos to HLO text. */
import { OP_SHARDING } from './hlo_schema.mjs';
import { decode } from './protobuf.mjs';

/** [2,2]<=[4] or [2,2]<=[2,2]T(1,0) */
export const iotaText = (dimensions, reshape = [], transpose = []) =>
  `[${dimensions}]<=[${reshape}]${reshape.length > 1 ? `T(${transpose})` : ''}`;

/** OpSharding's types that are words. */
const WORDS = { 0: 'replicated', 4: 'manual', 5: 'unknown', 6: 'unreduced' };

function shardingBody(sharding) {
  const { type = 0, tileDimensions, tileDevices, iotaReshape, iotaTranspose } = sharding;
  if (type === 2) return (sharding.tuple ?? []).map((s) => `{${shardingBody(s)}}`).join(', ');
  if (type === 1) return `maximal device=${tileDevices?.[0] ?? 0}`;
  if (WORDS[type]) return WORDS[type];
  const devices = iotaReshape
    ? iotaText(tileDimensions, iotaReshape, iotaTranspose) : `[${tileDimensions}]${tileDevices}`;
  const last = sharding.lastTileDims?.map((kind) => WORDS[kind] ?? 'other');
  return `devices=${devices}${last ? ` last_tile_dims={${last.join(', ')}}` : ''}` +
    `${sharding.replicateOnLastTileDim ? ' last_tile_dim_replicate' : ''}`;
}

/** @param {object | undefined} sharding an OpSharding @returns {string | undefined} as in HLO text */
export const shardingText = (sharding) => sharding && `{${shardingBody(sharding)}}`;

/** As shardingText(), of a serialized OpSharding. */
export const shardingTextOfBytes = (bytes) => shardingText(decode(bytes, OP_SHARDING));
