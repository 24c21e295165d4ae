-- The first schema. Times are milliseconds since 1970, UTC; hashes are BLAKE3 in hexadecimal and name
-- objects of the blob store. The queue's own tables (Jobs, Workers) belong to apalis.

CREATE TABLE job (
    -- Order of submission: pages of the list, and the queue among jobs of one priority.
    seq              INTEGER PRIMARY KEY AUTOINCREMENT,
    -- UUID, the name that clients know.
    id               TEXT    NOT NULL UNIQUE,
    -- queued, running, cancelling, succeeded, failed, cancelled, expired
    state            TEXT    NOT NULL,
    priority         BIGINT  NOT NULL,
    -- The job as submitted, and what it resolved to; both JSON.
    body             TEXT    NOT NULL,
    spec             TEXT    NOT NULL,
    -- For filters: chain or tree; names of programs between bars, as in |fibonacci|keccak|.
    mode             TEXT    NOT NULL,
    programs         TEXT    NOT NULL,
    -- What it was expected to take when it was admitted.
    peak_bytes       BIGINT  NOT NULL,
    prove_ms         BIGINT  NOT NULL,
    disk_bytes       BIGINT  NOT NULL,
    owner            TEXT,
    created_at_ms    BIGINT  NOT NULL,
    started_at_ms    BIGINT,
    finished_at_ms   BIGINT,
    deadline_at_ms   BIGINT,
    -- 0 until planned.
    nodes_total      INTEGER NOT NULL DEFAULT 0,
    nodes_done       INTEGER NOT NULL DEFAULT 0,
    -- What is being done right now.
    phase_node       TEXT,
    phase            TEXT,
    -- JSON: why it failed or expired.
    error            TEXT,
    -- JSON: what the proof says; the digests of its keys.
    statement        TEXT,
    keys             TEXT    NOT NULL DEFAULT '[]',
    -- The proof file.
    proof_hash       TEXT,
    proof_bytes      BIGINT,
    -- Version of Arbor that planned it.
    version          TEXT    NOT NULL,
    -- Rises with every change of the job or of one of its nodes.
    revision         BIGINT  NOT NULL DEFAULT 1,
    -- Id and time of its last event.
    last_event       BIGINT  NOT NULL DEFAULT 0,
    last_event_at_ms BIGINT  NOT NULL DEFAULT 0,
    -- Generation of its planning task, and how often planning began without an end.
    round            INTEGER NOT NULL DEFAULT 0,
    attempts         INTEGER NOT NULL DEFAULT 0
);

CREATE INDEX job_by_state ON job (state, seq);
CREATE INDEX job_by_end ON job (finished_at_ms);
CREATE INDEX job_by_proof ON job (proof_hash);

-- One row for every submission that came with a key; gone with its job.
CREATE TABLE idempotency (
    owner     TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    -- BLAKE3 of the body.
    body_hash TEXT    NOT NULL,
    job       INTEGER NOT NULL REFERENCES job (seq) ON DELETE CASCADE,
    PRIMARY KEY (owner, name)
);

CREATE INDEX idempotency_by_job ON idempotency (job);

CREATE TABLE label (
    job   INTEGER NOT NULL REFERENCES job (seq) ON DELETE CASCADE,
    name  TEXT    NOT NULL,
    value TEXT    NOT NULL,
    PRIMARY KEY (job, name)
);

CREATE INDEX label_by_value ON label (name, value, job);

-- Leaves that are proofs of other jobs. The row keeps the proof in the blob store when the other job is
-- removed.
CREATE TABLE leaf (
    job     INTEGER NOT NULL REFERENCES job (seq) ON DELETE CASCADE,
    -- Which one among the finished leaves, from 0.
    leaf    INTEGER NOT NULL,
    source  TEXT    NOT NULL,
    -- The proof of the other job's root.
    hash    TEXT    NOT NULL,
    bytes   BIGINT  NOT NULL,
    -- JSON: what its bases come to, in order.
    results TEXT    NOT NULL,
    PRIMARY KEY (job, leaf)
);

CREATE INDEX leaf_by_hash ON leaf (hash);

-- One proof of a job.
CREATE TABLE node (
    job      INTEGER NOT NULL REFERENCES job (seq) ON DELETE CASCADE,
    -- Place in the plan: children before parents, the root last.
    position INTEGER NOT NULL,
    -- level/index
    id       TEXT    NOT NULL,
    -- base, layer, merge, finished
    kind     TEXT    NOT NULL,
    -- waiting, ready, running, done, failed
    state    TEXT    NOT NULL,
    padding  INTEGER NOT NULL,
    -- Place in the order that keeps the fewest proofs.
    turn     INTEGER NOT NULL,
    -- Children that are not done.
    pending  INTEGER NOT NULL,
    -- Of a finished leaf: which one, from 0.
    leaf     INTEGER,
    hash     TEXT,
    bytes    BIGINT,
    -- JSON: what proving took.
    report   TEXT,
    -- How often proving began; how often a proof was stored; how often proving began since it last ended.
    starts   INTEGER NOT NULL DEFAULT 0,
    finishes INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    -- Generation of its task in the queue: rises whenever the node becomes ready.
    round    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (job, position),
    UNIQUE (job, id)
);

CREATE INDEX node_by_hash ON node (hash);
CREATE INDEX node_by_state ON node (state, job);

-- Which node verifies which, in order of the slots, without those that pad.
CREATE TABLE edge (
    job    INTEGER NOT NULL,
    parent INTEGER NOT NULL,
    slot   INTEGER NOT NULL,
    child  INTEGER NOT NULL,
    PRIMARY KEY (job, parent, slot),
    FOREIGN KEY (job, parent) REFERENCES node (job, position) ON DELETE CASCADE
);

CREATE INDEX edge_by_child ON edge (job, child);

-- What happened to a job, numbered from 1 without gaps.
CREATE TABLE event (
    job   INTEGER NOT NULL REFERENCES job (seq) ON DELETE CASCADE,
    id    BIGINT  NOT NULL,
    -- state, node-started, node-finished, progress
    kind  TEXT    NOT NULL,
    -- JSON
    data  TEXT    NOT NULL,
    at_ms BIGINT  NOT NULL,
    PRIMARY KEY (job, id)
);
