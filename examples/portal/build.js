// Builds the portal into a folder: node build.js [FOLDER], by default dist. With --serve, it serves it on port 8000.
import { copyFile, mkdir } from "node:fs/promises";
import { context } from "esbuild";

const serve = process.argv.includes("--serve");
const out = process.argv.slice(2).find((argument) => !argument.startsWith("--")) ?? "dist";
const build = await context({
  entryPoints: ["portal.jsx", "portal.css"],
  outdir: out,
  bundle: true,
  format: "esm",
  jsx: "automatic",
  minify: true,
  define: { "process.env.NODE_ENV": '"production"' },
});
await mkdir(out, { recursive: true });
await copyFile("index.html", `${out}/index.html`);
await build.rebuild();
if (serve) {
  const { port } = await build.serve({ servedir: out, port: 8000 });
  console.log(`The portal is at http://localhost:${port}`);
} else {
  await build.dispose();
}
