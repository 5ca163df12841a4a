// A real Chromium on the real page, opened as file://. Everything that leaves the page, every
// console error and every policy violation is kept for the test to look at.
import { existsSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

export const root = path.join(import.meta.dirname, "..", "..");
export const corpus = path.join(root, "tests", "fixtures", "corpus");
const pageUrl = pathToFileURL(path.join(root, "dist", "etscope.html")).href;

const executablePath = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"]
  .find((p) => p && existsSync(p));

export async function launch() {
  if (!executablePath) throw new Error("no Chromium found: run scripts/setup.sh test, or set CHROMIUM to one");
  return chromium.launch({
    executablePath,
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
      "--disable-component-update", "--disable-sync", "--allow-file-access-from-files=false"],
  });
}

/** A new page with what went wrong on it. */
export async function openPage(browser, { hash = "", url = pageUrl, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  const trouble = [];
  page.on("request", (request) => {
    const { protocol } = new URL(request.url());
    if (request.url().split("#")[0] !== url && protocol !== "blob:" && protocol !== "data:") trouble.push(`request ${request.url()}`);
  });
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") trouble.push(`console ${message.text()}`);
  });
  page.on("pageerror", (error) => trouble.push(`error ${error.message}`));
  await page.goto(url + hash);
  await page.getByTestId("drop").waitFor();
  return { page, trouble, close: () => context.close() };
}

/** Files of the corpus by name, others by path. */
export const fixture = (name) => (path.isAbsolute(name) ? name : path.join(corpus, name));

/** Chooses files, and waits until what they give is drawn. */
export async function openFiles(page, ...files) {
  const before = await measures(page);
  await page.getByTestId("file-input").first().setInputFiles(files.map((f) => (typeof f === "string" ? fixture(f) : f)));
  // Not at every frame, which is the default: that would keep the page busy while it is measured.
  await page.waitForFunction((n) => performance.getEntriesByName("etscope:open", "measure").length > n, before, { polling: 50 });
}

const measures = (page) => page.evaluate(() => performance.getEntriesByName("etscope:open", "measure").length);

/** The exact ticks behind a figure. */
export const ticks = async (page, id) => Number(await page.getByTestId(id).getAttribute("data-ticks"));
