// Checked by tsc, never run: the declarations are what a strict user's program needs.
import {
  Client,
  Layout,
  Literal,
  Shape,
  XlaError,
  loadWeights,
  type Executable,
  type Buffer,
  type HloModule,
  type ProfileEvent,
  type XlaBuilder,
  type XlaOp,
} from 'xla-wasm';

export async function axpy(): Promise<number[][]> {
  const client: Client = await Client.create({ replicas: 4, threads: 2 });
  const b: XlaBuilder = client.builder('axpy');
  const x = b.parameter(0, 'f32[2,3]', 'x');
  const v = b.parameter(1, Shape.array('f32', [3]));
  const module: HloModule = b.build(b.add(x, v, [1]));
  const exe = await client.compile(module, { replicas: 1 });
  const [y] = await exe.execute([[[1, 2, 3], [4, 5, 6]], Float32Array.of(7, 8, 9)]);
  const text: string = y.shape.toString();
  const perReplica = await exe.executeReplicas([[1, y], [2, client.buffer([1])]]);
  console.log(text, perReplica[0][0].data.length, client.parseHlo(module.toString()).parameters);
  return y.toArray();
}

export async function load(client: Client, file: File): Promise<HloModule> {
  (await client.load(fetch('model.mlirbc'))).dispose();
  (await client.parseStableHlo('module {}')).dispose();
  // @ts-expect-error: a number is no program
  void client.load(5);
  return client.load(file, { arguments: ['f32[8,128]', Shape.array('s32')] });
}

export async function options(client: Client, module: HloModule): Promise<void> {
  using exe = await client.compile(module);
  const controller = new AbortController();
  const [kept] = await exe.execute([], { device: true, donate: [0] });
  const buffer: Buffer = kept;
  const values: number[] = (await exe.execute<[Buffer<'f32[3]'>]>([], { device: true }))[0].toArray();
  buffer.dispose();
  const profiled = await exe.execute(undefined, { profile: true, signal: controller.signal });
  const event: ProfileEvent | undefined = profiled.events[0];
  const first: Literal | undefined = profiled.outputs[0];
  console.log(values, event?.category, event && event.endUs - event.startUs, first?.get([0]));
}

export function operations(b: XlaBuilder, x: XlaOp, sum: HloModule): XlaOp {
  const total = b.reduce(x, b.constant(0), sum, [0, 1]);
  const c = b.convGeneralDilated(x, x, [1], 'SAME', [1], [1], 'b0f_0io->b0f', {
    featureGroupCount: 2,
  });
  b.convWithGeneralPadding(x, x, [1, 1], [[0, 1], [2, -3]], { lhsDilation: [1, 2] });
  b.dotGeneral(x, c, { lhsContractingDimensions: [1], rhsContractingDimensions: [0] });
  b.allReduce(total, sum, [[0, 1], [2, 3]], 7);
  b.allGather(x, 0, 4, { useGlobalDeviceIds: true, channelId: 1 });
  b.pad(x, total, [[1, 2, 3], { edgePaddingLow: 1 }]);
  b.gather(x, c, { offsetDims: [1], startIndexMap: [0], indexVectorDim: 1 }, [1, 2]);
  b.while(sum, sum, b.tuple([x, total]));
  b.conditional(x, [sum, sum], [x, x]);
  b.rngBitGenerator('RNG_PHILOX', x, 'u32[4]');
  b.reduce(x, 0, 'add', [1]).add(c).mul(2).transpose([1, 0]);
  b.sort([x, c], (s, p, q) => s.lt(p, q), { dimension: 0, isStable: true });
  const [i, state] = b.while((s, n) => s.lt(n, 5), (_, n, y) => [n.add(1), y.mul(x)], [total, x]);
  b.conditional(i!, () => state!, (s) => s.neg(x));
  b.add(x, c, { broadcastDimensions: [0] });
  // @ts-expect-error: there is no such combiner
  b.reduce(x, 0, 'plus', [0]);
  // @ts-expect-error: a shape is no operand
  b.add(x, 'f32[2]');
  // @ts-expect-error: there is no such direction
  b.compare(x, x, 'BIGGER');
  // @ts-expect-error: there is no such type
  b.convertElementType(x, 'f31');
  // @ts-expect-error: an operation is not created by hand
  void (() => new x.constructor());
  return c;
}

export async function typed(client: Client, exe: Executable): Promise<number[][]> {
  const [y, n] = await exe.execute<[Literal<'f32[2,3]'>, Literal<'s64[]'>]>([]);
  const data: Float32Array = y.data;
  const count: bigint = n.toArray();
  const bits: Uint16Array = Literal.zeros('bf16[2]').data;
  const flags: boolean[] = client.buffer([true], 'pred[1]').toArray();
  const pairs: [number, number][] = Literal.from([[1, 2]], 'c64[1]').toArray();
  console.log(data.length, count, bits, flags, pairs);
  // @ts-expect-error: of 64-bit integers, elements are bigints
  const wrong: number = n.toArray();
  // @ts-expect-error: and data a BigInt64Array
  const wrongData: Float32Array = n.data;
  console.log(wrong, wrongData);
  return y.toArray();
}

export function literals(): void {
  const layout = new Layout({ minorToMajor: [0, 1], paddedDimensions: [3, 5] });
  const shape = Shape.parse('f32[2,3]').withLayout(layout);
  const linear: number = shape.linearIndex([1, 2]);
  Literal.from([[1n, 2n]], 's64[1,2]').inLayout(layout).leaves();
  Literal.from([1, [true]], '(f32[], pred[1])').elements?.[1]?.toArray();
  try {
    shape.multiIndex(linear);
  } catch (error) {
    if (error instanceof XlaError && error.code === 'INVALID_ARGUMENT') console.log(error.line, error.docs);
  }
}

export async function fromTorch(client: Client): Promise<Literal[]> {
  const weights = await loadWeights('model.safetensors', {
    map: (name, array) => (name.endsWith('.weight') ? [name, array.transpose([1, 0]).convert('bf16')] : null),
  });
  const b = client.builder('placed', { locations: true });
  const program = await client.compile(b.build(b.constantLiteral(weights.w ?? Literal.zeros('f32[2]'))));
  const { events } = await program.execute([], { profile: true });
  for (const { source, opName } of events) console.log(source, opName);
  return program.execute({});
}
