/**
 * @file Arrow keys in a grid whose cells carry `data-row` and `data-column`: one tab stop, and the arrows move inside.
 */
const MOVES: Readonly<Record<string, readonly [number, number]>> = {
  ArrowUp: [-1, 0],
  ArrowDown: [1, 0],
  ArrowLeft: [0, -1],
  ArrowRight: [0, 1],
};

export function gridKeys(event: KeyboardEvent & { currentTarget: HTMLElement }): void {
  const move = MOVES[event.key];
  const cell = event.target instanceof HTMLElement ? event.target.closest<HTMLElement>('[data-row]') : null;
  if (!move || !cell) return;
  const row = Number(cell.dataset.row) + move[0];
  const column = Number(cell.dataset.column) + move[1];
  const next = event.currentTarget.querySelector<HTMLElement>(`[data-row="${row}"][data-column="${column}"]`);
  if (!next) return;
  event.preventDefault();
  next.focus();
  next.click();
}
