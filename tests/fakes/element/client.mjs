// A person's program for encrypted rooms, on the library that Element uses, as strict as Element:
// it gives keys to devices that their owners have signed, and reads what comes from such alone.
// One JSON object a line on standard input, {do, ...}; one on standard output for each, {told} or {failed}.
import { createInterface } from "node:readline";

const { BASE, USER, DEVICE, TOKEN, LIBRARY } = process.env;
const sdk = await import(LIBRARY);
// Whoever is given one takes it away
const strict = () => new sdk.DecryptionSettings(sdk.TrustRequirement.CrossSigned);
const FILTER = encodeURIComponent(JSON.stringify({ room: { timeline: { limit: 500 } } }));
let machine;
let since = "";
let count = 0;
let isSlow = false;
const late = [];
const rooms = new Map(); // room -> events in order
const types = sdk.RequestType;

async function call(method, path, body, raw) {
    const headers = { authorization: `Bearer ${TOKEN}` };
    const content = raw ?? (body === undefined ? undefined : typeof body === "string" ? body : JSON.stringify(body));
    const response = await fetch(`${BASE}/_matrix/${path}`, { method, headers, body: content });
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
    return response;
}

const text = async (...asked) => (await call(...asked)).text();
const json = async (...asked) => (await call(...asked)).json();
const v3 = "client/v3";

async function send(request) {
    const id = request.id;
    const paths = {
        [types.KeysUpload]: ["POST", `${v3}/keys/upload`],
        [types.KeysQuery]: ["POST", `${v3}/keys/query`],
        [types.KeysClaim]: ["POST", `${v3}/keys/claim`],
        [types.SignatureUpload]: ["POST", `${v3}/keys/signatures/upload`],
        [types.ToDevice]: ["PUT", `${v3}/sendToDevice/${request.event_type}/${request.txn_id}`],
    };
    const answer = await text(...paths[request.type], request.body);
    if (id) await machine.markRequestAsSent(id, request.type, answer);
}

async function flush() {
    for (const request of await machine.outgoingRequests()) await send(request);
}

async function sync(timeout) {
    const asked = since ? `&since=${encodeURIComponent(since)}` : "";
    const told = await json("GET", `${v3}/sync?timeout=${timeout}&filter=${FILTER}${asked}`);
    const users = (some) => (some ?? []).map((one) => new sdk.UserId(one));
    const lists = new sdk.DeviceLists(users(told.device_lists?.changed), users(told.device_lists?.left));
    const counts = new Map(Object.entries(told.device_one_time_keys_count ?? {}));
    const unused = new Set(told.device_unused_fallback_key_types ?? []);
    await machine.receiveSyncChanges(JSON.stringify(told.to_device?.events ?? []), lists, counts, unused, strict());
    await flush();
    for (const [room, joined] of Object.entries(told.rooms?.join ?? {})) {
        if (!rooms.has(room)) rooms.set(room, []);
        for (const event of joined.timeline.events) rooms.get(room).push({ event });
    }
    since = told.next_batch;
    for (const [room, events] of rooms) for (const one of events) await open(room, one);
}

async function open(room, one) {
    if (one.plain || one.event.type !== "m.room.encrypted") return;
    try {
        const read = await machine.decryptRoomEvent(JSON.stringify(one.event), new sdk.RoomId(room), strict());
        one.plain = JSON.parse(read.event);
        one.shield = read.shieldState(false).color;
        one.why = undefined;
    } catch (error) {
        one.why = String(error.description ?? error.message ?? error);
    }
}

async function people(room) {
    const told = await json("GET", `${v3}/rooms/${encodeURIComponent(room)}/members`);
    const there = told.chunk.filter((one) => ["join", "invite"].includes(one.content.membership));
    return there.map((one) => new sdk.UserId(one.state_key));
}

async function share(room) {
    const users = await people(room);
    await machine.updateTrackedUsers(users.map((one) => one.clone()));
    await flush();
    const claim = await machine.getMissingSessions(users.map((one) => one.clone()));
    if (claim) await send(claim);
    const settings = new sdk.EncryptionSettings();
    settings.sharingStrategy = sdk.CollectStrategy.identityBasedStrategy();
    for (const request of await machine.shareRoomKey(new sdk.RoomId(room), users, settings)) {
        // A server far away hands keys on when it likes
        if (isSlow) late.push(request);
        else await send(request);
    }
}

const does = {
    async say({ room, content, txn }) {
        // A program hears all the time which devices there are
        await sync(0);
        await share(room);
        const inside = { ...content };
        const sealed = JSON.parse(
            await machine.encryptRoomEvent(new sdk.RoomId(room), "m.room.message", JSON.stringify(inside)),
        );
        const known = txn ?? `e${++count}`;
        const path = `${v3}/rooms/${encodeURIComponent(room)}/send/m.room.encrypted/${known}`;
        return (await json("PUT", path, sealed)).event_id;
    },
    async give({ room, text: body, name, base64 }) {
        const sealed = sdk.Attachment.encrypt(Buffer.from(base64, "base64"));
        const { content_uri: url } = await json("POST", "media/v3/upload", undefined, sealed.encryptedData);
        const file = { ...JSON.parse(sealed.mediaEncryptionInfo), url };
        const content = { msgtype: "m.file", body, filename: name, file, info: { mimetype: "application/pdf" } };
        return does.say({ room, content });
    },
    async take({ file }) {
        const path = `client/v1/media/download/${file.url.replace("mxc://", "")}`;
        const content = new Uint8Array(await (await call("GET", path)).arrayBuffer());
        const opened = sdk.Attachment.decrypt(new sdk.EncryptedAttachment(content, JSON.stringify(file)));
        return Buffer.from(opened).toString("base64");
    },
    async shown({ room }) {
        await sync(0);
        return (rooms.get(room) ?? []).map(({ event, plain, why, shield }) => ({
            event_id: event.event_id,
            sender: event.sender,
            sealed: event.type === "m.room.encrypted",
            type: plain?.type ?? event.type,
            content: plain?.content ?? event.content,
            about: event.content["m.relates_to"],
            why: plain ? undefined : why,
            shield,
        }));
    },
    async slow({ on }) {
        isSlow = on;
        if (!on) for (const request of late.splice(0)) await send(request);
        return true;
    },
    async renew({ room }) {
        return machine.invalidateGroupSession(new sdk.RoomId(room));
    },
};

async function start() {
    await sdk.initAsync();
    machine = await sdk.OlmMachine.initialize(new sdk.UserId(USER), new sdk.DeviceId(DEVICE));
    await sync(0);
    await flush();
    const made = await machine.bootstrapCrossSigning(true);
    if (made.uploadKeysRequest) await send(made.uploadKeysRequest);
    await json("POST", `${v3}/keys/device_signing/upload`, made.uploadSigningKeysRequest.body);
    await send(made.uploadSignaturesRequest);
    await machine.updateTrackedUsers([new sdk.UserId(USER)]);
    await flush();
}

await start();
process.stdout.write('{"told": "ready"}\n');
for await (const line of createInterface({ input: process.stdin })) {
    const asked = JSON.parse(line);
    let answer;
    try {
        answer = { told: await does[asked.do](asked) };
    } catch (error) {
        answer = { failed: String(error.stack ?? error) };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
}
process.exit(0);
