// Names that are markup, turn the direction of writing, break the line or never end: they are
// text, in every view, and leave the page as it is.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { fixture, launch, openFiles, openPage } from "./browser.mjs";
import { unzip, zip } from "./zip.mjs";

const MARKUP = `<img src=x onerror="document.title='owned'"><script>document.title='owned'</script>`;
const RTL = "\u202egpj.exe\u2067 \u05d0\u05d1";
const LINES = "one\ntwo\r\n\tthree\u0000\u001b[31m";
const LONG = `long${"L".repeat(100_000)}`;

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

/** A record whose nodes, ops, modules, traces and method bear these names. */
function record() {
  const entries = unzip(readFileSync(fixture("tiny_cnn.etrecord")));
  const key = "edge_dialect_exported_program/forward";
  let text = entries.get(key).toString();
  const rename = (from, to) => {
    assert.ok(text.includes(JSON.stringify(from)), from);
    text = text.replaceAll(JSON.stringify(from), JSON.stringify(to));
  };
  rename("aten_convolution_default", MARKUP);
  rename("aten_relu_default", LONG);
  rename("aten_avg_pool2d_default", LINES);
  rename("aten_permute_copy_default", RTL);
  const program = JSON.parse(text);
  const hostile = [MARKUP, LONG, LINES, RTL];
  program.graph_module.graph.nodes.forEach((node, i) => {
    const name = hostile[i % 4];
    const plain = name.replaceAll(/[,;]/g, "");
    node.metadata.nn_module_stack = `L__self__,,${plain};L__self__x,${plain},a.b.${plain}`;
    node.metadata.stack_trace = name;
    node.metadata.from_node = JSON.stringify([{ name, target: name, graph_id: 1, pass_name: name, action: [name] }]);
    node.metadata[name] = name;
    if (i % 2) node.target = name;
  });
  entries.set(key, Buffer.from(JSON.stringify(program)));
  const maps = { debug_handle_map: { [MARKUP]: JSON.parse(entries.get("debug_handle_map")).forward }, delegate_map: { [MARKUP]: {} }, instruction_id_to_num_outs_map: { [MARKUP]: {} } };
  for (const [name, map] of Object.entries(maps)) entries.set(name, Buffer.from(JSON.stringify(map)));
  return zip(entries);
}

/** A dump whose events bear such names, in the bytes that theirs had. */
function dump() {
  const bytes = Buffer.from(readFileSync(fixture("tiny_cnn.etdp")));
  const replace = (from, to) => {
    const at = bytes.indexOf(from);
    assert.ok(at > 0 && Buffer.byteLength(to) <= from.length, from);
    bytes.write(to.padEnd(from.length, "!"), at);
  };
  replace("native_call_permute_copy.out", "<img src=x onerror=alert(1)>");
  replace("native_call_avg_pool2d.out", "a\nb\u202ec</text><svg>");
  replace("Program::load_method", "<b>load</b>&lt;");
  return bytes;
}

for (const [viewport, colorScheme] of [[{ width: 1440, height: 900 }, "light"], [{ width: 390, height: 844 }, "dark"]]) {
  test(`hostile names are text, at ${String(viewport.width)} pixels`, async (t) => {
    const { page, trouble, close } = await openPage(browser, { viewport, colorScheme });
    t.after(close);
    const title = await page.title();
    const tidy = async (where) => {
      const seen = await page.evaluate(() => ({
        title: document.title,
        foreign: [...document.querySelectorAll("img, [onerror], svg svg, script")].filter((e) => e.tagName !== "SCRIPT" || e.textContent.length < 60).map((e) => e.outerHTML.slice(0, 80)),
        wide: document.documentElement.scrollWidth - innerWidth,
        tall: document.documentElement.scrollHeight - innerHeight,
      }));
      assert.deepEqual(seen, { title, foreign: [], wide: 0, tall: 0 }, where);
    };
    const file = (name, buffer) => ({ name, mimeType: "application/octet-stream", buffer });
    await openFiles(page, file(`${MARKUP}.etrecord`, record()), file(`${RTL}${"n".repeat(300)}.etdp`, dump()));
    await tidy("first view");
    const shown = [];
    for (const grouping of ["flat", "delegate", "module"]) {
      await page.getByTestId(`grouping-${grouping}`).click();
      await page.waitForTimeout(200);
      await tidy(grouping);
      const labels = page.locator("g[data-item] .label");
      for (let i = 0; i < (await labels.count()); i++) {
        await labels.nth(i).click({ timeout: 500 }).catch(() => undefined); // it may be off the screen
        await page.waitForTimeout(60);
        shown.push(await page.locator("body").innerText());
        await tidy(`${grouping} ${String(i)}`);
      }
    }
    await page.getByTestId("on-graph").click();
    await tidy("off the graph");
    await page.getByTestId("tab-events").click();
    await page.getByTestId("event-table").waitFor();
    await tidy("events");
    shown.push(await page.locator("body").innerText());
    const all = shown.join("\n");
    for (const text of ["<img src=x onerror=\"document.title='owned'\">", "<img src=x onerror=alert(1)>", "LLLLL"]) {
      assert.ok(all.includes(text), text);
    }
    assert.deepEqual(trouble, []);
  });
}
