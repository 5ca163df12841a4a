// Lists in THIRD-PARTY.md what the bundle carries and under which licence: the Rust crates
// linked into the wasm, and the npm packages bundled into the page. `--check` only compares.
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import path from "node:path";

process.chdir(path.join(import.meta.dirname, ".."));

const metadata = JSON.parse(execFileSync("cargo", ["metadata", "--format-version", "1", "--locked",
  "--filter-platform", "wasm32-unknown-unknown"], { maxBuffer: 1 << 28 }));
const packages = new Map(metadata.packages.map((p) => [p.id, p]));
const nodes = new Map(metadata.resolve.nodes.map((n) => [n.id, n]));
const linked = new Set();
const todo = [metadata.resolve.root];
while (todo.length > 0) {
  const id = todo.pop();
  if (linked.has(id)) continue;
  linked.add(id);
  for (const dependency of nodes.get(id).deps) {
    const normal = dependency.dep_kinds.some((kind) => kind.kind === null);
    const macro = packages.get(dependency.pkg).targets.some((t) => t.kind.includes("proc-macro"));
    if (normal && !macro) todo.push(dependency.pkg);
  }
}
linked.delete(metadata.resolve.root);
const crates = [...linked].map((id) => packages.get(id)).sort((a, b) => a.name.localeCompare(b.name));

// What package.json calls dependencies is bundled, with what those need.
const npm = new Map();
const wanted = Object.keys(JSON.parse(readFileSync("package.json", "utf8")).dependencies ?? {});
while (wanted.length > 0) {
  const name = wanted.pop();
  if (npm.has(name)) continue;
  const about = JSON.parse(readFileSync(`node_modules/${name}/package.json`, "utf8"));
  npm.set(name, about);
  wanted.push(...Object.keys(about.dependencies ?? {}).filter((n) => !n.startsWith("@types/")));
}

const licenceText = (folder) => {
  const file = existsSync(folder) && readdirSync(folder).find((f) => /^licen[cs]e/i.test(f));
  return file ? readFileSync(path.join(folder, file), "utf8").trim() : null;
};

const lines = [
  "# Third-party software",
  "",
  "What `etscope.html` carries besides etscope itself. Made by `scripts/licences.mjs`.",
  "",
  "## Rust crates in the WebAssembly module",
  "",
  "| crate | licence |",
  "| --- | --- |",
  ...crates.map((c) => `| ${c.name} | ${c.license ?? "see its repository"} |`),
  "",
  "The Rust standard library is linked as well: MIT OR Apache-2.0.",
  "",
  "## npm packages in the page",
  "",
  "| package | licence |",
  "| --- | --- |",
  ...[...npm].sort((a, b) => a[0].localeCompare(b[0])).map(([name, p]) => `| ${name} | ${p.license} |`),
  "",
];
for (const [name] of [...npm].sort((a, b) => a[0].localeCompare(b[0]))) {
  const text = licenceText(`node_modules/${name}`);
  if (text) lines.push(`### ${name}`, "", "```text", text, "```", "");
}
const text = `${lines.join("\n").trimEnd()}\n`;
if (process.argv.includes("--check")) {
  const have = existsSync("THIRD-PARTY.md") ? readFileSync("THIRD-PARTY.md", "utf8") : "";
  if (have !== text) {
    console.error("THIRD-PARTY.md is out of date: run node scripts/licences.mjs");
    process.exit(1);
  }
  console.log(`THIRD-PARTY.md lists ${crates.length} crates and ${npm.size} packages`);
} else writeFileSync("THIRD-PARTY.md", text);
