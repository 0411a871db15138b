// The page without a server, on computed data: `npm run dev`, then http://127.0.0.1:17173/dev/. The variables
// STEPS and ILL_FROM set the length of the run and its first bad step.
import { defineConfig, type Plugin } from "vite";
import { makeFixture } from "./fixture";

const answer = makeFixture({
  steps: Number(process.env.STEPS ?? 96),
  illFrom: Number(process.env.ILL_FROM ?? 5),
  exploding: 2,
});

const routes: Plugin = {
  name: "fixture-routes",
  configureServer(server) {
    server.middlewares.use("/data/", (request, response) => {
      const url = new URL(request.url ?? "", "http://localhost");
      const found = answer(url.pathname.slice(1), url.searchParams);
      if ("bytes" in found) return response.end(Buffer.from(found.bytes));
      response.statusCode = found.status ?? 200;
      response.end(JSON.stringify(found.json));
    });
  },
};

export default defineConfig({ plugins: [routes], server: { host: "127.0.0.1", port: 17173, open: false } });
