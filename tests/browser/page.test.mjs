// The self-contained page as a user meets it: opened from file://, files chosen or dropped,
// figures read from the document. Nothing may leave the page.
import assert from "node:assert/strict";
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, test } from "node:test";
import { corpus, fixture, launch, openFiles, openPage, ticks } from "./browser.mjs";

let browser;
let scratch;
before(async () => {
  browser = await launch();
  scratch = mkdtempSync(path.join(tmpdir(), "etscope-"));
});
after(async () => {
  await browser.close();
  rmSync(scratch, { recursive: true, force: true });
});

/** Runs a test on a fresh page; it fails on anything that went wrong there. */
const onPage = (name, body, options) =>
  test(name, async () => {
    const { page, trouble, close } = await openPage(browser, options);
    try {
      await body(page, trouble);
      assert.deepEqual(trouble, []);
    } finally {
      await close();
    }
  });

const items = (page) => page.locator("g[data-item]").count();

const pairs = [
  ["opt125m_portable.etrecord", "opt125m_portable_figures.etdp", { execute: 9_082_182_138, delegate: 0 }],
  ["opt125m_xnnpack.etrecord", "opt125m_xnnpack_figures.etdp", { execute: 125_200_292, delegate: 116_700_000 }],
  ["mobilenetv2_fp32_ethosu.etrecord", "mobilenetv2_fp32_ethosu.etdp", { execute: 394_945_008, delegate: 0 }],
  ["mobilenetv2_int8_ethosu.etrecord", "mobilenetv2_int8_ethosu.etdp", { execute: 6_589_965, delegate: 96_900 }],
  ["mobilenetv2_lrn_int8_ethosu.etrecord", "mobilenetv2_lrn_int8_ethosu.etdp", { execute: 1_699_996_463, delegate: 152_000 }],
];
for (const [record, dump, figures] of pairs) {
  onPage(`${record} with ${dump} shows the published figures`, async (page) => {
    await openFiles(page, record, dump);
    assert.equal(await ticks(page, "execute"), figures.execute);
    assert.equal(await ticks(page, "split-delegate"), figures.delegate);
    const parts = ["split-native", "split-delegate", "split-framework-tax", "split-rest"];
    let sum = 0;
    for (const part of parts) sum += await ticks(page, part);
    assert.equal(sum, figures.execute);
    assert.equal(Number(await page.getByTestId("fit").getAttribute("data-fit")), 1);
    assert.ok((await items(page)) > 8);
    const outside = await page.evaluate(() => {
      const stage = document.querySelector("svg.graph").getBoundingClientRect();
      return [...document.querySelectorAll("g[data-item]")].filter((item) => {
        const box = item.querySelector(".box").getBoundingClientRect();
        return box.left < stage.left || box.right > stage.right;
      }).map((item) => item.dataset.label);
    });
    assert.deepEqual(outside, [], "the first view is not wider than the screen");
    assert.ok((await page.locator("g[data-item] .value").count()) > 3);
    assert.ok(await page.getByTestId("legend").isVisible());
    assert.equal(await page.getByTestId("banner").count(), 0);
  });
}

onPage("on a phone nothing but the toolbar is wider than the screen", async (page) => {
  await openFiles(page, "opt125m_xnnpack.etrecord", "opt125m_xnnpack_figures.etdp");
  const wide = await page.evaluate(() => [...document.querySelectorAll("#etscope *")]
    .filter((e) => !e.closest("svg, .toolbar, .names > *") && e.getBoundingClientRect().right > innerWidth + 1).map((e) => `${e.tagName}.${e.className}`));
  assert.deepEqual(wide, []);
}, { viewport: { width: 390, height: 844 } });

onPage("grouping, metric and time scale can be chosen", async (page) => {
  await openFiles(page, "opt125m_xnnpack.etrecord", "opt125m_xnnpack_figures.etdp");
  await page.getByTestId("grouping-delegate").click();
  const partition = page.locator('g[data-item][data-label^="partition "]').first();
  await partition.waitFor();
  await partition.locator(".label").click();
  await page.getByTestId("panel").getByText("XnnpackBackend").first().waitFor();
  await page.getByTestId("panel").getByText("DELEGATE_CALL").first().waitFor();
  await page.getByTestId("grouping-flat").click();
  await page.waitForFunction(() => document.querySelectorAll('g[data-kind="closed"], g[data-kind="open"]').length === 0);
  await page.getByTestId("grouping-module").click();
  await page.locator('g[data-kind="open"][data-label="model"]').waitFor();
  const model = page.locator('g[data-kind="open"][data-label="model"]');
  const average = Number(await model.getAttribute("data-ticks"));
  await page.getByTestId("metric-select").selectOption("share");
  await page.waitForFunction((avg) => Number(document.querySelector('g[data-label="model"]')?.getAttribute("data-ticks")) < 1 && avg > 1, average);
  assert.ok(Math.abs(Number(await model.getAttribute("data-ticks")) - average / 125_200_292) < 1e-9);
  await page.getByTestId("scale-select").selectOption("cycles");
  await page.waitForFunction(() => document.querySelector('[data-testid="execute"]')?.textContent === "125 Mcyc");
  await page.getByTestId("scale-select").selectOption("cycles-at");
  await page.getByTestId("clock-hz").fill("500");
  await page.getByTestId("clock-hz").press("Enter");
  await page.waitForFunction(() => document.querySelector('[data-testid="execute"]')?.textContent === "250 ms");
});

onPage("the ops of a delegate are estimated on its nodes, and can be left out", async (page) => {
  await openFiles(page, "mv2_xnnpack.etrecord", "mv2_xnnpack.etdp");
  const group = page.locator('g[data-label="features"]');
  const value = () => group.locator(".value").first().textContent();
  const estimated = Number(await group.getAttribute("data-ticks"));
  assert.match(await value(), /^≈ /);
  assert.match(await group.getAttribute("aria-label"), /estimated/);
  await page.getByTestId("legend").getByText("estimated").waitFor();
  await group.locator(".label").first().click();
  await page.getByTestId("panel").getByText("estimated by kind and order").waitFor();
  await page.getByTestId("estimates").click();
  await page.waitForFunction(() => document.querySelector('g[data-label="features"] .value')?.textContent?.startsWith("∥"));
  // Measured is only the whole call, which the group shares with what lies outside.
  const execute = await ticks(page, "execute");
  const measured = Number(await group.getAttribute("data-ticks"));
  assert.ok(estimated < measured && measured <= execute, `${String(estimated)} ${String(measured)} ${String(execute)}`);
  assert.equal(await ticks(page, "execute"), execute);
  assert.equal(await page.getByTestId("legend").getByText("estimated").count(), 0);
  await page.getByTestId("tab-events").click();
  await page.getByTestId("event-table").getByText("≈").first().waitFor();
});

onPage("ops are told on the module that a call carries", async (page) => {
  await openFiles(page, "opt125m_xnnpack.etrecord", "opt125m_xnnpack.etdp");
  await page.getByTestId("grouping-delegate").click();
  await page.locator('g[data-item][data-label^="partition "] .label').first().click();
  const note = page.getByTestId("panel").locator("[data-estimate]").first();
  await note.waitFor({ state: "attached" });
  assert.match(await note.textContent(), /ran aten\.\S+.*confidence/);
});

onPage("a delegate call opens as the graph that was lowered", async (page) => {
  await openFiles(page, "opt125m_xnnpack.etrecord", "opt125m_xnnpack.etdp");
  await page.getByTestId("grouping-delegate").click();
  await page.locator('g[data-item][data-label^="partition "] .label').first().click();
  await page.getByTestId("panel").getByText("DELEGATE_CALL").first().waitFor();
  await page.getByTestId("graph").focus();
  await page.keyboard.press("Enter");
  await page.locator('g[data-kind="node"][data-label="XnnpackBackend"] .label').first().click();
  await page.getByTestId("open-inside").click();
  const chosen = () => page.getByTestId("graph-select").locator("option:checked").textContent();
  await page.waitForFunction(() => document.querySelector('[data-testid="graph-select"]')?.selectedOptions[0]?.textContent?.includes("inside partition"));
  assert.match(await chosen(), /inside partition \d+ · XnnpackBackend · \d+ nodes/);
  // Of its one operator the time is that of the call.
  await page.locator('g[data-kind="node"][data-label="add"][data-ticks]').waitFor();
  // And back to the edge program.
  await page.getByTestId("graph-select").selectOption({ index: 0 });
  await page.getByTestId("open-inside").waitFor({ state: "detached" });
  assert.match(await chosen(), /edge program/);
});

onPage("the time is on the exported program when that is chosen", async (page) => {
  await openFiles(page, "tiny_cnn.etrecord", "tiny_cnn.etdp");
  const options = await page.getByTestId("graph-select").locator("option").allTextContents();
  assert.deepEqual(options.map((o) => o.replace(/ · \d+ nodes/, "")), ["forward · edge program", "forward · exported program"]);
  await page.getByTestId("graph-select").selectOption({ index: 1 });
  await page.getByTestId("grouping-flat").click();
  await page.locator('g[data-item][data-label="linear"][data-ticks]').waitFor();
  await page.locator('g[data-item][data-label="linear"]').click();
  await page.getByTestId("panel").getByText("native_call_addmm.out").first().waitFor();
  await page.getByTestId("panel").getByText("native_call_permute_copy.out").first().waitFor();
});

onPage("the panel tells all of a node", async (page) => {
  await openFiles(page, "tiny_cnn.etrecord", "tiny_cnn.etdp");
  await page.getByTestId("graph").focus();
  await page.keyboard.press("f");
  await page.locator('g[data-item][data-label="addmm"]').first().click();
  const panel = page.getByTestId("panel");
  for (const text of ["aten.addmm.default", "Debug handle", "Arguments", "mat1", "parameter", "float32", "native_call_addmm.out", "Stack trace", "Made from"]) {
    await panel.getByText(text).first().waitFor({ state: "attached" });
  }
});

onPage("the values of a parameter are read when asked for", async (page) => {
  await openFiles(page, "tiny_cnn.etrecord", "tiny_cnn.etdp");
  await page.getByTestId("graph").focus();
  await page.keyboard.press("f");
  await page.locator('g[data-item][data-label="addmm"] .label').first().click();
  const values = page.getByTestId("values").first();
  await values.locator("summary").click();
  await values.getByText("0.045748, 0.031528, 0.022747, 0.001777, 0.040501").waitFor();
  await values.locator(".histogram").waitFor();
  await values.getByText("5 values · float32").waitFor();
});

onPage("a group opens and closes in place", async (page) => {
  await openFiles(page, "opt125m_portable.etrecord", "opt125m_portable.etdp");
  const group = page.locator('g[data-kind="closed"][data-label="embed_tokens"]');
  const before = await group.locator(".box").boundingBox();
  await group.locator(".label").dblclick();
  const open = page.locator('g[data-kind="open"][data-label="embed_tokens"]');
  await open.waitFor();
  const after = await open.locator(".box").boundingBox();
  assert.ok(Math.abs(before.x - after.x) < 3 && Math.abs(before.y - after.y) < 3, JSON.stringify([before, after]));
  await open.locator(".label").dblclick({ position: { x: 6, y: 6 } });
  await group.waitFor();
});

onPage("the keyboard moves, opens and shows all", async (page) => {
  await openFiles(page, "opt125m_portable.etrecord", "opt125m_portable.etdp");
  await page.getByTestId("graph").focus();
  await page.keyboard.press("ArrowDown");
  await page.locator("g.item.selected").first().waitFor();
  const first = await page.locator("g.item.selected").first().getAttribute("data-item");
  await page.keyboard.press("ArrowDown");
  await page.waitForFunction((f) => document.querySelector("g.item.selected")?.getAttribute("data-item") !== f, first);
  await page.keyboard.press("f");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !document.querySelector("g.item.selected"));
});

onPage("files are told apart by content, whatever they are called", async (page) => {
  const [a, b] = [path.join(scratch, "graph"), path.join(scratch, "profile.bin")];
  copyFileSync(fixture("tiny_cnn.etrecord"), a);
  copyFileSync(fixture("tiny_cnn.etdp"), b);
  await openFiles(page, b, a);
  assert.equal(await ticks(page, "execute"), 308_455);
});

onPage("dropped files open", async (page) => {
  const files = ["tiny_cnn.etrecord", "tiny_cnn.etdp"].map((name) => ({ name, data: readFileSync(path.join(corpus, name)).toString("base64") }));
  const transfer = await page.evaluateHandle((list) => {
    const data = new DataTransfer();
    for (const { name, data: base64 } of list) {
      data.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], name));
    }
    return data;
  }, files);
  await page.getByTestId("drop").dispatchEvent("drop", { dataTransfer: transfer });
  await page.getByTestId("execute").waitFor();
  assert.equal(await ticks(page, "execute"), 308_455);
});

onPage("a dump alone shows the table of its events", async (page) => {
  await openFiles(page, "mv2_portable.etdp");
  await page.getByTestId("event-table").locator("tr[data-event]").first().waitFor();
  assert.equal(await page.getByTestId("runs").getAttribute("data-count"), "5");
  await page.getByPlaceholder("Filter events").fill("convolution");
  await page.getByText("52 of 305 events").waitFor();
});

onPage("a record alone shows its graph", async (page) => {
  await openFiles(page, "mv2_portable.etrecord");
  await page.locator("g[data-item]").first().waitFor();
  assert.equal(await page.locator("g[data-item] .value").count(), 0);
  assert.match(await page.getByTestId("header").textContent(), /Only the graph is open/);
});

onPage("two dumps of one record are two views", async (page) => {
  await openFiles(page, "opt125m_portable.etrecord", "opt125m_portable.etdp", "opt125m_portable_figures.etdp");
  const options = page.getByTestId("view-select").locator("option");
  assert.equal(await options.count(), 2);
  const first = await ticks(page, "execute");
  const other = await options.evaluateAll((list) => list.find((o) => !o.selected).value);
  await page.getByTestId("view-select").selectOption(other);
  await page.waitForFunction((f) => Number(document.querySelector('[data-testid="execute"]')?.dataset.ticks) !== f, first);
});

onPage("a dump of another model gives a banner with the differences", async (page) => {
  await openFiles(page, "tiny_cnn.etrecord", "mv2_portable.etdp");
  await page.getByTestId("banner").waitFor();
  assert.match(await page.getByTestId("banner").textContent(), /do not seem to belong together/);
  assert.ok((await page.getByTestId("banner").locator("li").count()) > 0);
  await page.getByTestId("diagnostics-badge").click();
  await page.getByTestId("diagnostics-list").locator("details").first().waitFor();
});

onPage("what is not on the graph is listed, and with what is adds up to execute", async (page) => {
  await openFiles(page, "mv2_xnnpack.etrecord", "mv2_xnnpack.etdp");
  await page.getByTestId("on-graph").click();
  await page.getByTestId("off-graph").waitFor();
  const rows = await page.getByTestId("off-graph").locator("tbody").first().locator("tr").evaluateAll(
    (all) => all.map((tr) => [...tr.cells].map((td) => td.textContent)));
  const shares = rows.map((r) => Number.parseFloat(r[2]));
  assert.equal(rows[0][0], "On nodes of the graph");
  assert.equal(rows.at(-1)[0], "Execute");
  assert.ok(rows.length > 2);
  assert.ok(Math.abs(shares.slice(0, -1).reduce((a, b) => a + b, 0) - 100) < 0.11 * rows.length, shares.join(" + "));
  await page.getByTestId("on-graph").click();
  await page.getByTestId("off-graph").waitFor({ state: "detached" });
});

onPage("allocations have a table of their own", async (page) => {
  await openFiles(page, "odd_allocations.etdp");
  const blocks = page.getByTestId("block-select").locator("option");
  const execute = await blocks.evaluateAll((list) => list.find((o) => o.textContent.includes("Execute")).value);
  await page.getByTestId("block-select").selectOption(execute);
  await page.getByTestId("tab-memory").click();
  await page.getByTestId("memory-table").waitFor();
  const rows = page.getByTestId("memory-table").locator("tbody tr");
  assert.equal(await rows.count(), 3);
  assert.equal(await rows.nth(1).locator("[data-bytes]").first().getAttribute("data-bytes"), String(2 ** 33));
  assert.match(await rows.nth(2).textContent(), /no\. 7/);
});

onPage("bad files give a message with the next step, and nothing open is lost", async (page) => {
  await openFiles(page, "tiny_cnn.etrecord", "tiny_cnn.etdp");
  const record = readFileSync(fixture("tiny_cnn.etrecord"));
  const dump = readFileSync(fixture("tiny_cnn.etdp"));
  const wrong = Buffer.from(dump);
  wrong.write("XX99", 8);
  const far = Buffer.from(dump);
  far.writeUInt32LE(0xfffffff0, 4);
  const bad = { "empty.etdp": Buffer.alloc(0), "half.etrecord": record.subarray(0, record.length / 2), "wrong.etdp": wrong,
    "far.etdp": far, "text.etrecord": Buffer.from("no zip at all\n".repeat(20)) };
  for (const [name, bytes] of Object.entries(bad)) {
    const file = path.join(scratch, name);
    writeFileSync(file, bytes);
    await openFiles(page, file);
    const message = await page.getByTestId("errors").textContent();
    assert.match(message, new RegExp(name.replace(".", "\\.")));
    assert.match(message, /Choose|Copy|copy|get it again/, message);
    assert.equal(await ticks(page, "execute"), 308_455);
  }
});

onPage("a name from outside is text, never markup", async (page) => {
  const file = { name: '<img src=x onerror="document.title=1">.etdp', mimeType: "", buffer: readFileSync(fixture("tiny_cnn.etdp")) };
  await openFiles(page, file);
  assert.match(await page.getByTestId("header").textContent(), /<img src=x/);
  assert.equal(await page.title(), "etscope");
  assert.equal(await page.locator("header img").count(), 0);
});

onPage("the sample opens without a network", async (page) => {
  await page.context().setOffline(true);
  await page.getByTestId("sample-gap_xnnpack").click();
  await page.getByTestId("execute").waitFor();
  assert.equal(await ticks(page, "execute"), 572_066);
});

onPage("the page rehearses out of sight and leaves nothing of it", async (page) => {
  await page.waitForFunction(() => performance.getEntriesByName("etscope:rehearsed").length > 0);
  assert.equal(await page.locator(".rehearsal").count(), 0);
  assert.equal(page.workers().length, 1);
  assert.ok(await page.getByTestId("sample-gap_xnnpack").isVisible());
  assert.equal(await page.evaluate(() => performance.getEntriesByName("etscope:open").length), 0);
});

onPage("the address can name a sample", async (page) => {
  await page.getByTestId("execute").waitFor();
  assert.equal(await ticks(page, "execute"), 572_066);
}, { hash: "#sample=gap_xnnpack" });

test("the page's policy lets nothing out", async () => {
  const { page, close } = await openPage(browser);
  const outcome = await page.evaluate(async () => {
    const blocked = [];
    addEventListener("securitypolicyviolation", (event) => blocked.push(event.effectiveDirective));
    const fetched = await fetch("https://example.invalid/").then(() => "fetched", () => "refused");
    const script = document.createElement("script");
    script.textContent = "window.injected = true";
    document.body.append(script);
    await new Promise((resolve) => setTimeout(resolve, 100));
    return { blocked, fetched, injected: "injected" in window };
  });
  assert.equal(outcome.fetched, "refused");
  assert.equal(outcome.injected, false);
  assert.ok(outcome.blocked.includes("connect-src"), JSON.stringify(outcome));
  await close();
});
