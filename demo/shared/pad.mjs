/** A canvas to draw a digit on, which becomes an image like those of the training set. */

const SIDE = 28;
const BOX = 20; /* the digits of MNIST fill a 20 x 20 box, centred by their mass */

export class DrawingPad {
  /** `changed(pixels)` is called with 784 grey values 0..255 while there is something drawn. */
  constructor(canvas, changed) {
    this.canvas = canvas;
    this.changed = changed;
    this.context = canvas.getContext('2d', { willReadFrequently: true });
    this.context.lineCap = this.context.lineJoin = 'round';
    this.context.lineWidth = canvas.width / 13;
    this.context.strokeStyle = '#fff';
    this.last = null;
    this.clear();
    canvas.addEventListener('pointerdown', (event) => this.begin(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerup', () => this.end());
    canvas.addEventListener('pointercancel', () => this.end());
  }

  clear() {
    this.context.fillStyle = '#000';
    this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
  }

  /** Shows an image like those of the training set, as if it were drawn. @param {Uint8Array} pixels grey values */
  show(pixels) {
    const small = new OffscreenCanvas(SIDE, SIDE);
    const image = new ImageData(SIDE, SIDE);
    new Uint32Array(image.data.buffer).set(Uint32Array.from(pixels, (value) => 0xff000000 | (value * 0x010101)));
    small.getContext('2d').putImageData(image, 0, 0);
    this.clear();
    this.context.drawImage(small, 0, 0, this.canvas.width, this.canvas.height);
    this.schedule();
  }

  position(event) {
    const box = this.canvas.getBoundingClientRect();
    return [
      ((event.clientX - box.left) / box.width) * this.canvas.width,
      ((event.clientY - box.top) / box.height) * this.canvas.height,
    ];
  }

  begin(event) {
    this.canvas.setPointerCapture(event.pointerId);
    this.last = this.position(event);
    this.move(event);
  }

  move(event) {
    if (!this.last) return;
    const next = this.position(event);
    this.context.beginPath();
    this.context.moveTo(...this.last);
    this.context.lineTo(next[0] + 0.01, next[1]); /* a dot, where nothing moved */
    this.context.stroke();
    this.last = next;
    this.schedule();
  }

  end() {
    this.last = null;
    this.schedule();
  }

  /** At most one image a frame. */
  schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    requestAnimationFrame(() => {
      this.scheduled = false;
      const pixels = this.pixels();
      if (pixels) this.changed(pixels);
    });
  }

  /** Where the ink is: bounding box and centre of mass; null if there is none. */
  ink() {
    const { width, height } = this.canvas;
    const { data } = this.context.getImageData(0, 0, width, height);
    let [left, right, top, bottom, mass, sumX, sumY] = [width, -1, height, -1, 0, 0, 0];
    for (let y = 0; y < height; y++) {
      for (let x = 0; x < width; x++) {
        const value = data[(y * width + x) * 4];
        if (!value) continue;
        left = Math.min(left, x);
        right = Math.max(right, x);
        top = Math.min(top, y);
        bottom = Math.max(bottom, y);
        mass += value;
        sumX += value * x;
        sumY += value * y;
      }
    }
    if (!mass) return null;
    return { size: Math.max(right - left, bottom - top) + 1, x: sumX / mass, y: sumY / mass };
  }

  /** 784 bytes, or null if nothing is drawn. */
  pixels() {
    const ink = this.ink();
    if (!ink) return null;
    const small = new OffscreenCanvas(SIDE, SIDE);
    const context = small.getContext('2d', { willReadFrequently: true });
    context.fillRect(0, 0, SIDE, SIDE);
    context.imageSmoothingQuality = 'high';
    const scale = BOX / Math.max(ink.size, this.canvas.width / 5);
    const { width, height } = this.canvas;
    context.drawImage(this.canvas, SIDE / 2 - ink.x * scale, SIDE / 2 - ink.y * scale,
      width * scale, height * scale);
    const { data } = context.getImageData(0, 0, SIDE, SIDE);
    return Uint8Array.from({ length: SIDE * SIDE }, (_, i) => data[i * 4]);
  }
}
