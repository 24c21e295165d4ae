-- API keys, what was used up under their names, and webhooks.

CREATE TABLE api_key (
    -- The public part of the key.
    id                TEXT    PRIMARY KEY,
    -- Whom it is for; the owner of the jobs that it submits.
    name              TEXT    NOT NULL,
    -- read, submit, admin
    role              TEXT    NOT NULL,
    -- BLAKE3 of the secret, in hexadecimal.
    hash              TEXT    NOT NULL,
    -- Quotas; NULL does not limit.
    max_queued        BIGINT,
    max_running       BIGINT,
    max_bytes_per_day BIGINT,
    created_at_ms     BIGINT  NOT NULL,
    revoked_at_ms     BIGINT
);

CREATE INDEX job_by_owner ON job (owner, state);

-- What submissions of the last day are expected to take on disk. It outlives the jobs: who removes a job does
-- not get its bytes back.
CREATE TABLE usage (
    owner TEXT   NOT NULL,
    at_ms BIGINT NOT NULL,
    bytes BIGINT NOT NULL
);

CREATE INDEX usage_by_owner ON usage (owner, at_ms);

-- Signs the webhooks of one owner; '' is that of jobs without a key.
CREATE TABLE webhook_secret (
    owner         TEXT   PRIMARY KEY,
    secret        BLOB   NOT NULL,
    created_at_ms BIGINT NOT NULL
);

-- Where the job's news go: the URL, and which news (end, state).
ALTER TABLE job ADD COLUMN webhook_url TEXT;
ALTER TABLE job ADD COLUMN webhook_events TEXT;

-- One message to a receiver.
CREATE TABLE delivery (
    -- UUID; the receiver sees it in webhook-id.
    id              TEXT    PRIMARY KEY,
    job             INTEGER NOT NULL REFERENCES job (seq) ON DELETE CASCADE,
    -- The event of the job that it tells of.
    event           BIGINT  NOT NULL,
    url             TEXT    NOT NULL,
    -- JSON, as it is sent.
    body            TEXT    NOT NULL,
    -- pending, delivered, abandoned
    state           TEXT    NOT NULL,
    attempts        INTEGER NOT NULL DEFAULT 0,
    created_at_ms   BIGINT  NOT NULL,
    -- When it is tried next; NULL once it is not any more.
    next_at_ms      BIGINT,
    last_at_ms      BIGINT,
    -- Status of the last answer, and why the last attempt was none.
    last_status     INTEGER,
    last_error      TEXT,
    UNIQUE (job, event)
);

CREATE INDEX delivery_by_time ON delivery (next_at_ms);
