import { expect, test } from "vitest";
import { createAccess } from "../src/store/link/access";

test("what the reader pastes answers all commands that wait", async () => {
  const access = createAccess();
  const [first, second] = [access.ask(false), access.ask(false)];
  expect(access.question.value).toBe("missing");
  access.give(" http://localhost:6006/#debugger&p.debugger.key=abc ");
  expect([await first, await second]).toEqual(["abc", "abc"]);
  expect([access.question.value, access.current()]).toEqual([undefined, "abc"]);
});

test("a key that is not given leaves the commands, and the next one asks again", async () => {
  const access = createAccess();
  const asked = access.ask(true);
  expect(access.question.value).toBe("wrong");
  access.give();
  expect(await asked).toBeUndefined();
  const again = access.ask(false);
  access.give("abc");
  expect(await again).toBe("abc");
});

test("the key of an address is taken out of it", () => {
  const access = createAccess();
  expect(access.takeFrom("#debugger&p.debugger.key=abc&p.debugger.run=r")).toBe("#debugger&p.debugger.run=r");
  expect(access.current()).toBe("abc");
  expect(access.takeFrom("#debugger&p.debugger.run=r")).toBeUndefined();
  access.takeFrom("#debugger&p.debugger.key=");
  expect(access.current()).toBe("abc");
});
