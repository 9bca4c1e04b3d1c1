import { theme } from '../html/theme.ts';

/** CSS of the console. All digits have the same width, so that numbers in columns align. */
export const style = `${theme}
:root { --good: #17724a; --warn: #855c00; --bad: #b42525; --good-bg: #e6f4ec; --warn-bg: #fbf1d9; --bad-bg: #fbe9e9; }
@media (prefers-color-scheme: dark) { :root {
  --good: #5ccf98; --warn: #e5b95c; --bad: #ff8f8f; --good-bg: #12301f; --warn-bg: #35290e; --bad-bg: #3a1a1c; } }
[hidden] { display: none !important; }
body { font-variant-numeric: tabular-nums; }
header.top { background: var(--card); border-bottom: 1px solid var(--edge); }
header.top > div { max-width: 76rem; margin: 0 auto; padding: .625rem 1.25rem; display: flex; flex-wrap: wrap;
  align-items: center; gap: .375rem 1.25rem; }
.brand { font-weight: 700; letter-spacing: -.01em; color: var(--text); }
.brand small { font-weight: 500; font-size: inherit; color: var(--soft); }
nav.main { order: 1; display: flex; flex-wrap: wrap; gap: .125rem; flex: 1 0 100%; margin-left: -.625rem; }
header.top form[role=search] { margin-left: auto; }
header.top .user { margin-left: auto; display: flex; align-items: center; gap: .75rem; }
header.top form + .user { margin-left: 0; }
nav.main a { color: var(--soft); padding: .3125rem .625rem; border-radius: .375rem; font-weight: 500; }
nav.main a:hover { background: var(--hover); text-decoration: none; }
nav.main a[aria-current] { color: var(--text); background: var(--rest); }
main { max-width: 76rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.5rem; line-height: 1.25; letter-spacing: -.015em; margin: 0; overflow-wrap: anywhere; }
h2 { font-size: 1rem; line-height: 1.4; margin: 0; letter-spacing: -.005em; }
h3 { font-size: .9375rem; margin: 0; overflow-wrap: anywhere; }
p { margin: .5rem 0; }
.note { color: var(--soft); }
.note { font-size: .875rem; }
.title { display: flex; flex-wrap: wrap; gap: .5rem 1rem; align-items: center; margin-bottom: 1.25rem; }
.title .acts { margin-left: auto; }
.acts { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
.acts form { margin: 0; }
section { background: var(--card); border: 1px solid var(--edge); border-radius: .625rem; margin: 0 0 1rem;
  padding: 1rem 1.125rem; min-width: 0; }
section > header { display: flex; flex-wrap: wrap; gap: .25rem .75rem; align-items: baseline; margin-bottom: .625rem; }
section > header a:last-child, section > header .acts { margin-left: auto; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 0 1rem; align-items: start; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(7.5rem, 1fr)); gap: .75rem 1.25rem; margin: 0; }
.figures dt { color: var(--soft); font-size: .8125rem; }
.figures small { font-size: .875rem; font-weight: 400; letter-spacing: 0; }
.figures dd { margin: 0; font-size: 1.25rem; font-weight: 600; letter-spacing: -.01em; overflow-wrap: anywhere; }
.facts { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .25rem 1.25rem; margin: 0; }
.figures + .facts { margin-top: .875rem; }
.facts dt { color: var(--soft); }
.facts dd { margin: 0; overflow-wrap: anywhere; }
.wide { overflow-x: auto; margin: 0 -1.125rem -0.5rem; }
table { border-collapse: collapse; width: 100%; }
th, td { text-align: left; vertical-align: middle; padding: .4375rem .625rem; border-top: 1px solid var(--edge); }
th:first-child, td:first-child { padding-left: 1.125rem; }
th:last-child, td:last-child { padding-right: 1.125rem; }
th { font-size: .8125rem; font-weight: 500; color: var(--soft); border-top: 0; white-space: nowrap; }
td { overflow-wrap: break-word; }
td code { overflow-wrap: anywhere; }
td.acting { text-align: right; } td.acting .acts { justify-content: flex-end; }
tbody tr:hover { background: var(--hover); }
.number { text-align: right; white-space: nowrap; }
time, .nowrap { white-space: nowrap; }
.state { display: inline-block; padding: 0 .5rem; border-radius: 1rem; font-size: .8125rem; line-height: 1.5rem;
  font-weight: 550; background: var(--rest); color: var(--soft); white-space: nowrap; }
.state.good { background: var(--good-bg); color: var(--good); }
.state.warn { background: var(--warn-bg); color: var(--warn); }
.state.bad { background: var(--bad-bg); color: var(--bad); }
.error { color: var(--bad); font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .8125rem;
  overflow-wrap: anywhere; margin: .25rem 0 .5rem; }
.error:empty { display: none; }
pre { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
label { display: inline-flex; gap: .5rem; align-items: center; color: var(--soft); }
button { padding: .3125rem .75rem; border: 1px solid var(--edge); border-radius: .375rem; background: var(--card);
  font-weight: 550; cursor: pointer; min-height: 2rem; }
button:hover { background: var(--hover); }
a.button { display: inline-block; padding: .3125rem .75rem; border: 1px solid var(--edge); border-radius: .375rem;
  background: var(--card); color: var(--text); font-weight: 550; }
a.button:hover { background: var(--hover); text-decoration: none; }
button.first { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
button.first:hover { filter: brightness(1.08); }
button.grave { color: var(--bad); }
button.plain, a.plain { color: var(--soft); }
button.plain { border: 0; background: none; color: var(--soft); padding: .3125rem .375rem; }
.said { background: var(--good-bg); color: var(--good); border: 0; font-weight: 550; }
.fault { background: var(--bad-bg); color: var(--bad); border: 0; }
.picture { display: block; max-width: 100%; height: auto; margin: 0 auto; }
.preview { width: 100%; height: 36rem; border: 1px solid var(--edge); border-radius: .375rem; background: #fff; }
ol.timeline { list-style: none; margin: 0; padding: 0; }
ol.timeline li { display: grid; grid-template-columns: 10.5rem 6.5rem 1fr; gap: .25rem .75rem; padding: .4375rem 0;
  border-top: 1px solid var(--edge); }
ol.timeline li:first-child { border-top: 0; }
.bar { height: .5rem; border-radius: .25rem; background: var(--rest); overflow: hidden; margin: .75rem 0; width: 100%; }
.bar rect { fill: var(--accent); }
.chart { display: block; width: 100%; height: 12rem; border-bottom: 1px solid var(--edge); }
.chart polyline { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke; stroke: var(--soft); }
.chart .opens { stroke: var(--accent); } .chart .clicks { stroke: var(--good); }
.legend { display: flex; flex-wrap: wrap; gap: 0 1.25rem; list-style: none; margin: .375rem 0 .75rem; padding: 0; color: var(--soft); }
.legend .opens { color: var(--accent); } .legend .clicks { color: var(--good); }
details.choice { position: relative; }
details.choice ul { position: absolute; z-index: 1; margin: .375rem 0 0; padding: .375rem; list-style: none; background: var(--card);
  border: 1px solid var(--edge); border-radius: .5rem; min-width: 12rem; max-height: 60vh; overflow-y: auto; }
details.choice li a { display: block; padding: .25rem .5rem; border-radius: .25rem; }
details.choice li a:hover { background: var(--hover); }
fieldset { border: 1px solid var(--edge); border-radius: .375rem; margin: 0; padding: .5rem 1.125rem; min-width: 0; }
.fields { display: grid; gap: .75rem; max-width: 46rem; margin-bottom: 1rem; }
.fields > label { display: block; }
.fields > label > * { display: block; width: 100%; margin-top: .25rem; color: var(--text); }
.fields fieldset .wide { max-height: 24rem; overflow-y: auto; }
textarea { font: inherit; padding: .3125rem .625rem; border: 1px solid var(--edge); border-radius: .375rem; background: var(--page); }
details summary { cursor: pointer; color: var(--soft); }
form.fields { max-width: 22rem; } form.fields button { justify-self: start; }
.qr svg { display: block; width: 14rem; max-width: 100%; background: #fff; border-radius: .375rem; }
section > .acts { margin-top: .75rem; }
main.narrow { max-width: 26rem; padding-top: 12vh; }
main.narrow h1 { margin-bottom: 1rem; }
main.narrow label { display: block; margin-bottom: 1rem; }
main.narrow input { display: block; width: 100%; margin-top: .25rem; padding: .5rem .75rem; color: var(--text); }
@media (max-width: 40rem) {
  header.top > div { padding: .5rem .75rem; }
  nav.main { flex-wrap: nowrap; overflow-x: auto; margin: 0 -.25rem; }
  header.top form[role=search] { flex: 1; order: 2; } header.top form[role=search] input { width: 100%; }
  main { padding: 1rem .75rem 3rem; }
  section { padding: .875rem; border-radius: .5rem; }
  .wide { margin: 0 -.875rem -.375rem; }
  ol.timeline li { grid-template-columns: auto 1fr; }
  ol.timeline li > :last-child { grid-column: 1 / -1; }
  .title .acts { margin-left: 0; }
  button { min-height: 2.5rem; }
  table.people tr { display: flex; flex-wrap: wrap; gap: .25rem 1rem; padding: .625rem .875rem; border-top: 1px solid var(--edge); }
  table.people td { padding: 0; border: 0; } table.people td:first-child { flex: 1 0 100%; font-weight: 500; }
  th:first-child, td:first-child { padding-left: .875rem; } th:last-child, td:last-child { padding-right: .875rem; }
}
`;
