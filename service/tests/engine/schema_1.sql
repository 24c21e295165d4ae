-- Records as version 0.1.0 wrote them: one job that had succeeded, one that waited. Dumped from a file of the
-- records after `kill -9`; kept as it is.
BEGIN TRANSACTION;
CREATE TABLE Jobs (
    job BLOB NOT NULL,
    id TEXT NOT NULL UNIQUE,
    job_type TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'Pending',
    attempts INTEGER NOT NULL DEFAULT 0,
    max_attempts INTEGER NOT NULL DEFAULT 25,
    run_at INTEGER NOT NULL DEFAULT (strftime('%s', 'now')),
    last_result TEXT,
    lock_at INTEGER,
    lock_by TEXT,
    done_at INTEGER,
    priority INTEGER NOT NULL DEFAULT 0,
    metadata TEXT, idempotency_key TEXT,
    PRIMARY KEY(id),
    FOREIGN KEY(lock_by) REFERENCES Workers(id)
);
INSERT INTO "Jobs" VALUES(X'7B22706C616E223A7B226A6F62223A2230316132326366342D316363632D373662642D383236322D383735656564633966633130222C22726F756E64223A317D7D','0000000000864SFAAR1JB3XNHF','arbor','Done',1,1000000,1,'{"Ok":null}',1796050525,'arbor-cf3a8da1-a882-4e26-99a2-3095cb807d4e',1796050525,0,'{}','01a22cf4-1ccc-76bd-8262-875eedc9fc10/plan#1');
INSERT INTO "Jobs" VALUES(X'7B2270726F7665223A7B226A6F62223A2230316132326366342D316363632D373662642D383236322D383735656564633966633130222C22706F736974696F6E223A302C22726F756E64223A317D7D','00000000009QCR4V1YSEV68A3D','arbor','Done',1,1000000,1,'{"Ok":null}',1796050525,'arbor-cf3a8da1-a882-4e26-99a2-3095cb807d4e',1796050525,0,'{}','01a22cf4-1ccc-76bd-8262-875eedc9fc10/0/0#1');
INSERT INTO "Jobs" VALUES(X'7B2270726F7665223A7B226A6F62223A2230316132326366342D316363632D373662642D383236322D383735656564633966633130222C22706F736974696F6E223A312C22726F756E64223A317D7D','00000000018Z69DET2D3GTDPJ5','arbor','Done',1,1000000,1,'{"Ok":null}',1796050525,'arbor-cf3a8da1-a882-4e26-99a2-3095cb807d4e',1796050525,0,'{}','01a22cf4-1ccc-76bd-8262-875eedc9fc10/1/0#1');
INSERT INTO "Jobs" VALUES(X'7B2270726F7665223A7B226A6F62223A2230316132326366342D316363632D373662642D383236322D383735656564633966633130222C22706F736974696F6E223A322C22726F756E64223A317D7D','00000000028WKAPB8FDZBBP44F','arbor','Done',1,1000000,1,'{"Ok":null}',1796050525,'arbor-cf3a8da1-a882-4e26-99a2-3095cb807d4e',1796050526,0,'{}','01a22cf4-1ccc-76bd-8262-875eedc9fc10/2/0#1');
INSERT INTO "Jobs" VALUES(X'7B2270726F7665223A7B226A6F62223A2230316132326366342D316363632D373662642D383236322D383735656564633966633130222C22706F736974696F6E223A332C22726F756E64223A317D7D','00000000039ECBP84Y69HVDV40','arbor','Running',0,1000000,1,NULL,1796050526,'arbor-cf3a8da1-a882-4e26-99a2-3095cb807d4e',NULL,0,'{}','01a22cf4-1ccc-76bd-8262-875eedc9fc10/3/0#1');
INSERT INTO "Jobs" VALUES(X'7B22706C616E223A7B226A6F62223A2230316132326366342D323162372D373336642D396665612D303163356331386366366263222C22726F756E64223A317D7D','00000000009SV8ERT442QTX4M4','arbor','Pending',0,1000000,2,NULL,NULL,NULL,NULL,0,'{}','01a22cf4-21b7-736d-9fea-01c5c18cf6bc/plan#1');
CREATE TABLE Workers (
    id TEXT NOT NULL UNIQUE,
    worker_type TEXT NOT NULL,
    storage_name TEXT NOT NULL,
    layers TEXT,
    last_seen INTEGER NOT NULL DEFAULT (strftime('%s', 'now'))
, started_at INTEGER);
INSERT INTO "Workers" VALUES('arbor-cf3a8da1-a882-4e26-99a2-3095cb807d4e','arbor','SqliteStorage','tower::limit::concurrency::service::ConcurrencyLimit<apalis_core::task::data::AddExtension<apalis_core::worker::lifecycle::LifecycleService<apalis_core::task::task_fn::TaskFn<arbor_service::queue::handle<arbor_service::engine::inner::Inner>, arbor_service::store::tasks::Task, apalis_core::task::data::Data<alloc::sync::Arc<arbor_service::engine::inner::Inner>>>>, alloc::sync::Arc<arbor_service::engine::inner::Inner>>>',1796050525,1796050525);
CREATE TABLE _arbor_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
INSERT INTO "_arbor_migrations" VALUES(20261130000001,'jobs','2026-11-30 14:55:25',1,X'77D22C242C3C60C4D144B672EFF10D0DEF4F74167A128E1EF929054324C3190EB9FB7AB67B706316AC704D5E9410ED89',1389180);
CREATE TABLE _sqlx_migrations (
    version BIGINT PRIMARY KEY,
    description TEXT NOT NULL,
    installed_on TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP,
    success BOOLEAN NOT NULL,
    checksum BLOB NOT NULL,
    execution_time BIGINT NOT NULL
);
INSERT INTO "_sqlx_migrations" VALUES(20220530084123,'jobs workers','2026-11-30 14:55:25',1,X'B19EC23F8B3CC6BF58CF007DE25CAF8E1DC56C4D2F859EB16E5705A3D7DAF7C7617488FEBCA4176711315AF15DB30CC6',675241);
INSERT INTO "_sqlx_migrations" VALUES(20250313213411,'add job priority','2026-11-30 14:55:25',1,X'9835686824B5D2C0D731251DB2ABE438385F4B0C9B1394D80E232CB3C07E9FE9C968E3907312BC96847431907870F583',385861);
INSERT INTO "_sqlx_migrations" VALUES(20251013233016,'stats indexes','2026-11-30 14:55:25',1,X'F35935A093CBA646F77D20A11FC49F5DDFC513747E33AE7BD17B6312536E4BA685A6196E1D7CBA5EC19AF540ADA41B06',563576);
INSERT INTO "_sqlx_migrations" VALUES(20251017150712,'rename last error','2026-11-30 14:55:25',1,X'A7330EDF1C6D2E41491A2D60E0CC23482E1DB8DD26F490937BA1C73059205A1FF285B9044E1B7FC8B5ABD1E0CDD6E4A0',1260889);
INSERT INTO "_sqlx_migrations" VALUES(20251017162501,'worker started at','2026-11-30 14:55:25',1,X'5A7728698FE2E0D252B2C5D463F94A19BB1732DFAC113E5119DFB91EE71A7DE208BD56D535418C9E6A59E58CAECABC4F',361186);
INSERT INTO "_sqlx_migrations" VALUES(20251018162501,'metadata','2026-11-30 14:55:25',1,X'93D306BA6E3197EE989F8055331770E9124DD89E0550D57227FF3F1A721D0AECE2E961A61A288F7BDDF665F819A85D4D',339794);
INSERT INTO "_sqlx_migrations" VALUES(20251018164941,'move to bytes','2026-11-30 14:55:25',1,X'F8A0946BC4DEAEC4AF175CD2D8E797C93E56024D6C09D4878D30270601E161DC2C36C171F4F4895E2A43B63672596FB3',2132711);
INSERT INTO "_sqlx_migrations" VALUES(20260506101935,'idempotency key','2026-11-30 14:55:25',1,X'6952899955188AD49C73728E3A38673701E6865D4701CF5646D54E6B89E668C63DC2B3C032060557D1682688BB582890',451529);
INSERT INTO "_sqlx_migrations" VALUES(20260726081359,'add fetch next indices','2026-11-30 14:55:25',1,X'FBC86BE95FCB5041F9282274BC2A4C69BB07315271D7389EFC508EBA5F14ED7079FF2D08F62423AA70BF0BCEC30EC4CF',258343);
INSERT INTO "_sqlx_migrations" VALUES(20260803223031,'add lock indices','2026-11-30 14:55:25',1,X'828C9C27B34A398F2C45A91F4B0C04E56956A36FFC2EF57156D1B9D07441C899C510BC62AC046149674A23CA99155A10',166817);
INSERT INTO "_sqlx_migrations" VALUES(20260804103122,'drop unneeded indices','2026-11-30 14:55:25',1,X'9148867E3E96AD9DC30083C465AE061AC20E05B20303DD7585FAE574FA27A5199B52D178A26314449E562B1CF26CEEB8',327946);
CREATE TABLE edge (
    job    INTEGER NOT NULL,
    parent INTEGER NOT NULL,
    slot   INTEGER NOT NULL,
    child  INTEGER NOT NULL,
    PRIMARY KEY (job, parent, slot),
    FOREIGN KEY (job, parent) REFERENCES node (job, position) ON DELETE CASCADE
);
INSERT INTO "edge" VALUES(1,1,0,0);
INSERT INTO "edge" VALUES(1,2,0,1);
INSERT INTO "edge" VALUES(1,3,0,2);
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
INSERT INTO "event" VALUES(1,1,'state','{"state":"queued"}',1796050525388);
INSERT INTO "event" VALUES(1,2,'progress','{"nodes_done":0,"nodes_total":0,"phase":{"name":"prepare","node":null}}',1796050525397);
INSERT INTO "event" VALUES(1,3,'state','{"state":"running"}',1796050525400);
INSERT INTO "event" VALUES(1,4,'node-started','{"attempt":1,"kind":"base","node":"0/0"}',1796050525400);
INSERT INTO "event" VALUES(1,5,'node-finished','{"bytes":7292,"hash":"3df87016e4369980a5792fbe1fa7362bd680e09da98ca16ae8b3ac0009d8c69a","kind":"base","node":"0/0","report":{"kind":"base","layer":0,"minor_faults":51,"node":null,"peak_bytes":15548416,"permutations":0,"proof_bytes":7292,"queries":3,"tables":[{"aux":12,"lde_cells":9216,"log_height":6,"main":16,"name":"E","preprocessed":11}],"timings_ms":{"commit":0.536756,"fill":0.066468,"logup":0.45773899999999995,"open":0.6905140000000001,"prepare":1.98291,"quotient":0.542794,"restore":0.0,"total":2.297606,"verify":0.428725}}}',1796050525416);
INSERT INTO "event" VALUES(1,6,'node-started','{"attempt":1,"kind":"layer","node":"1/0"}',1796050525423);
INSERT INTO "event" VALUES(1,7,'progress','{"nodes_done":1,"nodes_total":4,"phase":{"name":"fill","node":"1/0"}}',1796050525649);
INSERT INTO "event" VALUES(1,8,'node-finished','{"bytes":22377,"hash":"b7c615cb9856bc52312293cba38c1204b204a204a5d56198d5f8c667b9d38545","kind":"layer","node":"1/0","report":{"kind":"layer","layer":1,"minor_faults":1636,"node":null,"peak_bytes":36417536,"permutations":334,"proof_bytes":22377,"queries":3,"tables":[{"aux":12,"lde_cells":147456,"log_height":10,"main":16,"name":"E","preprocessed":11},{"aux":16,"lde_cells":884736,"log_height":10,"main":192,"name":"H","preprocessed":40}],"timings_ms":{"commit":35.064368,"fill":16.301354,"logup":6.809884,"open":19.939648000000002,"prepare":26.96363,"quotient":21.425691,"restore":2.503811,"total":102.092929,"verify":1.6428449999999999}}}',1796050525770);
INSERT INTO "event" VALUES(1,9,'node-started','{"attempt":1,"kind":"layer","node":"2/0"}',1796050525779);
INSERT INTO "event" VALUES(1,10,'progress','{"nodes_done":2,"nodes_total":4,"phase":{"name":"commit","node":"2/0"}}',1796050525899);
INSERT INTO "event" VALUES(1,11,'progress','{"nodes_done":2,"nodes_total":4,"phase":{"name":"open","node":"2/0"}}',1796050526150);
INSERT INTO "event" VALUES(1,12,'node-finished','{"bytes":23625,"hash":"9986e997076ebd96a701b3c271fab9bfcadae1cac47344e33379fa17b8182be2","kind":"layer","node":"2/0","report":{"kind":"layer","layer":2,"minor_faults":6337,"node":null,"peak_bytes":55758848,"permutations":800,"proof_bytes":23625,"queries":3,"tables":[{"aux":12,"lde_cells":589824,"log_height":12,"main":16,"name":"E","preprocessed":11},{"aux":16,"lde_cells":3538944,"log_height":12,"main":192,"name":"H","preprocessed":40}],"timings_ms":{"commit":179.176735,"fill":8.691723999999999,"logup":34.988595,"open":109.504144,"prepare":94.1737,"quotient":92.597974,"restore":0.779445,"total":425.789176,"verify":1.486163}}}',1796050526218);
INSERT INTO "event" VALUES(1,13,'node-started','{"attempt":1,"kind":"layer","node":"3/0"}',1796050526220);
INSERT INTO "event" VALUES(1,14,'progress','{"nodes_done":3,"nodes_total":4,"phase":{"name":"commit","node":"3/0"}}',1796050526418);
INSERT INTO "event" VALUES(1,15,'node-finished','{"bytes":23625,"hash":"a6997151cf7be43d6da775713697b04a1ddd4749fd078679bf209f25c8e9356a","kind":"layer","node":"3/0","report":{"kind":"layer","layer":3,"minor_faults":3128,"node":null,"peak_bytes":55885824,"permutations":839,"proof_bytes":23625,"queries":3,"tables":[{"aux":12,"lde_cells":589824,"log_height":12,"main":16,"name":"E","preprocessed":11},{"aux":16,"lde_cells":3538944,"log_height":12,"main":192,"name":"H","preprocessed":40}],"timings_ms":{"commit":217.42008600000003,"fill":3.835917,"logup":22.972083,"open":24.464495,"prepare":90.46694500000001,"quotient":111.886567,"restore":3.665734,"total":384.268155,"verify":1.308289}}}',1796050526639);
INSERT INTO "event" VALUES(1,16,'state','{"state":"succeeded"}',1796050526639);
INSERT INTO "event" VALUES(2,1,'state','{"state":"queued"}',1796050526647);
CREATE TABLE idempotency (
    owner     TEXT    NOT NULL,
    name      TEXT    NOT NULL,
    -- BLAKE3 of the body.
    body_hash TEXT    NOT NULL,
    job       INTEGER NOT NULL REFERENCES job (seq) ON DELETE CASCADE,
    PRIMARY KEY (owner, name)
);
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
INSERT INTO "job" VALUES(1,'01a22cf4-1ccc-76bd-8262-875eedc9fc10','succeeded',0,'{"base":{"program":"fibonacci","n":20,"a":0,"b":1,"fri":{}},"recursion":{"mode":"chain","layers":3},"preset":"insecure-test","fri":{},"final":{"fri":{}},"priority":0}','{"base":{"program":{"name":"fibonacci","n":20,"a":0,"b":1},"fri":{"log_blowup":2,"max_log_arity":4,"log_final_poly_len":5,"cap_height":5,"num_queries":3,"batch_pow_bits":0,"lookup_pow_bits":0,"ood_pow_bits":0,"commit_pow_bits":0,"query_pow_bits":1}},"layers":3,"layer_fri":{"log_blowup":2,"max_log_arity":4,"log_final_poly_len":5,"cap_height":5,"num_queries":3,"batch_pow_bits":0,"lookup_pow_bits":0,"ood_pow_bits":0,"commit_pow_bits":0,"query_pow_bits":1},"last_fri":{"log_blowup":2,"max_log_arity":4,"log_final_poly_len":5,"cap_height":5,"num_queries":3,"batch_pow_bits":0,"lookup_pow_bits":0,"ood_pow_bits":0,"commit_pow_bits":0,"query_pow_bits":1}}','chain','|fibonacci|',87490560,274,235000,NULL,1796050525388,1796050525400,1796050526639,NULL,4,4,NULL,NULL,NULL,'{"base":{"program":"fibonacci","a":0,"b":1,"n":20,"result":6765},"layers":3,"fri":{"base":{"log_blowup":2,"max_log_arity":4,"log_final_poly_len":5,"cap_height":5,"num_queries":3,"batch_pow_bits":0,"lookup_pow_bits":0,"ood_pow_bits":0,"commit_pow_bits":0,"query_pow_bits":1},"layer":{"log_blowup":2,"max_log_arity":4,"log_final_poly_len":5,"cap_height":5,"num_queries":3,"batch_pow_bits":0,"lookup_pow_bits":0,"ood_pow_bits":0,"commit_pow_bits":0,"query_pow_bits":1},"last":{"log_blowup":2,"max_log_arity":4,"log_final_poly_len":5,"cap_height":5,"num_queries":3,"batch_pow_bits":0,"lookup_pow_bits":0,"ood_pow_bits":0,"commit_pow_bits":0,"query_pow_bits":1}}}','["11974a120e020d0672d37a9073f81c8e4a255eec093a360107d8e1a126ef3c60","41f28ebc5b391abc09915a71737927703811e0c37c8de0b815d5801e5e11e352","62d7c66d2aaf8c555ccc75ea4b6b03f82e6dcb3041724a4e798349fd22668e8d","758adaa122e90c89491fdee60557f57e4c8721ae41912eb5507a4b0b544f75d7"]','096462c728c2d719e17a0cdbe65e289084fe7eb9d8ff7e4df4222688a08ece5e',25308,'0.1.0',18,16,1796050526639,1,0);
INSERT INTO "job" VALUES(2,'01a22cf4-21b7-736d-9fea-01c5c18cf6bc','queued',0,'{"base":{"program":"fibonacci","n":20,"a":0,"b":1,"fri":{}},"recursion":{"mode":"chain","layers":3},"preset":"insecure-test","fri":{},"final":{"fri":{}},"priority":0}','{"base":{"program":{"name":"fibonacci","n":20,"a":0,"b":1},"fri":{"log_blowup":2,"max_log_arity":4,"log_final_poly_len":5,"cap_height":5,"num_queries":3,"batch_pow_bits":0,"lookup_pow_bits":0,"ood_pow_bits":0,"commit_pow_bits":0,"query_pow_bits":1}},"layers":3,"layer_fri":{"log_blowup":2,"max_log_arity":4,"log_final_poly_len":5,"cap_height":5,"num_queries":3,"batch_pow_bits":0,"lookup_pow_bits":0,"ood_pow_bits":0,"commit_pow_bits":0,"query_pow_bits":1},"last_fri":{"log_blowup":2,"max_log_arity":4,"log_final_poly_len":5,"cap_height":5,"num_queries":3,"batch_pow_bits":0,"lookup_pow_bits":0,"ood_pow_bits":0,"commit_pow_bits":0,"query_pow_bits":1}}','chain','|fibonacci|',87490560,274,235000,NULL,1796050526647,NULL,NULL,NULL,0,0,NULL,NULL,NULL,NULL,'[]',NULL,NULL,'0.1.0',2,1,1796050526647,1,0);
CREATE TABLE label (
    job   INTEGER NOT NULL REFERENCES job (seq) ON DELETE CASCADE,
    name  TEXT    NOT NULL,
    value TEXT    NOT NULL,
    PRIMARY KEY (job, name)
);
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
INSERT INTO "node" VALUES(1,0,'0/0','base','done',0,0,0,NULL,'3df87016e4369980a5792fbe1fa7362bd680e09da98ca16ae8b3ac0009d8c69a',7292,'{"layer":0,"kind":"base","node":null,"timings_ms":{"prepare":1.98291,"restore":0.0,"fill":0.066468,"commit":0.536756,"logup":0.45773899999999995,"quotient":0.542794,"open":0.6905140000000001,"verify":0.428725,"total":2.297606},"tables":[{"name":"E","log_height":6,"main":16,"preprocessed":11,"aux":12,"lde_cells":9216}],"permutations":0,"queries":3,"proof_bytes":7292,"minor_faults":51,"peak_bytes":15548416}',1,1,0,1);
INSERT INTO "node" VALUES(1,1,'1/0','layer','done',0,1,0,NULL,'b7c615cb9856bc52312293cba38c1204b204a204a5d56198d5f8c667b9d38545',22377,'{"layer":1,"kind":"layer","node":null,"timings_ms":{"prepare":26.96363,"restore":2.503811,"fill":16.301354,"commit":35.064368,"logup":6.809884,"quotient":21.425691,"open":19.939648000000002,"verify":1.6428449999999999,"total":102.092929},"tables":[{"name":"E","log_height":10,"main":16,"preprocessed":11,"aux":12,"lde_cells":147456},{"name":"H","log_height":10,"main":192,"preprocessed":40,"aux":16,"lde_cells":884736}],"permutations":334,"queries":3,"proof_bytes":22377,"minor_faults":1636,"peak_bytes":36417536}',1,1,0,1);
INSERT INTO "node" VALUES(1,2,'2/0','layer','done',0,2,0,NULL,'9986e997076ebd96a701b3c271fab9bfcadae1cac47344e33379fa17b8182be2',23625,'{"layer":2,"kind":"layer","node":null,"timings_ms":{"prepare":94.1737,"restore":0.779445,"fill":8.691723999999999,"commit":179.176735,"logup":34.988595,"quotient":92.597974,"open":109.504144,"verify":1.486163,"total":425.789176},"tables":[{"name":"E","log_height":12,"main":16,"preprocessed":11,"aux":12,"lde_cells":589824},{"name":"H","log_height":12,"main":192,"preprocessed":40,"aux":16,"lde_cells":3538944}],"permutations":800,"queries":3,"proof_bytes":23625,"minor_faults":6337,"peak_bytes":55758848}',1,1,0,1);
INSERT INTO "node" VALUES(1,3,'3/0','layer','done',0,3,0,NULL,'a6997151cf7be43d6da775713697b04a1ddd4749fd078679bf209f25c8e9356a',23625,'{"layer":3,"kind":"layer","node":null,"timings_ms":{"prepare":90.46694500000001,"restore":3.665734,"fill":3.835917,"commit":217.42008600000003,"logup":22.972083,"quotient":111.886567,"open":24.464495,"verify":1.308289,"total":384.268155},"tables":[{"name":"E","log_height":12,"main":16,"preprocessed":11,"aux":12,"lde_cells":589824},{"name":"H","log_height":12,"main":192,"preprocessed":40,"aux":16,"lde_cells":3538944}],"permutations":839,"queries":3,"proof_bytes":23625,"minor_faults":3128,"peak_bytes":55885824}',1,1,0,1);
CREATE INDEX job_by_state ON job (state, seq);
CREATE INDEX job_by_end ON job (finished_at_ms);
CREATE INDEX job_by_proof ON job (proof_hash);
CREATE INDEX idempotency_by_job ON idempotency (job);
CREATE INDEX label_by_value ON label (name, value, job);
CREATE INDEX leaf_by_hash ON leaf (hash);
CREATE INDEX node_by_hash ON node (hash);
CREATE INDEX node_by_state ON node (state, job);
CREATE INDEX edge_by_child ON edge (job, child);
CREATE INDEX Idx ON Workers(id);
CREATE INDEX WTIdx ON Workers(worker_type);
CREATE INDEX LSIdx ON Workers(last_seen);
CREATE INDEX LIdx ON Jobs(lock_by);
CREATE INDEX idx_jobs_job_type_status_run_at ON Jobs(job_type, status, run_at);
CREATE INDEX idx_jobs_status_run_at ON Jobs(status, run_at);
CREATE INDEX idx_jobs_completed_done_at ON Jobs(status, done_at, run_at)
WHERE
    status IN ('Done', 'Failed', 'Killed')
    AND done_at IS NOT NULL;
CREATE INDEX idx_jobs_running ON Jobs(run_at)
WHERE
    status = 'Running';
CREATE UNIQUE INDEX idx_jobs_idempotency_key ON Jobs(job_type, idempotency_key);
CREATE INDEX idx_jobs_pending ON Jobs (job_type, priority DESC, run_at ASC, id ASC)
WHERE
    status = 'Pending'
    AND lock_by IS NULL;
CREATE INDEX idx_jobs_failed ON Jobs (job_type, priority DESC, run_at ASC, id ASC)
WHERE
    status = 'Failed'
    AND attempts < max_attempts;
CREATE INDEX idx_jobs_claimable ON Jobs(status, attempts)
WHERE
    status IN ('Queued', 'Pending', 'Failed');
DELETE FROM "sqlite_sequence";
INSERT INTO "sqlite_sequence" VALUES('job',2);
COMMIT;
