/** Runs random programs of several devices by simulation: one step after the other, for all devices. */
import { fed, SIZE } from './devices_programs.mjs';

/** The states of all devices after the program; and `fed`, `out`: what each got from and gave to the host. */
export function simulate({ mesh, steps, initial }) {
  const { partitions } = mesh, devices = initial.map((_, d) => d), out = devices.map(() => []);
  const run = (list, states, who) => {
    for (const step of list) states = SIMULATORS[step.kind](step, states, who);
    return states;
  };
  const fold = (reducer, values) => values.reduce((a, b) =>
    a.map((v, i) => (reducer === 'add' ? (v + b[i]) | 0 : Math.max(v, b[i]))));
  const SIMULATORS = {
    arithmetic: ({ by, plus }, states, who) => states.map((x, d) => (!who.includes(d) ? x
      : x.map((v) => (Math.imul(v, by) + plus + Math.floor(d / partitions) + 2 * (d % partitions)) | 0))),
    collective({ operation, reducer, groups, mode, pairs, members }, states) {
      const next = states.map((x) => x.slice()), part = SIZE / members;
      if (operation === 'collective-permute') return permute(pairs, mode, states);
      if (operation === 'collective-broadcast') {
        return states.map((_, d) => states[groups.find((group) => group.includes(d))?.[0]] ?? new Int32Array(SIZE));
      }
      for (const group of groups) {
        const inputs = group.map((d) => states[d]);
        group.forEach((d, at) => {
          if (operation === 'all-reduce') next[d] = fold(reducer, inputs);
          if (operation === 'all-gather') inputs.forEach((x, i) => next[d].set(x.subarray(0, part), i * part));
          if (operation === 'reduce-scatter') {
            const all = fold(reducer, inputs);
            next[d].fill(7).set(all.subarray(at * part, (at + 1) * part));
          }
          if (operation === 'all-to-all') {
            inputs.forEach((x, i) => next[d].set(x.subarray(at * part, (at + 1) * part), i * part));
          }
        });
      }
      return next;
    },
    send({ pairs }, states) {
      return states.map((x, d) => {
        const from = pairs.find(([, to]) => to === d);
        return from ? x.map((v, i) => (v + states[from[0]][i]) | 0) : x;
      });
    },
    feed: (_, states, who) => states.map((x, d) => {
      if (!who.includes(d)) return x;
      const value = fed(d, out[d].length);
      out[d].push(x);
      return x.map((v, i) => (v + value[i]) | 0);
    }),
    own: ({ variantOf, turns, plus }, states) => states.map((x, d) =>
      x.map((v) => (Math.imul(v, 3 ** turns[variantOf[d]]) + plus[variantOf[d]]) | 0)),
    pipe: ({ from, to }, states) => states.map((x, d) =>
      (d === to ? x.map((v, i) => (v + states[from][i]) | 0) : x)),
    loop({ turns, body }, states, who) {
      for (let i = 0; i < turns; i++) states = run(body, states, who);
      return states;
    },
    branch({ odd, even, meets }, states) {
      [even, odd].forEach((list, parity) => {
        const who = devices.filter((d) => Math.floor(d / partitions) % 2 === parity);
        states = run(list, states, who);
        // With a channel and no global ids: these replicas, in all their partitions.
        const sum = meets && who.length ? fold('add', who.map((d) => states[d])) : null;
        if (sum) states = states.map((x, d) => (who.includes(d) ? sum : x));
      });
      return states;
    },
  };
  /** Permutes among devices whose ids differ only in the coordinate that the pairs name. */
  function permute(pairs, mode, states) {
    return states.map((_, d) => {
      const id = mode.channel ? d % partitions : Math.floor(d / partitions);
      const from = pairs.find(([, to]) => to === id);
      if (!from) return new Int32Array(SIZE);
      return states[mode.channel ? d - id + from[0] : d - id * partitions + from[0] * partitions];
    });
  }
  return Object.assign(run(steps, initial, devices).slice(), { out });
}
