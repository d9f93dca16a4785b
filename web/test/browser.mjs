// A browser for the tests: Debian's Chromium, driven by playwright-core. No browser is downloaded.
import { existsSync } from "node:fs";
import { chromium } from "playwright-core";

export const executable =
  process.env.MILLRACE_CHROMIUM ??
  ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"].find(existsSync);

export async function launch() {
  return chromium.launch({
    executablePath: executable,
    timeout: 120_000,
    args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--font-render-hinting=none"],
  });
}

export const widths = { phone: 360, tablet: 820, desk: 1440 };
export const themes = ["light", "dark"];

// Returns a page that reports errors of its console and network.
export async function newPage(browser, { width = 1440, height = 900, theme = "light", ...rest } = {}) {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: "reduce",
    ...rest,
  });
  context.setDefaultTimeout(60_000);
  const page = await context.newPage();
  page.faults = [];
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()))
      page.faults.push(`${message.type()}: ${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => page.faults.push(`thrown: ${error.message}\n${error.stack}`));
  return page;
}
