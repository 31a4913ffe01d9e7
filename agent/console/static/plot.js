// Curves of readings: zoomed by dragging, in the page's own colours, light and dark.
(() => {
  "use strict";
  const plots = [];

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  // As the rest of the console writes it, in every language: what is told anew goes beneath the ticks
  const CLOCK = "{HH}:{mm}", DAY = "{MM}-{DD}", YEAR = "{YYYY}";
  const beneath = (text) => `\n${text}`;
  const ticks = (text, inNewYear = null, onNewDay = null) => [text, inNewYear, null, onNewDay, null, null, null, 1];
  const TIMES = [
    [365 * 86400, ...ticks(YEAR)],
    [28 * 86400, ...ticks(`${YEAR}-{MM}`)],
    [86400, ...ticks(DAY, beneath(YEAR))],
    [60, ...ticks(CLOCK, beneath(`${YEAR}-${DAY}`), beneath(DAY))],
    [1, ...ticks(`${CLOCK}:{ss}`, beneath(`${YEAR}-${DAY}`), beneath(DAY))],
  ];

  // Told apart in light and dark, also by who sees fewer colours
  const LINES = ["--accent", "--line-2", "--line-3", "--line-4", "--line-5", "--line-6"];

  function axisOf() {
    return { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
  }

  function seriesOf(place, number) {
    const made = { label: place.dataset.name, stroke: colour(LINES[number % LINES.length]), width: 2, spanGaps: false, scale: `y${place.dataset.unit}` };
    if (number >= LINES.length) made.dash = [8, 5];
    if (place.dataset.steps) made.paths = uPlot.paths.stepped({ align: 1 });
    return made;
  }

  // A single reading, or some of one minute, stand at the end of an hour; uPlot would give one years
  function spanned(plot, low, high) {
    const times = plot.data[0];
    const last = times.length === 1 ? times[0] : high;
    return times.length === 1 || high - low < 60 ? [last - 3600, last] : [low, high];
  }

  // One scale for each unit: what is measured alike is compared by the same numbers
  function options(place, series) {
    const axis = axisOf();
    const scales = [...new Set(series.map((one) => one.scale))];
    const sides = scales.map((scale, number) => ({
      ...axis, scale, side: number % 2 ? 1 : 3, show: number < 2, grid: number ? { show: false } : axis.grid,
      label: series.length > 1 && scale.length > 1 ? scale.slice(1) : undefined,
    }));
    return {
      width: place.clientWidth,
      height: 240,
      cursor: { drag: { x: true, y: false }, sync: { key: "readings" } },
      scales: { x: { range: spanned } },
      axes: [{ ...axis, values: TIMES }, ...sides],
      series: [{ label: place.dataset.time, value: `${YEAR}-${DAY} ${CLOCK}` }, ...series],
    };
  }

  function dataOf(place) {
    return [JSON.parse(place.dataset.times), JSON.parse(place.dataset.values)];
  }

  function draw() {
    const every = [...document.querySelectorAll(".plot[data-times]")];
    const together = document.querySelector(".plot[data-together]");
    if (together) {
      together.replaceChildren();
      const data = uPlot.join(every.map(dataOf), every.map(() => [2, 2]));
      const series = every.map((place, number) => ({ ...seriesOf(place, number), spanGaps: true }));
      plots.push([together, new uPlot(options(together, series), data, together)]);
    }
    for (const place of every) {
      place.replaceChildren();
      plots.push([place, new uPlot(options(place, [seriesOf(place, 0)]), dataOf(place), place)]);
    }
  }

  window.addEventListener("DOMContentLoaded", draw);
  window.addEventListener("resize", () => {
    for (const [place, plot] of plots) plot.setSize({ width: place.clientWidth, height: 240 });
  });
  window.matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    plots.splice(0).forEach(([, plot]) => plot.destroy());
    draw();
  });
})();
