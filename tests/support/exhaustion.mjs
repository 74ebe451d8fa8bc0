/** Ways to use up all memory of a client, for Node and pages: afterwards a small program must run. */
const MB = 2 ** 20;

const SMALL = `HloModule small
ENTRY e { p = f32[64] parameter(0)
 ROOT n = f32[64] negate(p) }`;

/** A loop of many iterations, each shared by the workers. */
const turns = (count) => `HloModule turns
c { s = (s32[], f32[65536]) parameter(0)
 i = s32[] get-tuple-element(s), index=0
 n = s32[] constant(${count})
 ROOT p = pred[] compare(i, n), direction=LT }
b { s = (s32[], f32[65536]) parameter(0)
 i = s32[] get-tuple-element(s), index=0
 x = f32[65536] get-tuple-element(s), index=1
 o = s32[] constant(1)
 j = s32[] add(i, o)
 y = f32[65536] sine(x)
 ROOT t = (s32[], f32[65536]) tuple(j, y) }
ENTRY e { p = f32[65536] parameter(0)
 z = s32[] constant(0)
 t = (s32[], f32[65536]) tuple(z, p)
 w = (s32[], f32[65536]) while(t), condition=c, body=b
 ROOT r = f32[65536] get-tuple-element(w), index=1 }`;

const pause = (ms) => new Promise((resolve) => { setTimeout(resolve, ms); });

/** Each goes on until an error, which it throws; a returned object is disposed later. */
const WAYS = {
  buffers(client, kept) {
    for (const size of [8 * MB, 65536, 1024]) {
      try {
        for (;;) kept.push(client.buffer(new Uint8Array(size)));
      } catch (error) {
        if (error.code !== 'RESOURCE_EXHAUSTED' || size === 1024) throw error;
      }
    }
  },
  parse(client) {
    const lines = Array.from({ length: 60000 }, (_, i) => ` n${i} = f32[64] negate(${i ? `n${i - 1}` : 'p'})`);
    client.parseHlo(`HloModule m\nENTRY e { p = f32[64] parameter(0)\n${lines.join('\n')}\n ROOT z = f32[64] negate(n0) }`);
  },
  async run(client) {
    const executable = await client.compile(client.parseHlo(SMALL.replaceAll('64', '4000000')));
    await executable.execute([new Float32Array(4e6)]);
  },
  async runs(client) {
    const executable = await client.compile(client.parseHlo(turns(1e6)));
    const abort = new AbortController();
    const runs = Array.from({ length: 100 }, () =>
      executable.execute([new Float32Array(65536)], { signal: abort.signal }).catch((error) => error));
    await pause(10);
    abort.abort();
    const errors = await Promise.all(runs);
    // A worker that is slow to see that its run was cancelled keeps the run's memory until then.
    while (client.memoryInUse > MB) await pause(10);
    throw errors.find(({ code }) => code !== 'CANCELLED');
  },
  async host(client, kept) {
    client.registerCustomCall('more', ({ operands: [x] }) => {
      WAYS.buffers(client, kept);
      return x;
    });
    const executable = await client.compile(client.parseHlo(`HloModule m
ENTRY e { p = f32[64] parameter(0)
 ROOT c = f32[64] custom-call(p), custom_call_target="more" }`));
    await executable.execute([new Float32Array(64)]);
  },
};

/** When memory is exhausted, and given back: at once, before the threads have started, or later. */
const MOMENTS = { atOnce: [0, 0], nextTurn: [1, 0], whenStarted: [80, 0], heldMeanwhile: [0, 80] };

async function works(client) {
  for (const [text, size] of [[SMALL, 64], [turns(20), 65536]]) {
    const executable = await client.compile(client.parseHlo(text));
    await executable.execute([new Float32Array(size)], { timeoutMs: 20000 });
    executable.dispose();
    await pause(2);
  }
}

/**
 * @param {object} package_ { Client }
 * @param {number} threads
 * @returns {Promise<string[]>} the failures
 */
export async function exhaust({ Client }, threads) {
  const wrong = [];
  for (const [moment, [before, held]] of Object.entries(MOMENTS)) {
    for (const [name, way] of Object.entries(WAYS)) {
      const client = await Client.create({ threads, maxMemory: 16 * MB + threads * MB });
      const kept = [];
      let code;
      try {
        if (before) await pause(before);
        await Promise.resolve().then(() => way(client, kept)).then(() => 'OK', (error) => { code = error?.code; });
        if (code !== 'RESOURCE_EXHAUSTED') wrong.push(`${moment}, ${name}: ${code}`);
        if (held) await pause(held);
        kept.forEach((handle) => handle.dispose());
        await works(client);
      } catch (error) {
        wrong.push(`${moment}, ${name}: afterwards ${error.code}: ${error.message}`);
      }
      client.dispose();
    }
  }
  return wrong;
}
