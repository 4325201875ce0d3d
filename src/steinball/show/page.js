"use strict";
// The p-values and verdicts of this page, from the tables that the library wrote.
(() => {
  const element = (id) => document.getElementById(id);
  const facts = JSON.parse(element("numbers").textContent);
  const slider = facts.slider, levels = facts.levels, own = { level: facts.level, tolerance: slider && slider.own };
  const now = { level: own.level, tolerance: own.tolerance };

  // Where the sliders stand, in the tables that the library wrote; the numbers of the test itself stand apart.
  const place = (tolerance) => Math.min(slider.pvalues.length - 1, Math.round(tolerance / slider.step));
  const row = (level) => level === own.level ? levels.upper.length - 1 : Math.round(level * 1000) - levels.first;

  // One setting, decided: evidence/base.py, three_way_verdict.
  const decide = (tolerance, level) => {
    const k = row(level), ours = !slider || tolerance === own.tolerance;
    const pvalue = ours ? facts.pvalue : slider.pvalues[place(tolerance)];
    const rejected = pvalue <= level && levels.decidable[k];
    const plain = rejected ? "rejected" : "not rejected";
    if (!slider) return { pvalue, rejected, word: facts.zero ? plain : rejected ? "misfit" : "undecided" };
    const limit = ours ? slider.limit : slider.limits[place(tolerance)];
    const close = limit > 0 && levels.upper[k] <= limit;
    const word = tolerance === 0 || (ours && facts.zero) ? plain : rejected ? "misfit" : close ? slider.close : "undecided";
    return { pvalue, rejected, word };
  };

  const short = (value) => String(Number(value.toPrecision(4)));
  const share = (value) => `${Number((100 * value).toPrecision(3))} %`;
  const told = (tolerance) => slider.percent ? share(tolerance) : short(tolerance);

  // The first position of the slider for the tolerance at which something holds.
  const begin = (there) => {
    for (let k = 0; k < slider.pvalues.length; k++) if (there(k * slider.step)) return Math.min(k * slider.step, slider.end);
    return slider.end;
  };

  const drawZones = (level) => {
    const [left, right] = slider.frame, across = (t) => left + (t / slider.end) * (right - left);
    const first = begin((t) => !decide(t, level).rejected);
    const second = Math.max(first, begin((t) => decide(t, level).word === slider.close));
    const ends = [0, first, second, slider.end].map(across);
    for (let k = 0; k < 3; k++) {
      element(`zone-${k}`).setAttribute("x", ends[k]);
      element(`zone-${k}`).setAttribute("width", Math.max(0, ends[k + 1] - ends[k]));
    }
  };

  const drawMarks = (answer) => {
    const [left, right, top, bottom] = slider.frame, up = (p) => bottom - p * (bottom - top);
    element("level-line").setAttribute("d", `M${left} ${up(now.level)}H${right}`);
    element("level-name").setAttribute("y", up(now.level) - 5);
    element("level-name").textContent = `level ${short(now.level)}`;
    const at = left + (Math.min(now.tolerance, slider.end) / slider.end) * (right - left);
    element("own-line").setAttribute("d", `M${at} ${top}V${bottom}`);
    const dot = element("own-dot").firstChild;
    dot.setAttribute("cx", at);
    dot.setAttribute("cy", up(answer.pvalue));
  };

  const show = () => {
    const answer = decide(now.tolerance, now.level), verdict = element("verdict");
    verdict.textContent = verdict.dataset.verdict = answer.word.toUpperCase();
    element("pvalue").textContent = short(answer.pvalue);
    if (slider) element("tolerance-now").textContent = told(now.tolerance);
    element("level-now").textContent = short(now.level);
    element("back").hidden = now.level === own.level && now.tolerance === own.tolerance;
    if (slider) {
      drawZones(now.level);
      drawMarks(answer);
    }
  };

  const ends = { level: { min: levels.first / 1000, max: (levels.first + levels.upper.length - 2) / 1000, step: 0.001 } };
  if (slider) {
    ends.tolerance = { min: 0, max: slider.most, step: slider.step };
    element("tolerance-name").textContent = slider.label;
  } else {
    element("tolerance").parentNode.remove();
    element("choosing").textContent = "The level has to be chosen before the data are seen.";
  }
  for (const name in ends) {
    const input = Object.assign(element(name), ends[name], { value: own[name] });
    input.addEventListener("input", () => { now[name] = Number(input.value); show(); });
  }
  element("back").addEventListener("click", () => {
    Object.assign(now, own);
    for (const name in ends) element(name).value = own[name];
    show();
  });
  show();
  element("live").hidden = false;
})();
