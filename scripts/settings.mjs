// Reads wasm-pack.toml: sections, strings and whole numbers, which is all it holds.
import { readFileSync } from "node:fs";

export function settings(path = "wasm-pack.toml") {
  const out = {};
  let section = out;
  for (const line of readFileSync(path, "utf8").split("\n")) {
    const head = /^\[(.+)\]$/.exec(line.trim());
    const pair = /^([\w-]+) = (?:"(.*)"|(\d+))$/.exec(line.trim());
    if (head) section = out[head[1]] ??= {};
    else if (pair) section[pair[1]] = pair[2] ?? Number(pair[3]);
  }
  return out;
}
