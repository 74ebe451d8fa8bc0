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

/**
 * @returns {{ element: HTMLElement, pixels: () => Uint8Array, live: () => boolean, dispose: () => void }}
 *   `pixels` are red, green and blue, row by row
 */
export function sourceControls(width, height, onchange) {
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d', { willReadFrequently: true });
  let camera = null; /* { video, stream } */
  drawSample(context, width, height);

  /** So that it covers the canvas. */
  const draw = (image, w, h2) => {
    const scale = Math.max(width / w, height / h2);
    context.drawImage(image, (width - w * scale) / 2, (height - h2 * scale) / 2, w * scale, h2 * scale);
  };
  const stop = () => {
    camera?.stream.getTracks().forEach((track) => track.stop());
    camera = null;
    button.textContent = 'Camera';
  };
  const note = h('span', { class: 'small soft', role: 'status' });
  const file = h('input', { type: 'file', accept: 'image/*', id: 'picture-file', onchange: async () => {
    if (!file.files[0]) return;
    stop();
    try {
      const image = await createImageBitmap(file.files[0]);
      draw(image, image.width, image.height);
      note.textContent = '';
    } catch {
      note.textContent = 'This file is no picture.';
    }
    onchange();
  } });
  const button = h('button', { type: 'button', onclick: async () => {
    if (camera) {
      stop();
      return;
    }
    try {
      const stream = await navigator.mediaDevices.getUserMedia({ video: { width, height } });
      const video = h('video', { srcObject: stream, muted: true, playsInline: true });
      await video.play();
      camera = { video, stream };
      button.textContent = 'Camera off';
      note.textContent = '';
      onchange();
    } catch {
      note.textContent = 'There is no camera here.';
    }
  } }, 'Camera');
  return {
    element: h('span', { class: 'field' }, h('label', { class: 'button' }, 'Picture…', file), button, note),
    pixels() {
      if (camera) draw(camera.video, camera.video.videoWidth, camera.video.videoHeight);
      const { data } = context.getImageData(0, 0, width, height);
      const rgb = new Uint8Array(width * height * 3);
      for (let from = 0, to = 0; from < data.length; from += 4) {
        rgb[to++] = data[from];
        rgb[to++] = data[from + 1];
        rgb[to++] = data[from + 2];
      }
      return rgb;
    },
    live: () => camera !== null,
    dispose: stop,
  };
}
