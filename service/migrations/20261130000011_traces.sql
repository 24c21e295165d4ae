-- What a job's trace is linked to: the W3C `traceparent` that came with its submission. Only of jobs that are
-- traced.

CREATE TABLE trace (
    job    INTEGER PRIMARY KEY REFERENCES job (seq) ON DELETE CASCADE,
    parent TEXT    NOT NULL
);
