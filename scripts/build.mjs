// Builds both flavours of the page: dist/etscope.html, self-contained, and dist/hosted/.
// `--fast` skips the Rust build when build/wasm is there, for work on the page.
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import path from "node:path";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";
import { settings } from "./settings.mjs";

process.chdir(path.join(import.meta.dirname, ".."));
const { build, budget } = settings();
const wasmFile = path.join(build["out-dir"], "etscope_bg.wasm");
const run = (command, args, env = {}) =>
  execFileSync(command, args, { stdio: ["ignore", "inherit", "inherit"], env: { ...process.env, ...env } });

function buildWasm() {
  const env = { RUSTFLAGS: build.rustflags, CARGO_TARGET_DIR: path.resolve("target/wasm") };
  // A compiler of the standard path may differ from Debian's: see scripts/setup.sh.
  if (readFileSync("build/toolchain", "utf8").trim() === "debian") {
    Object.assign(env, {
      PATH: `/usr/bin:${process.env.PATH}`,
      RUSTC: "/usr/bin/rustc",
      CARGO: "/usr/bin/cargo",
      CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER: "wasm-ld",
    });
  }
  run("wasm-pack", ["build", ".", "--mode", "no-install", "--no-opt", "--no-pack", "--target", build.target,
    "--release", "--out-dir", build["out-dir"], "--out-name", "etscope"], env);
  run("node_modules/.bin/wasm-opt", [...build["wasm-opt"].split(" "), wasmFile, "-o", wasmFile]);
}

const bundle = async (options) => {
  const result = await esbuild.build({
    bundle: true, write: false, minify: true, target: "es2022", legalComments: "none", logLevel: "warning", ...options,
  });
  return result.outputFiles[0].text;
};

// Text inside a script element must not end it, nor open a comment.
const inert = (text) => text.replaceAll("</script", "<\\/script").replaceAll("<!--", "<\\!--");
const sha = (text) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;

function samples() {
  const list = JSON.parse(readFileSync("www/samples/samples.json", "utf8"));
  return list.map((sample) => ({
    ...sample,
    files: sample.files.map((name) => ({ name, bytes: readFileSync(path.join("www/samples", name)) })),
  }));
}

async function main() {
  if (!process.argv.includes("--fast") || !existsSync(wasmFile)) buildWasm();
  const define = (flavour) => ({ FLAVOUR: JSON.stringify(flavour) });
  const script = (flavour) =>
    bundle({ entryPoints: ["www/src/main.ts"], format: "iife", define: define(flavour) });
  // The glue's own way of finding the wasm is never taken: the page hands it over.
  const worker = await bundle({
    entryPoints: ["www/src/worker/worker.ts"], format: "iife", define: { "import.meta.url": '""' },
  });
  const css = await bundle({ entryPoints: ["www/styles/main.css"], loader: { ".css": "css" } });
  const template = readFileSync("www/index.html", "utf8");
  const page = (head, scripts) =>
    template.replace("<!-- etscope:head -->", () => head).replace("<!-- etscope:scripts -->", () => scripts);
  const wasm = readFileSync(wasmFile);

  rmSync("dist", { recursive: true, force: true });
  mkdirSync("dist/hosted/samples", { recursive: true });

  const inline = inert(await script("self-contained"));
  const policy = (script, connect) => [
    "default-src 'none'", `script-src ${script} 'wasm-unsafe-eval'`, `worker-src ${connect === "'none'" ? "blob:" : "'self' blob:"}`,
    `style-src ${connect === "'none'" ? "'unsafe-inline'" : "'self' 'unsafe-inline'"}`, "img-src data: blob:", `connect-src ${connect}`,
    "base-uri 'none'", "form-action 'none'",
  ].join("; ");
  const meta = (content) => `<meta http-equiv="Content-Security-Policy" content="${content}">`;
  const carried = samples();
  const data = carried.map((sample) => JSON.stringify({
    ...sample, files: sample.files.map((f) => ({ name: f.name, base64: gzipSync(f.bytes, { level: 9 }).toString("base64") })),
  }));
  const html = page(
    `${meta(policy(sha(inline), "'none'"))}\n<style>${css}</style>`,
    [
      `<script type="text/plain" id="etscope-worker">${inert(worker)}</script>`,
      `<script type="text/plain" id="etscope-wasm">${gzipSync(wasm, { level: 9 }).toString("base64")}</script>`,
      `<script type="application/json" id="etscope-samples">${inert(`[${data.join(",")}]`)}</script>`,
      `<script>${inline}</script>`,
    ].join("\n"),
  );
  writeFileSync("dist/etscope.html", html);

  writeFileSync("dist/hosted/etscope.js", await script("hosted"));
  writeFileSync("dist/hosted/worker.js", worker);
  writeFileSync("dist/hosted/etscope.css", css);
  writeFileSync("dist/hosted/etscope.wasm", wasm);
  cpSync("www/samples", "dist/hosted/samples", { recursive: true });
  writeFileSync("dist/hosted/index.html", page(
    `${meta(policy("'self'", "'self'"))}\n<link rel="stylesheet" href="etscope.css">`,
    `<script src="etscope.js"></script>`,
  ));

  const sizes = { "wasm, gzipped": [gzipSync(wasm, { level: 9 }).length, budget["wasm-gzip"]],
    "etscope.html": [Buffer.byteLength(html), budget.html] };
  let over = false;
  for (const [what, [bytes, most]] of Object.entries(sizes)) {
    console.log(`${what}: ${bytes} bytes of at most ${most}`);
    over ||= bytes > most;
  }
  if (over) throw new Error("the build is over its size budget, see wasm-pack.toml");
  console.log(`built ${path.resolve("dist/etscope.html")} and dist/hosted/ (${readdirSync("dist/hosted").length} entries)`);
}

main().catch((error) => {
  console.error(error.message);
  process.exit(1);
});
