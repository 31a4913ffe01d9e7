// Whether requests are as Discord's own description of its API has them. Standard input is a list of
// {method, path, body}; standard output a list of what is wrong with each, empty where nothing is.
import { text } from "node:stream/consumers";

const LIBRARY = process.env.LIBRARY;
const { pathsList } = await import(`${LIBRARY}/discord-api-spec/build/discord-api-spec.js`);
const schemas = await import(`${LIBRARY}/discord-api-spec/build/discord-api-spec.zod.js`);
const { safeParse } = await import(`${LIBRARY}/zod/mini/index.js`);
const callbacks = [
    "PongInteractionCallbackRequest",
    "CreateMessageInteractionCallbackRequest",
    "UpdateMessageInteractionCallbackRequest",
];
// What each address takes, as the description's types say
const bodies = {
    "post /channels/{channel_id}/messages": ["MessageCreateRequest"],
    "patch /channels/{channel_id}/messages/{message_id}": ["MessageEditRequestPartial"],
    "put /applications/{application_id}/commands": ["ApplicationCommandUpdateRequest"],
    "post /interactions/{interaction_id}/{interaction_token}/callback": callbacks,
};

function template(method, path) {
    const fits = (known) =>
        new RegExp(`^${known.replace(/\{[^}]*\}/g, "[^/]+")}$`).test(path);
    const found = (pathsList[method] ?? []).filter(fits);
    // The one with the fewest words of ours in it
    return found.sort((a, b) => a.split("{").length - b.split("{").length)[0];
}

// What a description does not know is left out of what it has read
function unknown(told, read, at) {
    if (told === null || typeof told !== "object") return [];
    return Object.keys(told).flatMap((key) =>
        read?.[key] === undefined ? [`${at}.${key} is unknown`] : unknown(told[key], read[key], `${at}.${key}`),
    );
}

function against(name, told) {
    const read = safeParse(schemas[`${name}Schema`], told);
    if (!read.success) return read.error.issues.map((one) => `${name}.${one.path.join(".")}: ${one.message}`);
    return unknown(told, read.data, name);
}

function wrong({ method, path, body }) {
    const known = template(method.toLowerCase(), path);
    if (known === undefined) return [`there is no ${method} ${path}`];
    const names = bodies[`${method.toLowerCase()} ${known}`];
    const isEmpty = Object.keys(body ?? {}).length === 0;
    if (names === undefined) return isEmpty ? [] : [`nobody says what ${method} ${known} takes`];
    const parts = Array.isArray(body) ? body : [body];
    return parts.flatMap((part) => {
        const troubles = names.map((name) => against(name, part));
        // What is of another type is not what was meant
        const others = (found) => found.filter((one) => one.includes("Request.type:")).length;
        return troubles.sort((a, b) => others(a) - others(b) || a.length - b.length)[0];
    });
}

console.log(JSON.stringify(JSON.parse(await text(process.stdin)).map(wrong)));
