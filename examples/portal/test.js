// Tests the built portal in Chromium, and the templates for Backstage: node test.js PORTAL RESULTS. From an empty form to claims that
// cobaltcore validate accepts ($COBALTCORE), with screenshots in RESULTS.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { extname, join } from "node:path";
import { getDefaultFormState } from "@rjsf/utils";
import nunjucks from "nunjucks";
import { chromium } from "playwright-core";
import { parse } from "yaml";

import { validator } from "./errors.js";

const [portal, results] = process.argv.slice(2);
const kinds = ["ControlPlaneCluster", "HypervisorCluster", "StorageCluster", "KeystoneService"];
mkdirSync(results, { recursive: true });

// platform permits the tenant to use the defaults of all kinds, and a database.
const platform = {
  apiVersion: "crossplane.c5c3.io/v1alpha1",
  kind: "PlatformConfig",
  metadata: { name: "default" },
  spec: {
    domain: "cloud.example.com",
    limits: [{
      name: "tenant",
      namespaces: ["tenant-a"],
      databaseHosts: ["db.example.com:3306"],
      hypervisorNodes: ["*"],
      storageNodes: ["*"],
      storageDevices: ["*"],
      storageNetworks: ["*"],
    }],
  },
};
const platformFile = join(results, "platformconfig.json");
writeFileSync(platformFile, JSON.stringify(platform));

// accept validates a claim with the command line.
function accept(claim, name) {
  const file = join(results, `${name}.yaml`);
  writeFileSync(file, claim);
  execFileSync(process.env.COBALTCORE, ["validate", "--assume-references", "-f", file, "-e", platformFile], { stdio: "inherit" });
  return parse(claim);
}

// required are the values that each kind requires of its users.
const reference = { namespace: "tenant-a", name: "cloud" };
const required = {
  ControlPlaneCluster: {},
  HypervisorCluster: { controlPlaneRef: reference },
  StorageCluster: { deviceSelector: { all: true } },
  KeystoneService: { controlPlaneRef: reference },
};

// Backstage: rjsf with its default settings, and the claim of the template. An expression that is a whole value keeps its type.
const environment = new nunjucks.Environment(new nunjucks.FileSystemLoader("."), { autoescape: false, tags: { variableStart: "${{", variableEnd: "}}" } });
function render(value, context) {
  if (typeof value === "string") {
    const whole = /^\$\{\{(.*)\}\}$/.exec(value);
    return whole ? JSON.parse(environment.renderString(`\${{ (${whole[1]}) | dump }}`, context)) : environment.renderString(value, context);
  }
  return Object.fromEntries(Object.entries(value).map(([key, below]) => [key, render(below, context)]));
}
const [skeleton] = readdirSync("backstage/skeleton");
for (const kind of kinds) {
  const schema = JSON.parse(readFileSync(`backstage/${kind.toLowerCase()}.json`));
  const parameters = getDefaultFormState(validator, schema, { metadata: { name: "cloud", namespace: "tenant-a" }, spec: required[kind] });
  assert.deepEqual(validator.validateFormData(parameters, schema).errors, [], `Backstage's form of ${kind}`);
  const template = parse(readFileSync(`backstage/${kind.toLowerCase()}-template.yaml`, "utf8"));
  assert.equal(template.spec.parameters[0].$json, `./${kind.toLowerCase()}.json`);
  const { values } = render(template.spec.steps[0].input, { parameters: { ...parameters, owner: "group:default/team-a" } });
  const claim = accept(environment.render(join("backstage/skeleton", skeleton), { values }), `backstage-${kind}`);
  assert.equal(environment.renderString(skeleton, { values }), `${kind.toLowerCase()}-cloud.yml`);
  delete claim.spec.openStackRelease;
  assert.deepEqual(claim.spec, required[kind], `Backstage's claim of ${kind} has the required fields only`);
  assert.equal(claim.metadata.annotations["terasky.backstage.io/owner"], "group:default/team-a");
}

// The skeleton keeps all values, except empty objects and lists.
const values = { yes: true, no: false, "a:b": "x: 'y'", zero: 0, text: "true", list: [{ a: 1, b: ["1", "2"] }, "c"], map: { "x.y/z": "" } };
const claim = { ...values, empty: { list: [], map: { below: {} } } };
assert.deepEqual(parse(environment.render(join("backstage/skeleton", skeleton), { values: { claim } })), values);

const types = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css" };
const server = createServer(({ url }, response) => {
  const file = url === "/" ? "/index.html" : url;
  response.writeHead(200, { "content-type": types[extname(file)] }).end(readFileSync(join(portal, file)));
}).listen(0, "127.0.0.1");
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox"] });

// open shows the form of a kind at a width.
async function open(kind, width) {
  const page = await browser.newPage({ viewport: { width, height: 900 } });
  page.setDefaultTimeout(60000);
  page.on("pageerror", (error) => { throw error; });
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.selectOption("#kind", kind);
  return page;
}

// field is the input of a field of the claim, by its path.
const field = (page, path) => page.locator(`[id="root_${path.replaceAll(".", "_")}"]`);
const fill = (page, path, value) => field(page, path).fill(value);
const choose = (page, path, label) => field(page, `${path}__oneof_select`).selectOption({ label });
const add = (page, path) => field(page, `${path}__optionalAdd`).click();
const check = (page) => page.getByRole("button", { name: "Check the claim" }).click();

// errors returns the errors above the form after a check.
async function errors(page) {
  await check(page);
  return page.locator(".border-danger .list-group-item").allInnerTexts();
}

// submit checks the claim, and validates it.
async function submit(page, name) {
  await check(page);
  await page.locator("#valid").waitFor();
  return accept(await page.locator("#yaml").innerText(), name);
}

async function screenshot(page, name) {
  const { scrollWidth, clientWidth } = await page.evaluate(() => document.documentElement);
  assert.ok(!(scrollWidth > clientWidth), `${name}: the page is wider than the window`);
  await page.screenshot({ path: join(results, `${name}.png`), fullPage: true });
}

// fillRequired enters the required values of a kind.
async function fillRequired(page, kind) {
  await fill(page, "metadata.namespace", "tenant-a");
  await fill(page, "metadata.name", "cloud");
  if (kind === "StorageCluster") {
    await choose(page, "spec.deviceSelector", "Every empty device");
  } else if (kind !== "ControlPlaneCluster") {
    await fill(page, "spec.controlPlaneRef.namespace", reference.namespace);
    await fill(page, "spec.controlPlaneRef.name", reference.name);
  }
}

try {
  for (const [width, device] of [[1280, "desktop"], [390, "phone"]]) {
    for (const kind of kinds) {
      const page = await open(kind, width);
      assert.ok((await errors(page)).includes("metadata.name: is required"), `${kind}: a claim requires a name`);
      assert.equal(await page.locator(".expert:visible").count(), 0, `${kind}: expert fields are hidden`);
      await fillRequired(page, kind);
      const { spec } = await submit(page, `${device}-${kind}`);
      delete spec.openStackRelease;
      assert.deepEqual(spec, required[kind], `${kind}: the claim has the required fields only`);
      await screenshot(page, `${device}-${kind}`);
      await page.locator("#expert").check();
      assert.notEqual(await page.locator(".expert:visible").count(), 0, `${kind}: expert fields are shown`);
      await submit(page, `${device}-${kind}-expert`);
      await screenshot(page, `${device}-${kind}-expert`);
      await page.close();
    }
  }

  // A choice, wrong formats, and expert fields.
  const page = await open("ControlPlaneCluster", 1280);
  await fillRequired(page, "ControlPlaneCluster");
  await field(page, "spec.size").selectOption({ label: "medium" });
  await fill(page, "spec.infrastructure.mariadb.storageSize", "100");
  assert.deepEqual(await errors(page), ["spec.infrastructure.mariadb.storageSize: must be an integer with the unit Mi, Gi or Ti: 100Gi"]);
  await fill(page, "spec.infrastructure.mariadb.storageSize", "100Gi");
  await submit(page, "size");
  await choose(page, "spec.infrastructure.mariadb", "External database");
  await fill(page, "spec.infrastructure.mariadb.external.user", "root");
  assert.deepEqual(await errors(page), [
    "spec.infrastructure.mariadb.external.host: is required",
    "spec.infrastructure.mariadb.external.secretRef.name: is required",
  ]);
  await fill(page, "spec.infrastructure.mariadb.external.host", "DB");
  await fill(page, "spec.infrastructure.mariadb.external.secretRef.name", "database");
  assert.deepEqual(await errors(page), ["spec.infrastructure.mariadb.external.host: must be a host name: db.example.com"]);
  await fill(page, "spec.infrastructure.mariadb.external.host", "db.example.com");
  await page.locator("#expert").check();
  await add(page, "spec.infrastructure.memcached");
  await fill(page, "spec.infrastructure.memcached.memory", "512m");
  assert.deepEqual(await errors(page), ["spec.infrastructure.memcached.memory: must be an amount with a unit of bytes: 512Mi"]);
  await screenshot(page, "error");
  await fill(page, "spec.infrastructure.memcached.memory", "512Mi");
  await add(page, "spec.korc");
  await add(page, "spec.korc.credentialRotation");
  await fill(page, "spec.korc.credentialRotation.intervalDays", "30");
  const { spec } = await submit(page, "choice");
  delete spec.openStackRelease;
  assert.deepEqual(spec, {
    size: "medium",
    infrastructure: {
      mariadb: { external: { host: "db.example.com", user: "root", secretRef: { name: "database" } } },
      memcached: { memory: "512Mi" },
    },
    korc: { credentialRotation: { intervalDays: 30 } },
  });
  await page.close();

  // Fields of a choice by a value, and a list that the user empties.
  const exposure = await open("ControlPlaneCluster", 1280);
  await fillRequired(exposure, "ControlPlaneCluster");
  await add(exposure, "spec.global");
  await add(exposure, "spec.global.exposure");
  await field(exposure, "spec.global.exposure.type").selectOption({ label: "GatewayAPI" });
  assert.match((await errors(exposure)).join(), /^spec.global.exposure: must match Type: GatewayAPI requires Gateway/);
  await field(exposure, "spec.global.exposure.type").selectOption({ label: "None" });
  await add(exposure, "spec.services.glance");
  await field(exposure, "spec.services.glance.stores__add").click();
  assert.deepEqual(await errors(exposure), ["spec.services.glance.stores.0.file.storageSize: is required", "spec.services.glance.stores.0.name: is required"]);
  await field(exposure, "spec.services.glance.stores_0__remove").click();
  const without = await submit(exposure, "emptied");
  assert.deepEqual(without.spec, { openStackRelease: without.spec.openStackRelease, global: { exposure: { type: "None" } } });
  await exposure.close();
  console.log(`The forms are valid; screenshots are in ${results}`);
} finally {
  await browser.close();
  server.close();
}
