/** The stage of the language model: a prompt, the text that it writes, and a button that continues its training. */
import { h } from '../shared/dom.mjs';
import { keepDrawn } from '../shared/draw.mjs';
import { connect } from '../shared/rpc.mjs';
import { startWorker } from '../shared/start_worker.mjs';
import { colour } from '../shared/theme.mjs';
import { slider } from './stage.mjs';

const COUNT = 400; /* tokens at a time */

/** Draws the losses as a line, with their min and max in figures. */
function drawLosses(context, width, height, losses) {
  if (losses.length < 2) return;
  const [min, max] = [Math.min(...losses), Math.max(...losses)];
  const x = (i) => 40 + (i / (losses.length - 1)) * (width - 48);
  const y = (loss) => 8 + ((max - loss) / (max - min || 1)) * (height - 28);
  context.font = '12px system-ui, sans-serif';
  context.fillStyle = colour('--soft');
  context.fillText(max.toFixed(2), 4, y(max) + 4);
  context.fillText(min.toFixed(2), 4, y(min) + 4);
  context.fillText(`${losses.length} steps`, width - 70, height - 4);
  context.strokeStyle = colour('--accent');
  context.lineWidth = 1.5;
  context.beginPath();
  losses.forEach((loss, i) => context.lineTo(x(i), y(loss)));
  context.stroke();
}

/** The buttons that write and train. Only one of the two runs at a time; a second press stops it. */
class Buttons {
  #doing = null; /* 'write' or 'train' */
  #stop;
  #problem;
  write = h('button', { type: 'button', class: 'primary', id: 'write', disabled: true });
  train = h('button', { type: 'button', id: 'learn', disabled: true });

  /** begin: what each button starts, promises of its end. stop: ends what runs. problem: shows an error. */
  constructor(begin, stop, problem) {
    this.#stop = stop;
    this.#problem = problem;
    for (const what of ['write', 'train']) this[what].addEventListener('click', () => this.#toggle(what, begin[what]));
    this.#label();
  }

  async #toggle(what, begin) {
    const before = this.#doing;
    if (before) await this.#stop();
    if (before === what) return;
    this.#doing = what;
    this.#label();
    try {
      await begin();
    } catch (error) {
      this.#problem(error);
    }
    if (this.#doing === what) this.#doing = null;
    this.#label();
  }

  #label() {
    this.write.textContent = this.#doing === 'write' ? 'Stop' : 'Write';
    this.train.textContent = this.#doing === 'train' ? 'Stop training' : 'Train it further, on 2 devices';
  }
}

/** Adds text as it comes, and scrolls to its end if that was in sight. */
function append(written, text) {
  const end = written.scrollTop + written.clientHeight > written.scrollHeight - 30;
  written.append(text);
  if (end) written.scrollTop = written.scrollHeight;
}

/** The loss of training: a line of text, and a plot that is hidden before the first step. */
class Learning {
  #losses = [];
  #plot = h('canvas', { class: 'timeline learning', hidden: true, role: 'img', 'aria-label': 'Loss of training' });
  #kept = keepDrawn(this.#plot, (context, width, height) => drawLosses(context, width, height, this.#losses));
  #status = h('p', { class: 'small soft', role: 'status' });
  elements = [this.#status, this.#plot];

  begin() {
    this.#plot.hidden = false;
    this.#losses.length = 0;
    this.say('Compiling the training step…');
  }

  add({ step, loss, ms, devices }) {
    this.#losses.push(loss);
    this.say(`Step ${step} on ${devices} devices: loss ${loss.toFixed(3)}, ${Math.round(ms)} ms. ` +
      'What it writes next uses the new weights.');
    this.#status.dataset.steps = step;
    this.#kept.redraw();
  }

  say(text) {
    this.#status.textContent = text;
  }

  dispose() {
    this.#kept.dispose();
  }
}

export function createStage(element, exhibit, urls, tell) {
  const worker = connect(startWorker('llama'));
  let temperature = 0.8;
  const prompt = h('textarea', { id: 'prompt', 'aria-label': 'How it begins', value: 'ROMEO.\nBut soft, what light through yonder window' });
  const written = h('div', { class: 'panel written', id: 'written', tabIndex: 0, 'aria-label': 'What it wrote' });
  const learning = new Learning();
  const problem = (error) => { if (error.code !== 'CANCELLED') learning.say(error.message); };

  const { write, train } = new Buttons({
    write() {
      written.replaceChildren(h('span', { class: 'prompt' }, prompt.value));
      return worker.call('write', { prompt: prompt.value, temperature, count: COUNT });
    },
    train() {
      learning.begin();
      return worker.call('train');
    },
  }, () => worker.call('stop'), problem);
  worker.on('text', ({ text, rate, ms }) => {
    append(written, text);
    if (rate) tell({ ms, named: { 'Tokens a second': rate.toFixed(0) } });
  });
  worker.on('loss', (step) => learning.add(step));
  worker.call('open', urls).then((facts) => {
    tell(facts);
    write.disabled = train.disabled = false;
    write.click();
  }, problem);

  element.append(prompt, h('div', { class: 'controls' }, write, train,
    slider(['temperature', 'Temperature', 0.2, 1.4, 0.05, temperature], (value) => { temperature = value; })),
  written, ...learning.elements);
  return {
    dispose() {
      learning.dispose();
      worker.terminate();
    },
  };
}
