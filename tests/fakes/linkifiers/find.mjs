// Reads a JSON list of texts from stdin, and writes for each what every program takes for a link.
import { createRequire } from "node:module"

const require = createRequire(process.env.LIBRARIES)
const LinkifyIt = require("linkify-it")
const { find, registerCustomProtocol } = require("linkifyjs")
const { lexer, walkTokens } = require("marked")
const tlds = require("tlds")

// As Element registers them beside those that the library knows
for (const scheme of ["bitcoin", "geo", "im", "irc", "ircs", "magnet", "matrix", "mms", "news",
    "nntp", "openpgp4fpr", "sip", "sftp", "sms", "smsto", "ssh", "tel", "urn", "webcal", "wtai",
    "xmpp", "tg", "slack"]) registerCustomProtocol(scheme, true)

const it = new LinkifyIt().tlds(tlds).set({ fuzzyIP: true, fuzzyEmail: true, fuzzyLink: true })
const linksOf = markdown => {
    const found = []
    walkTokens(lexer(markdown, { gfm: true }), token => {
        if (token.type === "link" || token.type === "image") found.push(token.href)
    })
    return found
}

let read = ""
for await (const piece of process.stdin) read += piece
process.stdout.write(JSON.stringify(JSON.parse(read).map(text => ({
    "linkify-it": (it.match(text) ?? []).map(one => one.raw),
    linkifyjs: find(text).map(one => one.value),
    marked: linksOf(text),
}))))
