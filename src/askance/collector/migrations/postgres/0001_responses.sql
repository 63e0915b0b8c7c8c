-- Invitations and reports share no key.
CREATE TABLE invitations (
    digest bytea PRIMARY KEY,
    spent integer NOT NULL DEFAULT 0,
    expires integer
);
CREATE TABLE reports (
    id bytea PRIMARY KEY,
    cell text NOT NULL
);
CREATE TABLE tallies (
    cell text PRIMARY KEY,
    people bigint NOT NULL
);
-- Days, not times, and how many, not which.
CREATE TABLE days (
    day integer PRIMARY KEY,
    people bigint NOT NULL
);
CREATE TABLE study (
    one integer PRIMARY KEY CHECK (one = 1),
    digest text NOT NULL,
    closed integer NOT NULL DEFAULT 0
);
