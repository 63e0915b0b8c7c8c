-- Invitations and reports share no key. Rows are kept in the order of random keys, without a row number.
CREATE TABLE invitations (
    digest BLOB PRIMARY KEY,
    spent INTEGER NOT NULL DEFAULT 0,
    expires INTEGER
) WITHOUT ROWID;
CREATE TABLE reports (
    id BLOB PRIMARY KEY,
    cell TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE tallies (
    cell TEXT PRIMARY KEY,
    people INTEGER NOT NULL
) WITHOUT ROWID;
-- Days, not times, and how many, not which.
CREATE TABLE days (
    day INTEGER PRIMARY KEY,
    people INTEGER NOT NULL
);
CREATE TABLE study (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    digest TEXT NOT NULL,
    closed INTEGER NOT NULL DEFAULT 0
);
