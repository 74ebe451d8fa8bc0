// node /tmp/shot.mjs hash name [waitSelector]: screenshots at both widths, light and dark
import { serve } from '/work/trees/page/demo/serve.mjs';
import { launch, newPage } from '/work/trees/page/tests/browser.mjs';
const [hash, name, script = '', only = ''] = process.argv.slice(2);
const server = await serve({ port: 0 });
const browser = await launch();
for (const [w, hgt] of [[1400, 900], [390, 844]]) for (const scheme of ['light', 'dark']) {
  if (only && !`${w}${scheme}`.includes(only)) continue;
  const { page, complaints } = await newPage(browser, { viewport: { width: w, height: hgt }, colorScheme: scheme });
  await page.goto(server.address + hash);
  try { await eval(`(async () => { ${script} })()`); } catch (e) { console.log('script', e.message); }
  await page.waitForTimeout(300);
  await page.screenshot({ path: `/tmp/shots/${name}-${w}-${scheme}.png`, fullPage: true });
  const sw = await page.evaluate(() => document.documentElement.scrollWidth);
  if (sw > w) console.log(`sideways scroll ${sw} at ${w}`);
  if (complaints.length) console.log(complaints);
  await page.close();
}
await browser.close(); await server.close();
