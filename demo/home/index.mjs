/** The landing page: a summary, the cost, a program that runs, and links. */
import FACTS from 'virtual:facts';

import { figure, h, panel } from '../shared/dom.mjs';
import { createRunnable, endRuns } from '../shared/runnable.mjs';
import { PROGRAM } from './program.mjs';
import './home.css';

const WAYS = [
  ['I have a JAX model', 'Export it, and load the file: weights, gradients and meshes included. PyTorch and TensorFlow go the same way.', [
    ['From JAX to a page', '#guides/from-jax'],
    ['From other frameworks', '#guides/from-frameworks'],
    ['Open a file here', '#open'],
    ['JAX programs that run here', '#gallery'],
  ]],
  ['I write programs', 'XLA’s operations are methods of a builder. What you build can be differentiated, batched and spread over devices.', [
    ['Getting started', '#guides/getting-started'],
    ['Train in the page', '#guides/training'],
    ['API reference', '#guides/api'],
    ['Install', '#guides/hosts'],
  ]],
  ['I learn XLA', 'See each operation’s rule and values, what every pass makes of a program, and why a collective hangs.', [
    ['Operations, one by one', '#guides/operations'],
    ['Playground', '#playground'],
    ['Devices that meet', '#meshes'],
    ['How it works', '#guides/how-it-works'],
  ]],
];

const listOfLinks = (links) => h('ul', {}, links.map(([label, href]) => h('li', {}, h('a', { href }, label))));

/** Calls `work` when the page has nothing else to do. */
const whenIdle = (work) => {
  const idle = () => (window.requestIdleCallback ?? setTimeout)(work);
  if (document.readyState === 'complete') idle();
  else addEventListener('load', idle, { once: true });
};

export function mount(element, { link }) {
  let gone = false;
  const program = createRunnable({ code: PROGRAM, reserves: true, link, live: true, label: 'A program that fits a line' });
  element.append(
    h('div', { class: 'first' },
      h('div', { class: 'words' },
        h('h1', {}, 'XLA programs, compiled and run in your page'),
        h('p', { class: 'pitch' }, 'xla-wasm takes a program exported from JAX, or one that you build in JavaScript, compiles it to WebAssembly on the spot, and runs it in the browser or in Node: without a server, on one device or on many simulated ones.'),
        h('p', { class: 'soft' }, 'For people who want their model in a web page, who train or test on several replicas without hardware, and who learn what XLA does.'),
        h('dl', { class: 'figures' },
          figure('download, gzipped', FACTS.download),
          figure('run-time dependencies', 'none'),
          figure(`native XLA’s time, ${FACTS.programs} programs`, `${FACTS.ratio} ×`)),
        h('pre', { class: 'install', tabIndex: 0, 'aria-label': 'To install it' }, 'npm install xla-wasm'),
        h('p', { class: 'small soft' }, 'Not published yet: from a clone, make && npm pack makes the package.')),
      h('div', { class: 'try' }, program.element)),
    h('div', { class: 'ways' }, WAYS.map(([title, text, links]) => panel('way', title, h('p', {}, text), listOfLinks(links)))));
  whenIdle(() => { if (!gone) program.run(); });
  return {
    dispose() {
      gone = true;
      program.dispose();
      endRuns();
    },
  };
}
