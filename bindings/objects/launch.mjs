/** Several executables as the devices of one run. */
import { MAX_DEVICES } from '../base/constants.mjs';
import { describe, invalidArgument } from '../base/error.mjs';
import { checkOptions, copyList, count, kind } from '../base/options.mjs';
import { xla_launch_new } from '../base/calls.mjs';
import { Executable } from './executable.mjs';
import {
  DONATE, donatedBuffers, donatedNumbers, EXECUTION_OPTIONS, finishRun, finishRunNow, leavesOf, outputsOf,
  throwIfAborted,
} from './execution.mjs';
import { coreOf, forget, pointerOf } from './handle.mjs';

const number = count(0, MAX_DEVICES - 1);
const ENTRY = {
  executable: kind('an Executable', (value) => (value instanceof Executable ? value : undefined)),
  replica: number,
  partition: number,
  arguments: kind('an array, or an object of names', (value) =>
    (typeof value === 'object' ? value : undefined)),
  donate: DONATE,
};

/** See Client.launch(). */
export async function launch(core, entries, options) {
  const { run, checked, partitions, takeOutputs } = begin(core, entries, options);
  const result = await finishRun(core, run, checked, partitions, takeOutputs);
  return checked.profile ? result : result.outputs;
}

/** As launch(), without a promise. */
export function launchNow(core, entries, options) {
  const { run, checked, partitions, takeOutputs } = begin(core, entries, options);
  const result = finishRunNow('launchSync', core, run, checked, partitions, takeOutputs);
  return checked.profile ? result : result.outputs;
}

/** Checks the caller's arguments, and makes the run. */
function begin(core, entries, options) {
  const checked = checkOptions('launch', options, EXECUTION_OPTIONS);
  if (!Array.isArray(entries) || entries.length === 0) {
    throw invalidArgument('launch', `entries must be an array of { executable, replica, arguments }; got ${
      describe(entries)}`);
  }
  const given = copyList(entries).map((entry, index) => readEntry(core, entry, index));
  const byDevice = [...given].sort((a, b) => a.device - b.device);
  byDevice.forEach(({ device, name }, i) => {
    if (i && byDevice[i - 1].device === device) {
      throw invalidArgument('launch', `${name} is given twice; each device needs one entry`);
    }
  });
  throwIfAborted(checked.signal);
  const run = start(core, byDevice, checked.profile ?? false);
  const { partitions } = given[0].executable;
  const takeOutputs = () => given.map(({ device, resultShape }) => outputsOf(core, run, device, resultShape, checked.device));
  return { run, checked, partitions, takeOutputs };
}

function readEntry(core, entry, index) {
  const {
    executable, replica = index, partition = 0, arguments: args = [], donate: asked = new Set(),
  } = checkOptions('launch', entry, ENTRY);
  if (!executable) throw invalidArgument('launch', `entry ${index} has no executable`);
  if (coreOf(executable) !== core) {
    throw invalidArgument('launch', `the executable of entry ${index} belongs to another client`);
  }
  const { replicas, partitions, parameters, resultShape } = executable;
  const name = partitions === 1 ? `replica ${replica}` : `replica ${replica}, partition ${partition}`;
  if (replica >= replicas || partition >= partitions) {
    throw invalidArgument('launch',
      `entry ${index} is for ${name}, but its executable was compiled for ${replicas} replicas` +
      ` and ${partitions} partitions; compile it for the mesh of the launch`);
  }
  const donate = donatedNumbers('launch', parameters, asked);
  const device = replica * partitions + partition;
  return { executable, device, name, args, donate, parameters, resultShape };
}

function start(core, byDevice, profile) {
  const uploads = [];
  try {
    const leaves = byDevice.flatMap(({ parameters, args, donate }) =>
      leavesOf(core, parameters, args, uploads)
        .map((leaf) => ({ ...leaf, isGiven: donate.has(leaf.parameter) })));
    const donated = donatedBuffers('launch', leaves, ({ isGiven }) => isGiven);
    const executables = Uint32Array.from(byDevice, ({ executable }) => pointerOf(executable));
    const buffers = Uint32Array.from(leaves, ({ buffer }) => (buffer ? pointerOf(buffer) : 0));
    for (const buffer of uploads) donated.add(buffer); // each is of one device, for this run only
    const flags = Uint8Array.from(leaves, ({ buffer }) => Number(donated.has(buffer)));
    const run = core.scoped((copy) => core.need(xla_launch_new, copy(executables),
      executables.length, copy(buffers), copy(flags), profile));
    donated.forEach(forget);
    return run;
  } finally {
    for (const buffer of uploads) buffer.dispose(); // the run has references of its own
  }
}
