/** @file The strip of charts as one SVG figure that stands on its own: computed styles are written into it. */
const STYLED = ['stroke', 'stroke-width', 'stroke-dasharray', 'fill', 'opacity', 'font-size'] as const;

function inlined(svg: SVGSVGElement): SVGSVGElement {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const originals = svg.querySelectorAll<SVGElement>('*');
  copy.querySelectorAll<SVGElement>('*').forEach((element, at) => {
    const style = getComputedStyle(originals[at]);
    for (const name of STYLED) element.setAttribute(name, style.getPropertyValue(name));
    element.removeAttribute('class');
  });
  return copy;
}

/** All charts inside `strip`, side by side, each under its caption. */
export function figure(strip: HTMLElement): string {
  const svgs = [...strip.querySelectorAll('svg')];
  const width = 200;
  const height = 120;
  const root = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  root.setAttribute('xmlns', 'http://www.w3.org/2000/svg');
  root.setAttribute('viewBox', `0 0 ${svgs.length * width} ${height}`);
  root.setAttribute('font-family', 'IBM Plex Sans, sans-serif');
  const ink = getComputedStyle(strip).color;
  svgs.forEach((svg, at) => {
    const caption = document.createElementNS('http://www.w3.org/2000/svg', 'text');
    caption.textContent = (svg.closest('figure')?.querySelector('figcaption')?.textContent ?? '').replace(/\s+/g, ' ').trim();
    for (const [name, value] of [
      ['x', at * width + 10],
      ['y', 16],
      ['font-size', 12],
      ['fill', ink],
    ] as const)
      caption.setAttribute(name, String(value));
    const chart = inlined(svg);
    for (const [name, value] of [
      ['x', at * width + 10],
      ['y', 26],
      ['width', width - 20],
      ['height', height - 32],
    ] as const)
      chart.setAttribute(name, String(value));
    root.append(caption, chart);
  });
  return new XMLSerializer().serializeToString(root);
}
