// Tests the built portal in Chromium: node test.js PORTAL RESULTS. From an empty form to claims that cobaltcore validate accepts
// ($COBALTCORE), with screenshots in RESULTS.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { getDefaultFormState } from "@rjsf/utils";
import validator from "@rjsf/validator-ajv8";
import { chromium } from "playwright-core";
import { parse } from "yaml";

// An empty form in Backstage, with rjsf's default settings, is valid.
const template = JSON.parse(readFileSync("backstage/controlplanecluster.json"));
const initial = getDefaultFormState(validator, template, { metadata: { name: "cloud" } });
assert.deepEqual(validator.validateFormData(initial, template).errors, []);
assert.deepEqual(Object.keys(initial.spec), ["openStackRelease"]);

const [portal, results] = process.argv.slice(2);
const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
const server = createServer(({ url }, response) => {
  const file = url === "/" ? "/index.html" : url;
  response.writeHead(200, { "content-type": types[extname(file)] }).end(readFileSync(join(portal, file)));
}).listen(0, "127.0.0.1");
mkdirSync(results, { recursive: true });
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

// open shows the form of a kind at a width.
async function open(kind, width) {
  const page = await browser.newPage({ viewport: { width, height: 900 } });
  page.on("pageerror", (error) => { throw error; });
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.selectOption("#kind", kind);
  return page;
}

// fill enters the value of a field of the claim, by its path, and adds or selects its parents first.
const field = (page, path) => page.locator(`[id="root_${path.replaceAll(".", "_")}"]`);
async function add(page, path) {
  await page.locator(`[id="root_${path.replaceAll(".", "_")}__optionalAdd"]`).click();
}

// submit checks the claim and validates it with the command line.
async function submit(page, name) {
  await page.getByRole("button", { name: "Check the claim" }).click();
  await page.locator("#valid").waitFor({ timeout: 20000 });
  const claim = await page.locator("#yaml").innerText();
  writeFileSync(join(results, `${name}.yaml`), claim);
  execFileSync(process.env.COBALTCORE, ["validate", "--assume-references", "-f", join(results, `${name}.yaml`)], { stdio: "inherit" });
  return parse(claim);
}

try {
  for (const [width, device] of [[1280, "desktop"], [390, "phone"]]) {
    const page = await open("ControlPlaneCluster", width);
    await page.getByRole("button", { name: "Check the claim" }).click();
    assert.match(await page.locator("main").innerText(), /must have required property 'Name'/, "a claim requires a name");
    await field(page, "metadata.name").fill("cloud");
    const empty = await submit(page, `${device}-empty`);
    assert.deepEqual(Object.keys(empty.spec), ["openStackRelease"], "an empty form sets the release only");
    await page.screenshot({ path: join(results, `${device}-basic.png`), fullPage: true });

    assert.equal(await page.locator(".expert:visible").count(), 0, "expert fields are hidden");
    await field(page, "spec.size").selectOption({ label: "medium" });
    await page.locator("#expert").check();
    await add(page, "spec.korc");
    await add(page, "spec.korc.credentialRotation");
    await field(page, "spec.korc.credentialRotation.intervalDays").fill("30");
    await field(page, "spec.infrastructure.mariadb__oneof_select").selectOption({ label: "External database" });
    await field(page, "spec.infrastructure.mariadb.external.host").fill("DB");
    await field(page, "spec.infrastructure.mariadb.external.user").fill("root");
    await field(page, "spec.infrastructure.mariadb.external.secretRef.name").fill("database");
    await page.getByRole("button", { name: "Check the claim" }).click();
    assert.equal(await page.locator("#valid").count(), 0, "a host name in upper case is invalid");
    await page.screenshot({ path: join(results, `${device}-error.png`), fullPage: true });
    await field(page, "spec.infrastructure.mariadb.external.host").fill("db.example.com");
    const changed = await submit(page, `${device}-changed`);
    assert.deepEqual(changed.spec, {
      ...empty.spec,
      size: "medium",
      infrastructure: { mariadb: { external: { host: "db.example.com", user: "root", secretRef: { name: "database" } } } },
      korc: { credentialRotation: { intervalDays: 30 } },
    });
    await page.screenshot({ path: join(results, `${device}-expert.png`), fullPage: true });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    assert.ok(wide <= 0, `the page is ${wide} pixels wider than a ${device}`);
    await page.close();
  }

  for (const kind of ["HypervisorCluster", "KeystoneService"]) {
    const page = await open(kind, 1280);
    await field(page, "metadata.name").fill("a");
    await field(page, "spec.controlPlaneRef.namespace").fill("tenant-a");
    await field(page, "spec.controlPlaneRef.name").fill("cloud");
    await submit(page, kind);
    await page.close();
  }
  const page = await open("StorageCluster", 1280);
  await field(page, "metadata.name").fill("a");
  await field(page, "spec.deviceSelector__oneof_select").selectOption({ label: "Every empty device" });
  await submit(page, "StorageCluster");
  await page.screenshot({ path: join(results, "storage.png"), fullPage: true });
  console.log(`The forms are valid; screenshots are in ${results}`);
} finally {
  await browser.close();
  server.close();
}
