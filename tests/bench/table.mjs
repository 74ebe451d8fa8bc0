/** Prints bench.mjs's table row by row as results come, and README.md's table. */

const COLUMNS = {
  'xla': 'xla-wasm',
  'tfjs': 'tfjs-wasm',
  'jax': 'jax-js',
  'plain': 'plain JS',
  'xla-host': 'xla-wasm, arrays',
  'ort': 'onnxruntime-web',
};
const OURS = ['xla', 'xla-host'];
const TITLE_WIDTH = 34;
const WIDTH = 17;

const median = (values) => values[values.length >> 1]; // of sorted ones

/** Formats a number with three digits, without an exponent. */
function digits(value) {
  if (value >= 100) return String(Math.round(value));
  return value >= 10 ? value.toFixed(1) : value >= 1 ? value.toFixed(2) : value.toPrecision(2);
}

const milliseconds = (ms) => (ms < 0.1 ? `${digits(ms * 1000)} us` : `${digits(ms)} ms`);

const settingOf = ({ where, version, threads }) =>
  `${where} ${version}, ${threads} thread${threads > 1 ? 's' : ''}`;

export class Table {
  #columns;
  #title;
  #notes = [];

  /** @param {string[]} names of the engines that are measured */
  constructor(hosts, threads, names) {
    this.#columns = Object.keys(COLUMNS).filter((name) => names.includes(name));
    this.#title = settingOf({ where: hosts.name, version: hosts.version, threads });
  }

  #line(title, cells) {
    return title.padEnd(TITLE_WIDTH) + cells.map((cell) => cell.padStart(WIDTH)).join('');
  }

  header() {
    console.log(`\n${this.#title}: time per call; in brackets, how many times ours that is`);
    console.log(this.#line('', this.#columns.map((name) => COLUMNS[name])));
  }

  progress(title) {
    if (process.stderr.isTTY) process.stderr.write(`... ${title}\r`);
  }

  #cell(name, results, failed) {
    if (failed[name]) return '!';
    if (!results[name]) return '-';
    const time = milliseconds(results[name].ms.median);
    const { ratio } = results[name];
    if (!ratio) return time;
    return `${time} (${digits(ratio.median)})`;
  }

  row(title, results, failed) {
    console.log(this.#line(title, this.#columns.map((name) => this.#cell(name, results, failed))));
    for (const [name, why] of Object.entries(failed)) {
      this.#notes.push(`${COLUMNS[name]}, ${title}: ${why}`);
    }
  }

  /** Prints the times that are measured once. */
  #once(title, time) {
    const cells = this.#columns.map((name) => {
      const ms = name === 'plain' ? undefined : time(name);
      return ms === undefined ? '-' : milliseconds(ms);
    });
    console.log(this.#line(title, cells));
  }

  footer(workloads, loadMs) {
    this.#once('import to first result, once', (name) => loadMs[name]);
    for (const id of ['attention', 'mlp']) {
      if (!workloads[id]) continue;
      this.#once(`compile and run once: ${id}`, (name) => workloads[id].results[name]?.firstMs);
    }
    for (const note of this.#notes) console.log(`  ! ${note}`);
    this.#score(workloads);
  }

  /** Prints wins and losses, and the spread of the rounds. */
  #score(workloads) {
    const all = Object.values(workloads);
    for (const name of this.#columns.filter((column) => !OURS.includes(column))) {
      const ratios = all.map(({ results }) => results[name]?.ratio).filter(Boolean);
      if (!ratios.length) continue;
      const mean = Math.exp(ratios.reduce((sum, { median }) => sum + Math.log(median), 0) /
        ratios.length);
      const lost = ratios.filter(({ median }) => median < 1).length;
      console.log(`  against ${COLUMNS[name]}: faster in ${ratios.length - lost} of ` +
        `${ratios.length}, geometric mean of the ratios ${digits(mean)}`);
    }
    const spreads = all.flatMap(({ results }) => Object.values(results))
      .map(({ ms }) => (ms.most - ms.least) / ms.median / 2).toSorted((a, b) => a - b);
    if (!spreads.length) return;
    const percent = (value) => `${digits(100 * value)} %`;
    console.log(`  noise: rounds differ by ${percent(median(spreads))} either way in the middle ` +
      `case, by ${percent(spreads.at(-1))} in the worst`);
  }
}

const kilobytes = (size) => `${Math.round(size / 1000).toLocaleString('en')} kB`;

export function printSizes(bytes) {
  console.log('\nDownload, gzipped:');
  for (const [name, size] of Object.entries(bytes)) {
    console.log(`  ${name.padEnd(32)}${kilobytes(size).padStart(10)}`);
  }
}

/** Ratios of one setting, a column per peer; bold where the peer is faster. */
function ratioCells({ results, failed }, peers) {
  return peers.map((name) => {
    const ratio = results[name]?.ratio.median;
    if (ratio === undefined) return failed[name] ? 'fails' : '';
    return ratio < 1 ? `**${digits(ratio)}**` : digits(ratio);
  });
}

/** README.md's table: per setting our time, and the time of each package as a multiple of it. */
export function printMarkdown({ settings }) {
  const peers = Object.keys(COLUMNS).filter((name) => ![...OURS, 'plain'].includes(name));
  const row = (cells) => console.log(`| ${cells.join(' | ')} |`);
  const each = (cells) => settings.flatMap(cells);
  console.log();
  row(['', ...each((setting) => [settingOf(setting), ...peers.map((name) => COLUMNS[name])])]);
  row(['---', ...each(() => Array(peers.length + 1).fill('--:'))]);
  for (const [id, { title }] of Object.entries(settings[0].workloads)) {
    row([title, ...each(({ workloads }) => {
      const ours = workloads[id].results.xla;
      return [ours ? milliseconds(ours.ms.median) : 'fails', ...ratioCells(workloads[id], peers)];
    })]);
  }
}
