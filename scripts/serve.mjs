// Serves dist/hosted on loopback and opens it on the sample, where there is a display.
import { spawn } from "node:child_process";
import { createReadStream, existsSync, statSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";

const root = path.join(import.meta.dirname, "..", "dist", "hosted");
const types = { ".html": "text/html; charset=utf-8", ".js": "text/javascript", ".css": "text/css",
  ".wasm": "application/wasm", ".json": "application/json" };

const server = createServer((request, response) => {
  const url = new URL(request.url ?? "/", "http://localhost");
  const file = path.join(root, path.normalize(url.pathname === "/" ? "/index.html" : decodeURIComponent(url.pathname)));
  if (!file.startsWith(root + path.sep) || !existsSync(file) || !statSync(file).isFile()) {
    response.writeHead(404).end("not found");
    return;
  }
  response.writeHead(200, { "content-type": types[path.extname(file)] ?? "application/octet-stream", "cache-control": "no-store" });
  createReadStream(file).pipe(response);
});

const listen = (port) => server.listen(port, "127.0.0.1");
server.on("error", (error) => {
  if (error.code === "EADDRINUSE") listen(0);
  else throw error;
});
server.on("listening", () => {
  const url = `http://127.0.0.1:${server.address().port}/#sample=gap_xnnpack`;
  console.log(`\nself-contained page: ${path.resolve(root, "..", "etscope.html")}`);
  console.log(`hosted page:         ${url}\n(stop with Ctrl-C)`);
  const opener = process.platform === "darwin" ? "open" : "xdg-open";
  if (process.env.DISPLAY || process.env.WAYLAND_DISPLAY || process.platform === "darwin") {
    spawn(opener, [url], { stdio: "ignore", detached: true }).on("error", () => {}).unref();
  }
});
listen(Number(process.env.PORT ?? 8817));
