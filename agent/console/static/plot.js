// Curves of readings: zoomed by dragging, in the page's own colours, light and dark.
(() => {
  "use strict";
  const plots = [];

  function colour(name) {
    return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  }

  function options(place) {
    const axis = { stroke: colour("--soft"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } };
    const series = { label: place.dataset.name, stroke: colour("--accent"), width: 2, spanGaps: false };
    if (place.dataset.steps) series.paths = uPlot.paths.stepped({ align: 1 });
    return {
      width: place.clientWidth,
      height: 240,
      cursor: { drag: { x: true, y: false }, sync: { key: "readings" } },
      scales: { x: { range: (_, low, high) => (high - low < 60 ? [high - 3600, high] : [low, high]) } },
      axes: [axis, axis],
      series: [{}, series],
    };
  }

  function draw() {
    for (const place of document.querySelectorAll(".plot")) {
      const data = [JSON.parse(place.dataset.times), JSON.parse(place.dataset.values)];
      place.replaceChildren();
      plots.push([place, new uPlot(options(place), data, place)]);
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
