"""Tables of `brain.db` as migration steps."""

# Search tokens are split and joined by spaces before they get here; marks stay inside words, and
# the stemmer works on both sides alike
WORDS_TABLE = """
CREATE VIRTUAL TABLE IF NOT EXISTS memory_words USING fts5(
    words,
    tokenize = "porter unicode61 remove_diacritics 2 categories 'L* M* N* Co'"
)
"""

_MEMORIES = """
CREATE TABLE IF NOT EXISTS memories (
    -- An integer of its own: the rows of the word index must not move under VACUUM
    id INTEGER PRIMARY KEY,
    -- Whose memory it is; NULL is everybody's
    person TEXT,
    -- The conversation it came up in
    session TEXT,
    key TEXT NOT NULL,
    content TEXT NOT NULL,
    category TEXT NOT NULL,
    provenance TEXT NOT NULL,
    created_at_s REAL NOT NULL,
    updated_at_s REAL NOT NULL,
    importance REAL NOT NULL DEFAULT 0.5,
    pinned INTEGER NOT NULL DEFAULT 0,
    -- Hidden by a newer memory on the same subject; forgetting that one brings it back
    superseded_by INTEGER REFERENCES memories (id) ON DELETE SET NULL
);
-- NULLs differ from each other in an index, an empty blob equals only itself
CREATE UNIQUE INDEX IF NOT EXISTS memories_key ON memories (ifnull(person, x''), key);
CREATE INDEX IF NOT EXISTS memories_newest ON memories (updated_at_s);
CREATE INDEX IF NOT EXISTS memories_superseded ON memories (superseded_by)
    WHERE superseded_by IS NOT NULL;
-- What can be recalled, with the fields of an entry in their order
CREATE VIEW IF NOT EXISTS entries AS
    SELECT id, key, content, category, provenance, person, session, created_at_s, updated_at_s
    FROM memories WHERE superseded_by IS NULL;
-- Apart from the memories, which stay small to read
CREATE TABLE IF NOT EXISTS memory_vectors (
    memory_id INTEGER PRIMARY KEY REFERENCES memories (id) ON DELETE CASCADE,
    -- Names the exact weights: vectors of two models are never compared
    model TEXT NOT NULL,
    -- 16-bit floats, little-endian
    vector BLOB NOT NULL
);
"""

# Groups and devices own memories too, and a memory says where it came from
_OWNERS = """
DROP VIEW IF EXISTS entries;
DROP INDEX IF EXISTS memories_key;
ALTER TABLE memories ADD COLUMN group_id TEXT;
ALTER TABLE memories ADD COLUMN device TEXT;
ALTER TABLE memories ADD COLUMN source TEXT NOT NULL DEFAULT '';
-- The same text as `Scope.owner`
ALTER TABLE memories ADD COLUMN owner TEXT GENERATED ALWAYS AS (
    CASE WHEN person IS NOT NULL THEN 'person:' || person
         WHEN group_id IS NOT NULL THEN 'group:' || group_id
         WHEN device IS NOT NULL THEN 'device:' || device
         ELSE '' END
) VIRTUAL;
CREATE UNIQUE INDEX memories_key ON memories (owner, key);
CREATE INDEX memories_source ON memories (source) WHERE source != '';
CREATE VIEW entries AS SELECT * FROM memories WHERE superseded_by IS NULL;
-- What was hidden and brought back, by whom it was replaced, and when
CREATE TABLE memory_log (
    id INTEGER PRIMARY KEY,
    at_s REAL NOT NULL,
    action TEXT NOT NULL,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    other_key TEXT NOT NULL DEFAULT ''
);
-- What the store knows of itself: the snapshots it has written, when memories came back
CREATE TABLE memory_facts (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
"""

# What ranking looks at besides: a memory's own words, and what was said around it
_NEIGHBOURS = """
-- One bit for each dimension of each token's vector; NULL where the model tells no tokens
ALTER TABLE memory_vectors ADD COLUMN tokens BLOB;
CREATE INDEX memories_session ON memories (session, id) WHERE session IS NOT NULL;
"""

# A commit writes every page that it touches as a whole, and each message is a commit
_FEWER_PAGES = """
-- No question could use it: a partial index serves none whose source is not known beforehand
DROP INDEX memories_source;
-- A leaf of the word index fits a page, else it lies on several that are written and freed
INSERT INTO memory_words (memory_words, rank) SELECT 'pgsz', page_size - 50 FROM pragma_page_size;
-- Sixteen messages are joined at once; joining four by four rewrites everything twice as often
INSERT INTO memory_words (memory_words, rank) VALUES ('automerge', 0);
"""

# Every turn asks for them: without it, a turn reads each memory of its person
_PINNED = "CREATE INDEX memories_pinned ON memories (owner) WHERE pinned"

MIGRATIONS = (_MEMORIES, WORDS_TABLE, _OWNERS, _NEIGHBOURS, _FEWER_PAGES, _PINNED)
