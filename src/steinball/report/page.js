"use strict";
// The p-values, thresholds and verdicts of this page, counted from its draws as the library counts them.
(() => {
  const element = (id) => document.getElementById(id);
  const facts = JSON.parse(element("numbers").textContent);
  const floats = (text) => new Float64Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const dial = facts.dial, levels = facts.levels, own = { level: facts.level, tolerance: dial && dial.own };
  const now = { level: own.level, tolerance: own.tolerance };

  // How many of the rising values are below one, or not above it.
  const count = (values, value, equal) => {
    let low = 0, high = values.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (values[middle] < value || (equal && values[middle] === value)) low = middle + 1;
      else high = middle;
    }
    return low;
  };

  // The largest c with c / total <= level; calibration/base.py.
  const largestCount = (level, total) => {
    const found = Math.floor(level * total);
    if ((found + 1) / total <= level) return found + 1;
    return found / total > level ? found - 1 : found;
  };

  const place = (level, draws) => {
    const k = draws - largestCount(level, draws + 1);
    return k === draws ? null : k;
  };

  const quantile = (values, level, map) => {
    const k = place(level, values.length);
    return k === null ? Infinity : map(k);
  };

  // BootstrapNull: sorted draws.
  const plain = (sorted) => ({
    pvalue: (radius) => dial.distance <= radius ? 1
      : (1 + sorted.length - count(sorted, dial.distance - radius, false)) / (sorted.length + 1),
    threshold: (level) => quantile(sorted, level, (k) => sorted[k] < 0 ? Infinity : sorted[k]),
  });

  // BoundaryNull: the radius at which each draw reaches D, and the draws at every radius.
  const edge = (reaches, lengths, along) => ({
    pvalue: (radius) => dial.distance <= radius ? 1 : (1 + count(reaches, radius, true)) / (reaches.length + 1),
    threshold: (level, radius) => quantile(lengths, level, (k) => {
      const moved = lengths.map((a, i) => Math.sqrt(a * a + radius * Math.max(0, radius + 2 * along[i])));
      return Math.max(0, moved.sort()[k] - radius);
    }),
  });

  // No draws, or too many of them: a row for every position of the slider.
  const table = (pvalues) => ({
    pvalue: (radius, tolerance) => pvalues[Math.min(pvalues.length - 1, Math.round(tolerance / dial.step))],
    threshold: null,
  });

  const stored = facts.null || {};
  const null_ = stored.reaches ? edge(floats(stored.reaches), floats(stored.lengths), floats(stored.along))
    : stored.sorted ? plain(floats(stored.sorted)) : stored.pvalues ? table(stored.pvalues) : null;

  const radiusOf = (tolerance) => tolerance === own.tolerance ? dial.radius : tolerance * dial.scale;
  const upperOf = (level) => {
    const value = level === own.level ? levels.own : levels.upper[Math.round(level * 1000) - levels.first];
    return value === null || value === undefined ? Infinity : value;
  };

  // One setting, decided.
  const decide = (tolerance, level) => {
    if (!null_) {
      const rejected = facts.pvalue <= level;
      return { pvalue: facts.pvalue, threshold: null, statistic: null, rejected, word: rejected ? "rejected" : "not rejected" };
    }
    const radius = radiusOf(tolerance);
    const ours = tolerance === own.tolerance || tolerance === null;
    const pvalue = ours ? facts.pvalue : null_.pvalue(radius, tolerance);
    const threshold = null_.threshold ? null_.threshold(level, radius) : null;
    const statistic = null_.threshold ? Math.max(0, dial.distance - radius) : null;
    const rejected = pvalue <= level && (threshold === null || statistic > threshold);
    const close = dial.certain && radius > 0 && upperOf(level) <= radius;
    const zero = tolerance === 0 || (ours && facts.zero);
    const word = zero ? (rejected ? "rejected" : "not rejected") : rejected ? "misfit" : close ? "good enough" : "undecided";
    return { pvalue, threshold, statistic, rejected, word };
  };

  const short = (value) => value === null ? "–" : value === Infinity ? "none" : String(Number(value.toPrecision(4)));
  const share = (value) => `${Number((100 * value).toPrecision(3))} %`;
  const told = (tolerance) => tolerance === null ? "as tested" : dial.unit === "share" ? share(tolerance) : short(tolerance);
  const kinds = { misfit: "misfit", rejected: "misfit", "good enough": "good" };

  // The first tolerance of a rising sequence at which something holds.
  const begin = (there, end) => {
    if (there(0)) return 0;
    if (!there(end)) return end;
    let low = 0, high = end;
    for (let k = 0; k < 40; k++) {
      const middle = (low + high) / 2;
      if (there(middle)) high = middle; else low = middle;
    }
    return high;
  };

  const drawZones = (level) => {
    const [left, right] = dial.frame, across = (t) => left + (t / dial.end) * (right - left);
    const first = begin((t) => !decide(t, level).rejected, dial.end);
    const second = Math.max(first, begin((t) => decide(t, level).word === "good enough", dial.end));
    const ends = [0, first, second, dial.end].map(across);
    for (let k = 0; k < 3; k++) {
      const zone = element(`zone-${k}`), name = element(`zone-${k}-name`), width = ends[k + 1] - ends[k];
      zone.setAttribute("x", ends[k]);
      zone.setAttribute("width", Math.max(0, width));
      name.setAttribute("x", (ends[k] + ends[k + 1]) / 2);
      name.setAttribute("class", width < 62 ? "faint" : "");
    }
  };

  const drawMarks = (answer) => {
    const [left, right, top, bottom] = dial.frame, up = (p) => bottom - p * (bottom - top);
    element("level-line").setAttribute("d", `M${left} ${up(now.level)}H${right}`);
    element("level-name").setAttribute("y", up(now.level) - 5);
    element("level-name").textContent = `level ${short(now.level)}`;
    if (now.tolerance === null) return;
    const at = left + (Math.min(now.tolerance, dial.end) / dial.end) * (right - left);
    element("own-line").setAttribute("d", `M${at} ${top}V${bottom}`);
    element("own-dot").setAttribute("cx", at);
    element("own-dot").setAttribute("cy", up(answer.pvalue));
  };

  const show = () => {
    const answer = decide(now.tolerance, now.level), verdict = element("verdict");
    verdict.textContent = answer.word.toUpperCase();
    verdict.className = `chip ${kinds[answer.word] || "undecided"}`;
    element("pvalue").textContent = short(answer.pvalue);
    if (element("threshold")) element("threshold").textContent = short(answer.threshold);
    if (element("statistic")) element("statistic").textContent = short(answer.statistic);
    if (element("tolerance-now")) element("tolerance-now").textContent = told(now.tolerance);
    element("level-now").textContent = short(now.level);
    element("back").hidden = now.level === own.level && now.tolerance === own.tolerance;
    if (dial) {
      drawZones(now.level);
      drawMarks(answer);
    }
  };

  const listen = (name) => {
    const slider = element(name);
    if (slider) slider.addEventListener("input", () => { now[name] = Number(slider.value); show(); });
    return slider;
  };
  const sliders = { tolerance: listen("tolerance"), level: listen("level") };
  element("back").addEventListener("click", () => {
    Object.assign(now, own);
    for (const [name, slider] of Object.entries(sliders)) if (slider && own[name] !== null) slider.value = own[name];
    show();
  });
  show();
  element("live").hidden = false;
})();
