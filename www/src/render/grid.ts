/** Finds what lies in a rectangle. */

const CELL = 512;

export class Grid {
  #cells = new Map<number, number[]>();

  #keys(x: number, y: number, width: number, height: number, visit: (key: number) => void): void {
    const [left, right] = [Math.floor(x / CELL), Math.floor((x + width) / CELL)];
    const [top, bottom] = [Math.floor(y / CELL), Math.floor((y + height) / CELL)];
    for (let row = Math.max(0, top); row <= bottom; row++) {
      for (let column = Math.max(0, left); column <= right; column++) visit(row * 65_536 + column);
    }
  }

  add(id: number, x: number, y: number, width: number, height: number): void {
    this.#keys(x, y, width, height, (key) => {
      const cell = this.#cells.get(key);
      if (cell) cell.push(id);
      else this.#cells.set(key, [id]);
    });
  }

  /** Ids in ascending order, each once. */
  find(x: number, y: number, width: number, height: number): number[] {
    const found = new Set<number>();
    // A view far larger than the drawing has more empty cells than there are full ones.
    if ((width / CELL) * (height / CELL) > this.#cells.size * 4) {
      for (const cell of this.#cells.values()) cell.forEach((id) => found.add(id));
    } else this.#keys(x, y, width, height, (key) => this.#cells.get(key)?.forEach((id) => found.add(id)));
    return [...found].sort((a, b) => a - b);
  }
}
