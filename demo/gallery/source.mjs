/** Gets the visitor's picture: from a file, from the camera, or drawn here. */
import { h } from '../shared/dom.mjs';

/** Draws a landscape, which is shown until the visitor gives a picture. */
function drawSample(context, width, height) {
  const sky = context.createLinearGradient(0, 0, 0, height);
  sky.addColorStop(0, '#274b8f');
  sky.addColorStop(0.55, '#e8a06a');
  sky.addColorStop(1, '#f5d9a8');
  context.fillStyle = sky;
  context.fillRect(0, 0, width, height);
  context.fillStyle = '#fff3c9';
  context.beginPath();
  context.arc(width * 0.68, height * 0.42, height * 0.09, 0, 7);
  context.fill();
  ['#7c5a78', '#54466b', '#2f2f4d', '#1c1e33'].forEach((colour, layer) => {
    context.fillStyle = colour;
    context.beginPath();
    context.moveTo(0, height);
    for (let x = 0; x <= width; x += 2) {
      const t = x / width;
      const y = 0.5 + layer * 0.11 + 0.07 * Math.sin(t * (5 + layer * 3) + layer * 2) + 0.025 * Math.sin(t * (23 + 9 * layer) + layer);
      context.lineTo(x, y * height);
    }
    context.lineTo(width, height);
    context.fill();
  });
}

/** A picture's controls and its pixels: the sample, until the visitor chooses a file or the camera. */
export class Source {
  #camera = null; /* { video, stream } */
  #note = h('span', { class: 'small soft', role: 'status' });
  #file = h('input', { type: 'file', accept: 'image/*', id: 'picture-file', onchange: () => this.#openFile() });
  #button = h('button', { type: 'button', onclick: () => this.#toggleCamera() }, 'Camera');
  #context;
  #onchange;
  element = h('span', { class: 'field' }, h('label', { class: 'button' }, 'Picture…', this.#file), this.#button, this.#note);

  /** @param {() => void} onchange is called when there is another picture */
  constructor(width, height, onchange) {
    Object.assign(this, { width, height });
    this.#onchange = onchange;
    this.#context = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
    drawSample(this.#context, width, height);
  }

  /** Draws an image so that it covers the canvas. */
  #draw(image, imageWidth, imageHeight) {
    const scale = Math.max(this.width / imageWidth, this.height / imageHeight);
    const [width, height] = [imageWidth * scale, imageHeight * scale];
    this.#context.drawImage(image, (this.width - width) / 2, (this.height - height) / 2, width, height);
  }

  async #openFile() {
    const [file] = this.#file.files;
    if (!file) return;
    this.dispose();
    try {
      const image = await createImageBitmap(file);
      this.#draw(image, image.width, image.height);
      this.#note.textContent = '';
    } catch {
      this.#note.textContent = 'This file is no picture.';
    }
    this.#onchange();
  }

  async #toggleCamera() {
    if (this.#camera) {
      this.dispose();
      return;
    }
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ video: { width: this.width, height: this.height } });
      const video = h('video', { srcObject: stream, muted: true, playsInline: true });
      await video.play();
      this.#camera = { video, stream };
      this.#button.textContent = 'Camera off';
      this.#note.textContent = '';
      this.#onchange();
    } catch {
      this.#note.textContent = 'There is no camera here.';
    }
  }

  /** Whether the camera is on, so that each call of pixels() gives another picture. */
  get isLive() {
    return this.#camera !== null;
  }

  /** @returns {Uint8Array} red, green and blue, row by row */
  pixels() {
    if (this.#camera) {
      const { video } = this.#camera;
      this.#draw(video, video.videoWidth, video.videoHeight);
    }
    const { data } = this.#context.getImageData(0, 0, this.width, this.height);
    const rgb = new Uint8Array(this.width * this.height * 3);
    for (let from = 0, to = 0; from < data.length; from += 4) {
      rgb[to++] = data[from];
      rgb[to++] = data[from + 1];
      rgb[to++] = data[from + 2];
    }
    return rgb;
  }

  /** Turns the camera off; the last picture stays. */
  dispose() {
    this.#camera?.stream.getTracks().forEach((track) => track.stop());
    this.#camera = null;
    this.#button.textContent = 'Camera';
  }
}
