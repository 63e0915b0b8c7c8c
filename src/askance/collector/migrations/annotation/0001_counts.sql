-- Windows are drawn once, and stay as they are. Their numbers are in random order.
CREATE TABLE windows (
    number INTEGER PRIMARY KEY,
    sentence INTEGER NOT NULL,
    start INTEGER NOT NULL,
    width INTEGER NOT NULL,
    tags TEXT,
    wanted INTEGER NOT NULL
);
CREATE TABLE annotators (
    number INTEGER PRIMARY KEY,
    digest BLOB NOT NULL UNIQUE
);
-- Who was shown what, and what came of it: NULL until there is an answer, counts as JSON, or skipped.
CREATE TABLE shown (
    annotator INTEGER NOT NULL,
    window INTEGER NOT NULL,
    place INTEGER NOT NULL,
    counts TEXT,
    skipped INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (annotator, window)
) WITHOUT ROWID;
CREATE INDEX shown_by_window ON shown (window);
CREATE TABLE task (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    digest TEXT NOT NULL
);
