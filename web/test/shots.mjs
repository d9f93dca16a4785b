// Takes screenshots of pages, in both themes and at three widths.
//
//   node test/shots.mjs URL FOLDER [PAGE ...]     PAGE: "name=#/address"; default: all pages
import { mkdirSync } from "node:fs";
import { launch, newPage, themes, widths } from "./browser.mjs";

const [url, folder, ...asked] = process.argv.slice(2);
const wanted = asked.map((each) => [each.slice(0, each.indexOf("=")), each.slice(each.indexOf("=") + 1)]);
mkdirSync(folder, { recursive: true });
const browser = await launch();
const only = process.env.ONLY?.split(",");
for (const theme of themes) {
  for (const [size, width] of Object.entries(widths)) {
    if (only && !only.includes(`${theme}-${size}`)) continue;
    const page = await newPage(browser, { theme, width, height: size === "phone" ? 780 : 900 });
    for (const [name, place] of wanted) {
      await page.goto(`${url}/${place}`);
      await page.waitForTimeout(Number(process.env.WAIT ?? 1500));
      await page.screenshot({ path: `${folder}/${name}-${theme}-${size}.png`, fullPage: process.env.FULL !== "0" });
    }
    for (const fault of page.faults) console.log(`${theme} ${size}: ${fault}`);
    await page.context().close();
  }
}
await browser.close();
